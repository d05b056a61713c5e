// K-means on Hadoop MapReduce: a job for each round, whose mappers add up their points in memory. INPUT has lines of
// numbers; the first centers are the first points. usage: KMeans [-D name=value ...] INPUT OUTPUT CLUSTERS ROUNDS
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.StringTokenizer;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

// Values are the sums of a center's points, by column, with their number behind them.
public class KMeans extends Configured implements Tool {
  private static double[] numbersOf(String line) {
    StringTokenizer words = new StringTokenizer(line);
    double[] numbers = new double[words.countTokens()];
    for (int i = 0; i < numbers.length; ++i) numbers[i] = Double.parseDouble(words.nextToken());
    return numbers;
  }

  private static String lineOf(double[] numbers) {
    return DoubleStream.of(numbers).mapToObj(Double::toString).collect(Collectors.joining(" "));
  }

  public static class Sum extends Mapper<LongWritable, Text, IntWritable, BytesWritable> {
    private double[][] centers;
    private double[][] sums;

    @Override
    protected void setup(Context context) {
      String[] lines = context.getConfiguration().getStrings("kmeans.centers");
      centers = new double[lines.length][];
      for (int i = 0; i < lines.length; ++i) centers[i] = numbersOf(lines[i]);
      sums = new double[centers.length][centers[0].length + 1];
    }

    @Override
    protected void map(LongWritable place, Text line, Context context) {
      double[] point = numbersOf(line.toString());
      int closest = 0;
      double least = Double.POSITIVE_INFINITY;
      for (int center = 0; center < centers.length; ++center) {
        double distance = 0;
        for (int i = 0; i < point.length; ++i) {
          double difference = centers[center][i] - point[i];
          distance += difference * difference;
        }
        if (distance < least) {
          least = distance;
          closest = center;
        }
      }
      for (int i = 0; i < point.length; ++i) sums[closest][i] += point[i];
      ++sums[closest][point.length];
    }

    @Override
    protected void cleanup(Context context) throws IOException, InterruptedException {
      for (int center = 0; center < sums.length; ++center) {
        ByteBuffer bytes = ByteBuffer.allocate(sums[center].length * Double.BYTES);
        bytes.asDoubleBuffer().put(sums[center]);
        context.write(new IntWritable(center), new BytesWritable(bytes.array()));
      }
    }
  }

  public static class Mean extends Reducer<IntWritable, BytesWritable, NullWritable, Text> {
    @Override
    protected void reduce(IntWritable center, Iterable<BytesWritable> parts, Context context)
        throws IOException, InterruptedException {
      double[] sums = null;
      for (BytesWritable part : parts) {
        ByteBuffer bytes = ByteBuffer.wrap(part.getBytes(), 0, part.getLength());
        if (sums == null) sums = new double[part.getLength() / Double.BYTES];
        for (int i = 0; i < sums.length; ++i) sums[i] += bytes.getDouble();
      }
      int columns = sums.length - 1;
      double count = sums[columns];
      if (count == 0) return; // the driver says that it has lost a center
      context.write(
          NullWritable.get(), new Text(lineOf(DoubleStream.of(sums).limit(columns).map(sum -> sum / count).toArray())));
    }
  }

  private String[] linesOf(Path file, int most) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(file.getFileSystem(getConf()).open(file)))) {
      return reader.lines().limit(most).toArray(String[]::new);
    }
  }

  @Override
  public int run(String[] words) throws Exception {
    int clusters = Integer.parseInt(words[2]);
    Path output = new Path(words[1]);
    FileSystem files = output.getFileSystem(getConf());
    String[] centers = linesOf(new Path(words[0]), clusters);
    for (int round = 0; round < Integer.parseInt(words[3]); ++round) {
      Job job = Job.getInstance(getConf());
      job.getConfiguration().setStrings("kmeans.centers", centers);
      job.setJarByClass(KMeans.class);
      job.setMapperClass(Sum.class);
      job.setReducerClass(Mean.class);
      job.setNumReduceTasks(1);
      job.setMapOutputKeyClass(IntWritable.class);
      job.setMapOutputValueClass(BytesWritable.class);
      FileInputFormat.addInputPath(job, new Path(words[0]));
      files.delete(output, true);
      FileOutputFormat.setOutputPath(job, output);
      if (!job.waitForCompletion(false)) return 1;
      centers = linesOf(new Path(output, "part-r-00000"), clusters);
      if (centers.length < clusters) throw new IOException("a center has no points");
    }
    return 0;
  }

  public static void main(String[] words) throws Exception {
    System.exit(ToolRunner.run(new KMeans(), words));
  }
}

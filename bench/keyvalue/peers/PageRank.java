// PageRank on Hadoop MapReduce: a job for each round. INPUT has lines of `node neighbour neighbour ...`, where each node
// has neighbours. usage: PageRank [-D name=value ...] INPUT OUTPUT ROUNDS
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.StringTokenizer;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

// A value is the number that a node gets from another one, or what is kept of a node: its rank, then its neighbours.
public class PageRank extends Configured implements Tool {
  private static final double DAMPING = 0.85;

  private static ByteBuffer bufferOf(BytesWritable value) {
    return ByteBuffer.wrap(value.getBytes(), 0, value.getLength());
  }

  private static boolean isShare(BytesWritable value) {
    return value.getLength() == Double.BYTES;
  }

  public abstract static class Shares<K, V> extends Mapper<K, V, LongWritable, BytesWritable> {
    private final LongWritable neighbour = new LongWritable();
    private final byte[] bytes = new byte[Double.BYTES];
    private final BytesWritable share = new BytesWritable(bytes);

    protected void pass(LongWritable node, BytesWritable kept, Context context)
        throws IOException, InterruptedException {
      context.write(node, kept);
      ByteBuffer buffer = bufferOf(kept);
      double rank = buffer.getDouble();
      ByteBuffer.wrap(bytes).putDouble(rank / (buffer.remaining() / Long.BYTES));
      share.set(bytes, 0, bytes.length);
      while (buffer.hasRemaining()) {
        neighbour.set(buffer.getLong());
        context.write(neighbour, share);
      }
    }
  }

  public static class FromLines extends Shares<LongWritable, Text> {
    @Override
    protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
      StringTokenizer words = new StringTokenizer(line.toString());
      ByteBuffer kept = ByteBuffer.allocate(words.countTokens() * Long.BYTES);
      LongWritable node = new LongWritable(Long.parseLong(words.nextToken()));
      kept.putDouble(1);
      while (words.hasMoreTokens()) kept.putLong(Long.parseLong(words.nextToken()));
      pass(node, new BytesWritable(kept.array()), context);
    }
  }

  public static class FromKept extends Shares<LongWritable, BytesWritable> {
    @Override
    protected void map(LongWritable node, BytesWritable kept, Context context)
        throws IOException, InterruptedException {
      pass(node, kept, context);
    }
  }

  public static class Combine extends Reducer<LongWritable, BytesWritable, LongWritable, BytesWritable> {
    @Override
    protected void reduce(LongWritable node, Iterable<BytesWritable> values, Context context)
        throws IOException, InterruptedException {
      double sum = 0;
      boolean isEmpty = true;
      for (BytesWritable value : values) {
        if (!isShare(value)) {
          context.write(node, value);
          continue;
        }
        sum += bufferOf(value).getDouble();
        isEmpty = false;
      }
      if (!isEmpty)
        context.write(node, new BytesWritable(ByteBuffer.allocate(Double.BYTES).putDouble(sum).array()));
    }
  }

  public static class Add extends Reducer<LongWritable, BytesWritable, LongWritable, Writable> {
    private boolean isLast;

    @Override
    protected void setup(Context context) {
      isLast = context.getConfiguration().getBoolean("pagerank.last", false);
    }

    @Override
    protected void reduce(LongWritable node, Iterable<BytesWritable> values, Context context)
        throws IOException, InterruptedException {
      double sum = 0;
      byte[] kept = new byte[0];
      for (BytesWritable value : values)
        if (isShare(value)) sum += bufferOf(value).getDouble();
        else kept = value.copyBytes();
      double rank = 1 - DAMPING + DAMPING * sum;
      if (isLast) {
        context.write(node, new DoubleWritable(rank));
      } else {
        ByteBuffer.wrap(kept).putDouble(rank);
        context.write(node, new BytesWritable(kept));
      }
    }
  }

  @Override
  public int run(String[] words) throws Exception {
    int rounds = Integer.parseInt(words[2]);
    Path input = new Path(words[0]);
    for (int round = 1; round <= rounds; ++round) {
      boolean isFirst = round == 1;
      boolean isLast = round == rounds;
      Path output = new Path(isLast ? words[1] : words[1] + ".round" + round);
      Job job = Job.getInstance(getConf());
      job.getConfiguration().setBoolean("pagerank.last", isLast);
      job.setJarByClass(PageRank.class);
      job.setMapperClass(isFirst ? FromLines.class : FromKept.class);
      job.setCombinerClass(Combine.class);
      job.setReducerClass(Add.class);
      job.setMapOutputKeyClass(LongWritable.class);
      job.setMapOutputValueClass(BytesWritable.class);
      job.setOutputKeyClass(LongWritable.class);
      job.setOutputValueClass(isLast ? DoubleWritable.class : BytesWritable.class);
      if (!isFirst) job.setInputFormatClass(SequenceFileInputFormat.class);
      if (!isLast) job.setOutputFormatClass(SequenceFileOutputFormat.class);
      FileInputFormat.addInputPath(job, input);
      FileOutputFormat.setOutputPath(job, output);
      if (!job.waitForCompletion(false)) return 1;
      if (!isFirst) FileSystem.get(input.toUri(), getConf()).delete(input, true);
      input = output;
    }
    return 0;
  }

  public static void main(String[] words) throws Exception {
    System.exit(ToolRunner.run(new PageRank(), words));
  }
}

"""A job on Spark whose work is all done in the JVM, by its DataFrames, GraphX or MLlib: spark_job.py JOB INPUT OUTPUT
[ROUNDS PARTITIONS [CLUSTERS]]. The input of pagerank has a link in each line, that of kmeans a vector in brackets."""

import sys
from itertools import islice
from pathlib import Path
from typing import Callable, Dict

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat_ws, count, explode, split


def wordcount(lines: DataFrame) -> DataFrame:
    words = lines.select(explode(split(col("value"), " ")).alias("word")).where("word <> ''")
    counts = words.groupBy("word").agg(count("*").alias("count"))
    return counts.select(concat_ws("\t", "word", "count"))


def sort(lines: DataFrame) -> DataFrame:
    return lines.orderBy("value")


TEXT_JOBS: Dict[str, Callable[[DataFrame], DataFrame]] = {"wordcount": wordcount, "sort": sort, "terasort": sort}


def pagerank(spark: SparkSession, source: str, output: str, rounds: int, partitions: int) -> None:
    jvm, context = spark._jvm, spark._jsc.sc()
    graphx, kept = jvm.org.apache.spark.graphx, jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
    graph = graphx.GraphLoader.edgeListFile(context, source, False, partitions, kept, kept)
    class_of = getattr(jvm.scala.reflect, "ClassTag$").__getattr__("MODULE$")
    number = class_of.Int()
    graphx.lib.PageRank.run(graph, rounds, 0.15, number, number).vertices().saveAsTextFile(output)


def kmeans(spark: SparkSession, source: str, output: str, rounds: int, partitions: int, clusters: int) -> None:
    mllib = spark._jvm.org.apache.spark.mllib
    points = mllib.util.MLUtils.loadVectors(spark._jsc.sc(), source, partitions)
    points.persist(spark._jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK())
    first = spark.sparkContext._gateway.new_array(mllib.linalg.Vector, clusters)
    with open(source) as lines:
        for number, line in enumerate(islice(lines, clusters)):
            first[number] = mllib.linalg.Vectors.parse(line)
    means = mllib.clustering.KMeans().setK(clusters).setMaxIterations(rounds).setEpsilon(0.0)
    model = means.setInitialModel(mllib.clustering.KMeansModel(first)).run(points)
    Path(output).mkdir()
    (Path(output) / "part").write_text("".join(f"{center}\n" for center in model.clusterCenters()))


ITERATIVE_JOBS: Dict[str, Callable[..., None]] = {"pagerank": pagerank, "kmeans": kmeans}


def main() -> None:
    job, source, output, *numbers = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()  # configured by PYSPARK_SUBMIT_ARGS
    if job in TEXT_JOBS:
        TEXT_JOBS[job](spark.read.text(source, lineSep="\n")).write.text(output)
    else:
        ITERATIVE_JOBS[job](spark, source, output, *map(int, numbers))
    gateway = spark.sparkContext._gateway
    spark.stop()
    # The JVM ends when this is closed: else beside whoever runs next.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()

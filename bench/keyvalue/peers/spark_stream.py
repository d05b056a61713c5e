"""Counts messages of stream_source.py by key with Spark's structured streaming, which begins a batch as soon as the one
before has ended: spark_stream.py PORT MESSAGES. Prints a line for each batch: its messages, and how many
microseconds ago its last and its first one were due when their counts were known."""

import sys
import threading
import time
from collections import Counter

from pyspark.sql import DataFrame, SparkSession, functions


def main() -> None:
    port, messages = int(sys.argv[1]), int(sys.argv[2])
    spark = SparkSession.builder.getOrCreate()  # configured by PYSPARK_SUBMIT_ARGS
    lines = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    due = functions.substring("value", 1, 19).cast("long").alias("due")
    of_line = lines.select(due, functions.substring("value", 21, 3).alias("key"))
    counts: Counter = Counter()
    is_done = threading.Event()

    def take(batch: DataFrame, _number: int) -> None:
        rows = batch.groupBy("key").agg(functions.count("*"), functions.min("due"), functions.max("due")).collect()
        now = time.monotonic_ns()
        if not rows:
            return
        for key, number, _, _ in rows:
            counts[key] += number
        first, last = min(row[2] for row in rows), max(row[3] for row in rows)
        print(f"batch: {sum(row[1] for row in rows)} {(now - last) // 1000} {(now - first) // 1000}", flush=True)
        if sum(counts.values()) >= messages:
            is_done.set()

    query = of_line.writeStream.foreachBatch(take).start()
    while not is_done.wait(0.1) and query.isActive:
        pass
    if not is_done.is_set():
        sys.exit(f"the query has ended: {query.exception()}")
    print(f"counted: {len(counts)} keys, of the most frequent one {counts.most_common(1)[0][1]}", flush=True)
    query.stop()
    gateway = spark.sparkContext._gateway
    spark.stop()
    # The JVM ends when this is closed: else beside whoever runs next.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()

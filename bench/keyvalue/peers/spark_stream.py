"""The most frequent keys of messages of 100 bytes that Spark makes by itself, by its source `rate`, with structured
streaming, which begins a batch as soon as the one before has ended: spark_stream.py RATE SECONDS K FOLDER. Prints for
each batch: its messages; how many microseconds after its last and its first one were due their K most frequent keys
were known, and how many of these it was at work; and when that was. The folder is for Spark's own files."""

import heapq
import os
import sys
import threading
import time
from collections import Counter
from typing import List, Tuple

from pyspark.sql import DataFrame, SparkSession, functions

MESSAGE_BYTES = 100
# The keys of stream_latency.cpp.
KEYS, CYCLE, STRIDE = 1000, 4096, 2531


def key_of(number: int) -> int:
    return int(KEYS ** ((number * STRIDE % CYCLE + 0.5) / CYCLE))


def expected(first: int, last: int, k: int) -> List[Tuple[int, int]]:
    """The k most frequent keys of messages `first` to `last`, and how often they come."""
    counts: Counter = Counter()
    for number in range(first, min(first + CYCLE, last + 1)):
        counts[key_of(number)] += (last - number) // CYCLE + 1
    return heapq.nsmallest(k, counts.items(), key=lambda item: (-item[1], item[0]))


def messages_of(rows: DataFrame) -> DataFrame:
    part = (functions.pmod(functions.col("value") * STRIDE, functions.lit(CYCLE)) + 0.5) / CYCLE
    key = functions.floor(functions.pow(functions.lit(float(KEYS)), part))
    text = functions.rpad(
        functions.concat(functions.lpad(key.cast("string"), 3, "0"), functions.lit(" ")), MESSAGE_BYTES, "."
    )
    return rows.select("timestamp", functions.col("value").alias("number"), text.alias("message"))


def top_of(messages: DataFrame, k: int) -> DataFrame:
    """One row, so that one job makes it: count, first and last time, first and last number, and the most frequent."""
    micros, number = functions.unix_micros("timestamp"), functions.col("number")
    by_key = messages.groupBy(functions.substring("message", 1, 3).cast("int").alias("key")).agg(
        functions.count("*").alias("count"),
        *(of(micros).alias(f"{name}_us") for name, of in (("first", functions.min), ("last", functions.max))),
        *(of(number).alias(f"{name}_number") for name, of in (("first", functions.min), ("last", functions.max))),
    )
    ordered = functions.sort_array(functions.collect_list(functions.struct("count", -functions.col("key"))), asc=False)
    firsts = [functions.min(name) for name in ("first_us", "first_number")]
    lasts = [functions.max(name) for name in ("last_us", "last_number")]
    return by_key.agg(functions.sum("count"), *firsts, *lasts, functions.slice(ordered, 1, k))


def main() -> None:
    rate, seconds, k, folder = *map(int, sys.argv[1:4]), sys.argv[4]
    spark = SparkSession.builder.getOrCreate()  # configured by PYSPARK_SUBMIT_ARGS
    source = spark.readStream.format("rate").option("rowsPerSecond", rate)
    messages = messages_of(source.option("numPartitions", len(os.sched_getaffinity(0))).load())
    is_done = threading.Event()
    taken = 0

    def take(batch: DataFrame, _number: int) -> None:
        nonlocal taken
        begin_ns = time.time_ns()
        count, first_us, first, last_us, last, top = top_of(batch, k).collect()[0]
        now_us = time.time_ns() // 1000
        if not count:
            return
        if (first, last - first + 1) != (taken, count):
            raise RuntimeError(f"{count} messages, {first} to {last}, after {taken}")
        found = [(-negative_key, of_key) for of_key, negative_key in top]
        if found != expected(first, last, k):
            raise RuntimeError(f"most frequent are {found} instead of {expected(first, last, k)}")
        taken += count
        work_us = now_us - begin_ns // 1000
        print(f"batch: {count} {now_us - last_us} {now_us - first_us} {work_us} at {now_us}", flush=True)
        if taken >= rate * seconds:
            is_done.set()

    query = messages.writeStream.foreachBatch(take).option("checkpointLocation", f"{folder}/query").start()
    while not is_done.wait(0.1) and query.isActive:
        pass
    if not is_done.is_set():
        sys.exit(f"the query has ended: {query.exception()}")
    query.stop()
    gateway = spark.sparkContext._gateway
    spark.stop()
    # The JVM ends when this is closed: else beside whoever runs next.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Installs what key-value jobs and sorts are measured beside: Java, Maven, mawk, apt-file, STXXL and the kernels that
# bench/sort/kernel.cpp compares by Debian's packages,
# Spark and DuckDB from PyPI, Hadoop from Maven Central. usage: bench/keyvalue/peers/install.sh [FOLDER] (default: build/peers). As root.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=$(realpath -m "${1:-$here/../../../build/peers}")

apt-get update
apt-get install --yes --no-install-recommends openjdk-17-jdk-headless maven mawk python3-venv apt-file \
  g++ libstxxl-dev libhwy-dev libboost-dev
apt-file update # Debian's Contents indices: the text whose words are counted
/usr/bin/python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet -r "$here/requirements.txt"
mvn --batch-mode --quiet -f "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$folder/hadoop"
rm -rf "$folder/hadoop/jobs"
javac -cp "$folder/hadoop/*" -d "$folder/hadoop/jobs" "$here/PageRank.java" "$here/KMeans.java"
g++ -std=c++17 -O3 -march=native -DNDEBUG -fopenmp "$here/../../sort/stxxl_sort.cpp" -o "$folder/stxxl-sort" -lstxxl
root=$here/../../..
g++ -std=c++20 -O3 -march=native -DNDEBUG "-I$root/src" "-I$root/include" "$root/bench/sort/kernel.cpp" \
  "$root"/src/sort/{bucket_sorter,record_layout,key_order}.cpp -o "$folder/sort-kernel" -lhwy_contrib -lhwy

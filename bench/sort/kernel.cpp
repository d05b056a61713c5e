// The sort of a bucket in memory, by what could do it: nanoseconds for each record of 100 bytes, from records to an
// index in their order. Keys have 10 bytes: random ones, or such whose first 8 are one of 1,000. usage: sort-kernel
// RECORDS REPEATS
#include <endian.h>
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "sort/bucket_sorter.h"

namespace {

using spillway::sort::BucketSorter;
using spillway::sort::EqualKeys;
using spillway::sort::RecordLayout;

constexpr size_t kRecordBytes = 100;
constexpr size_t kKeyBytes = 10;

using Entry = hwy::K64V64;  // the prefix, and where the record is

const char* record_of(const Entry& entry) { return reinterpret_cast<const char*>(entry.value); }

bool is_before(const Entry& first, const Entry& second) {
  if (first.key != second.key) return first.key < second.key;
  return std::memcmp(record_of(first), record_of(second), kKeyBytes) < 0;
}

bool is_lower(const Entry& first, const Entry& second) { return first.key < second.key; }

std::vector<Entry> index_of(const std::vector<char>& records) {
  std::vector<Entry> index;
  index.reserve(records.size() / kRecordBytes);
  for (const char* at = records.data(); at != records.data() + records.size(); at += kRecordBytes) {
    uint64_t prefix = 0;
    std::memcpy(&prefix, at, sizeof prefix);
    Entry entry;
    entry.key = be64toh(prefix);
    entry.value = reinterpret_cast<uint64_t>(at);
    index.push_back(entry);
  }
  return index;
}

// Behind a sort by prefixes.
void order_same_prefixes(std::vector<Entry>& index) {
  for (auto from = index.begin(); from != index.end();) {
    auto to = from + 1;
    while (to != index.end() && to->key == from->key) ++to;
    if (to - from > 1) std::sort(from, to, is_before);
    from = to;
  }
}

std::vector<char> records_of(size_t count, bool are_frequent) {
  std::vector<char> records(count * kRecordBytes);
  std::mt19937_64 random(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t numbers[2] = {are_frequent ? random() % 1000 : random(), random()};
    std::memcpy(records.data() + i * kRecordBytes, numbers, sizeof numbers);
  }
  return records;
}

struct Sorted {
  double ns;  // for each record
  std::vector<char> records;
};

double ns_since(std::chrono::steady_clock::time_point begin, size_t count) {
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return time.count() / static_cast<double>(count);
}

Sorted sort_by_bucket_sorter(const std::vector<char>& records) {
  const size_t count = records.size() / kRecordBytes;
  const auto begin = std::chrono::steady_clock::now();
  BucketSorter sorter(RecordLayout::parse(kRecordBytes, "0:10", EqualKeys::unordered));
  sorter.sort({{records.data(), records.size()}}, count, {});
  Sorted sorted{ns_since(begin, count), std::vector<char>(records.size())};
  sorter.copy_next(sorted.records.data(), sorted.records.size());
  return sorted;
}

template <typename Sort>
Sorted sort_index(const std::vector<char>& records, Sort sort) {
  const size_t count = records.size() / kRecordBytes;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Entry> index = index_of(records);
  sort(index);
  Sorted sorted{ns_since(begin, count), {}};
  for (const Entry& entry : index)
    sorted.records.insert(sorted.records.end(), record_of(entry), record_of(entry) + kRecordBytes);
  return sorted;
}

Sorted sort_by_vqsort(const std::vector<char>& records) {
  return sort_index(records, [](std::vector<Entry>& index) {
    hwy::Sorter()(index.data(), index.size(), hwy::SortAscending());
    order_same_prefixes(index);
  });
}

Sorted sort_by_spreadsort(const std::vector<char>& records) {
  return sort_index(records, [](std::vector<Entry>& index) {
    const auto shifted = [](const Entry& entry, unsigned bits) { return entry.key >> bits; };
    boost::sort::spreadsort::integer_sort(index.begin(), index.end(), shifted, is_lower);
    order_same_prefixes(index);
  });
}

Sorted sort_by_pdqsort(const std::vector<char>& records) {
  return sort_index(records,
                    [](std::vector<Entry>& index) { boost::sort::pdqsort(index.begin(), index.end(), is_before); });
}

Sorted sort_by_std_sort(const std::vector<char>& records) {
  return sort_index(records, [](std::vector<Entry>& index) { std::sort(index.begin(), index.end(), is_before); });
}

struct Kernel {
  const char* name;
  Sorted (*sort)(const std::vector<char>&);
  std::vector<double> times;
};

bool is_sorted(const std::vector<char>& records) {
  for (size_t at = kRecordBytes; at < records.size(); at += kRecordBytes)
    if (std::memcmp(&records[at - kRecordBytes], &records[at], kKeyBytes) > 0) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const int repeats = argc == 3 ? std::atoi(argv[2]) : 0;
  if (count == 0 || repeats < 1) {
    std::fprintf(stderr, "usage: %s RECORDS REPEATS\n", argv[0]);
    return 2;
  }
  for (const bool are_frequent : {false, true}) {
    const std::vector<char> records = records_of(count, are_frequent);
    Kernel kernels[] = {{"BucketSorter", sort_by_bucket_sorter, {}},
                        {"VQSort (Highway)", sort_by_vqsort, {}},
                        {"spreadsort (Boost)", sort_by_spreadsort, {}},
                        {"pdqsort (Boost)", sort_by_pdqsort, {}},
                        {"std::sort", sort_by_std_sort, {}}};
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (Kernel& kernel : kernels) {
        const Sorted sorted = kernel.sort(records);
        if (sorted.records.size() != records.size() || !is_sorted(sorted.records)) {
          std::fprintf(stderr, "%s did not sort\n", kernel.name);
          return 1;
        }
        kernel.times.push_back(sorted.ns);
      }
    for (Kernel& kernel : kernels) {
      std::sort(kernel.times.begin(), kernel.times.end());
      std::printf("%-9s %-19s %6.1f ns (%.1f-%.1f)\n", are_frequent ? "frequent" : "random", kernel.name,
                  kernel.times[kernel.times.size() / 2], kernel.times.front(), kernel.times.back());
    }
  }
  return 0;
}

// Sorts records of 100 bytes, of which the first 10 are the key, with STXXL: runs of as much as memory holds are sorted
// on all cores and written, then merged into the output. usage: stxxl-sort INPUT OUTPUT SCRATCH-FOLDER MEMORY-BYTES
#include <endian.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <stxxl/io>
#include <stxxl/mng>
#include <stxxl/stream>
#include <stxxl/vector>

namespace {

struct Record {
  char bytes[100];
};

struct Key {
  uint64_t high;
  uint16_t low;
  explicit Key(const Record& record) {
    std::memcpy(&high, record.bytes, sizeof high);
    std::memcpy(&low, record.bytes + sizeof high, sizeof low);
    high = be64toh(high);
    low = be16toh(low);
  }
};

struct KeyOrder {
  bool operator()(const Record& first, const Record& second) const {
    const Key one(first), other(second);
    return one.high != other.high ? one.high < other.high : one.low < other.low;
  }
  static Record min_value() { return filled(0); }
  static Record max_value() { return filled(0xff); }

 private:
  static Record filled(int byte) {
    Record record;
    std::memset(record.bytes, byte, sizeof record.bytes);
    return record;
  }
};

// As near to STXXL's own 2 MiB as whole records and the disk's blocks of 4 KiB let it.
constexpr unsigned kBlockBytes = 20 * 100 * 1024;
using Records = stxxl::VECTOR_GENERATOR<Record, 1, 4, kBlockBytes>::result;

void sort_file(const char* input, const char* output, const std::string& folder, uint64_t memory_bytes) {
  stxxl::linuxaio_file source(input, stxxl::file::RDONLY | stxxl::file::DIRECT);
  const uint64_t bytes = source.size();
  const std::string runs =
      "disk=" + folder + "/stxxl.runs," + std::to_string(bytes / (1 << 20) + 64) + "MiB,linuxaio unlink direct=on";
  stxxl::disk_config disk;
  disk.parse_line(runs);
  stxxl::config::get_instance()->add_disk(disk);
  Records records(&source, bytes / sizeof(Record));
  // The buffers of the input and the output are not in what the sort is told of.
  const uint64_t of_sort = memory_bytes - 16 * uint64_t{kBlockBytes};

  using Input = Records::bufreader_type;
  Input in(records);
  using Runs = stxxl::stream::runs_creator<Input, KeyOrder, kBlockBytes>;
  using Merged = stxxl::stream::runs_merger<Runs::sorted_runs_type, KeyOrder>;
  Runs runs_creator(in, KeyOrder(), of_sort);
  Merged merged(runs_creator.result(), KeyOrder(), of_sort);
  stxxl::linuxaio_file target(output, stxxl::file::RDWR | stxxl::file::CREAT | stxxl::file::DIRECT);
  Records sorted(&target, bytes / sizeof(Record));
  stxxl::stream::materialize(merged, sorted.begin(), sorted.end(), 8);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: stxxl-sort INPUT OUTPUT SCRATCH-FOLDER MEMORY-BYTES\n");
    return 2;
  }
  try {
    sort_file(argv[1], argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stxxl-sort: %s\n", error.what());
    return 1;
  }
  return 0;
}

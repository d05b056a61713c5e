#include "record_output.h"

#include <algorithm>
#include <vector>

#include "partial_file.h"
#include "record_checksum.h"

namespace apps::records {

Number write_records(const std::string& path, RecordGenerator& generator, uint64_t count) {
  constexpr uint64_t kRecordsOfBlock = 4096;  // stay in the processor's caches
  PartialFile output(path);
  std::vector<char> block(kRecordsOfBlock * kRecordBytes);
  Number checksum = 0;
  for (uint64_t done = 0; done < count;) {
    const uint64_t records = std::min(kRecordsOfBlock, count - done);
    generator.generate(block.data(), records);
    checksum += record_checksum(block.data(), records);
    output.file().write_at(done * kRecordBytes, block.data(), records * kRecordBytes);
    done += records;
  }
  output.finish();
  return checksum;
}

}  // namespace apps::records

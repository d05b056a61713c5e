// teravalidate: says whether records of the sort benchmark are sorted, with the figures of its program valsort.
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <spillway/record_files.hpp>
#include <string>
#include <vector>

#include "option_values.h"
#include "program.h"
#include "record_checksum.h"
#include "record_order.h"

namespace {

using namespace apps::records;

constexpr char kHelp[] = R"(usage: teravalidate [options] FILE...

Reads records of 100 bytes, those of the second file after those of the first and so on. A directory stands for the files
that its manifest.json names (spillway sort --parts), without one for those in it, by name. Prints how many there are, their
checksum (the sum of their CRC-32, in hexadecimal), and how many have the key, their first 10 bytes, of the one before.
Fails where a key is smaller than the one before; records are numbered from 0.

  -c, --checksum SUM  fail if that is not the checksum
  -h, --help          this text
)";
constexpr option kOptions[] = {{"checksum", required_argument, nullptr, 'c'}, {"help", no_argument, nullptr, 'h'}, {}};
constexpr uint64_t kSplitBytes = 1 << 30;

namespace fs = std::filesystem;

// In the order that the manifest has them.
std::vector<std::string> parts_of(const fs::path& directory) {
  std::vector<std::string> paths;
  if (std::ifstream manifest(directory / "manifest.json"); manifest) {
    const std::string text(std::istreambuf_iterator<char>(manifest), {});
    const std::regex name("\"name\": \"([^\"]+)\"");
    for (std::sregex_iterator found(text.begin(), text.end(), name); found != std::sregex_iterator(); ++found)
      paths.push_back((directory / (*found)[1].str()).string());
    return paths;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.is_regular_file() && entry.path().filename().string()[0] != '.') paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> files_of(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& path : named) {
    const std::vector<std::string> of_path = fs::is_directory(path) ? parts_of(path) : std::vector<std::string>{path};
    if (of_path.empty()) throw std::runtime_error("there are no files in " + path);
    files.insert(files.end(), of_path.begin(), of_path.end());
  }
  return files;
}

void run(int argc, char** argv) {
  std::string expected;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argc, argv, ":c:h", kOptions, nullptr)) != -1;) {
    if (result == 'h') return static_cast<void>(std::fputs(kHelp, stdout));
    if (result != 'c') throw apps::refused_option(result, argv, optind);
    expected = optarg;
  }
  if (optind == argc) throw apps::UsageError("a FILE is needed; --help explains");
  const spillway::mpid::RecordSplits splits(files_of({argv + optind, argv + argc}), kRecordBytes, kSplitBytes);
  RecordOrder order;
  splits.for_each_record(0, 1, [&](std::string_view record) { order.add(record.data()); });
  const std::string checksum = hexadecimal(order.checksum());
  std::printf("Records: %" PRIu64 "\nChecksum: %s\nDuplicate keys: %" PRIu64 "\nUnordered records: %" PRIu64 "\n",
              order.records(), checksum.c_str(), order.duplicate_keys(), order.unordered());
  if (order.unordered() != 0)
    throw std::runtime_error(
        "the records are not sorted: the first whose key is smaller than the one before is record " +
        std::to_string(order.first_unordered()));
  if (!expected.empty() && expected != checksum)
    throw std::runtime_error("the checksum is " + checksum + " and not " + expected +
                             ": records are missing or changed");
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("teravalidate", "not enough memory", [&] { run(argc, argv); });
}

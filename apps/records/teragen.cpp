// teragen: writes records of the sort benchmark, the same as its program gensort.
#include <getopt.h>

#include <cstdio>

#include "option_values.h"
#include "program.h"
#include "record_checksum.h"
#include "record_generator.h"
#include "record_output.h"

namespace {

using namespace apps::records;

constexpr char kHelp[] = R"(usage: teragen [options] COUNT OUTPUT

Writes COUNT records of 100 bytes, which begin with a key of 10 bytes: those of the sort benchmark's program gensort.
Prints their checksum: the sum of their CRC-32, in hexadecimal.

  -a, --ascii         records of printable characters
  -s, --skewed        keys that have beginnings in common
  -b, --begin NUMBER  of the first record (default 0)
  -h, --help          this text
)";
constexpr option kOptions[] = {{"ascii", no_argument, nullptr, 'a'},
                               {"skewed", no_argument, nullptr, 's'},
                               {"begin", required_argument, nullptr, 'b'},
                               {"help", no_argument, nullptr, 'h'},
                               {}};

void run(int argc, char** argv) {
  RecordKind kind = RecordKind::binary;
  bool is_skewed = false;
  uint64_t begin = 0;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argc, argv, ":asb:h", kOptions, nullptr)) != -1;) {
    if (result == 'h') return static_cast<void>(std::fputs(kHelp, stdout));
    if (result == '?' || result == ':') throw apps::refused_option(result, argv, optind);
    if (result == 'a') kind = RecordKind::ascii;
    if (result == 's') is_skewed = true;
    if (result == 'b') begin = apps::parse_whole_number("--begin", optarg, 0, kMostRecords);
  }
  if (optind + 2 != argc) throw apps::UsageError("a COUNT and an OUTPUT file are needed; --help explains");
  const uint64_t count = apps::parse_whole_number("COUNT", argv[optind], 0, kMostRecords - begin);
  RecordGenerator generator(kind, is_skewed, begin);
  std::printf("%s\n", hexadecimal(write_records(argv[optind + 1], generator, count)).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("teragen", "not enough memory", [&] { run(argc, argv); });
}

// spillway-sort: what `spillway sort` starts, an MPI program.
#include <getopt.h>
#include <mpi.h>
#include <spillway/spillway.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "base/size_text.h"
#include "mpi_program/end_of_job.h"
#include "sort/failure.h"
#include "sort/several_hosts.h"
#include "sort/sort_job.h"

namespace {

using spillway::sort::Delivery;
using spillway::sort::EqualKeys;
using spillway::sort::RecordLayout;
using spillway::sort::Report;
using spillway::sort::Settings;
using spillway::sort::UsageFailure;

constexpr int kUsageStatus = 2;
constexpr option kOptions[] = {{"record-bytes", required_argument, nullptr, 'r'},
                               {"key", required_argument, nullptr, 'k'},
                               {"memory", required_argument, nullptr, 'm'},
                               {"node-processes", required_argument, nullptr, 'n'},
                               {"reserve", required_argument, nullptr, 'M'},
                               {"spill-dir", required_argument, nullptr, 's'},
                               {"output", required_argument, nullptr, 'o'},
                               {"readers", required_argument, nullptr, 'R'},
                               {"delivery", required_argument, nullptr, 'D'},
                               {"report-file", required_argument, nullptr, 'f'},
                               {"progress-file", required_argument, nullptr, 'p'},
                               {"stable", no_argument, nullptr, 'S'},
                               {"unique", no_argument, nullptr, 'u'},
                               {"count", no_argument, nullptr, 'c'},
                               {"lines", no_argument, nullptr, 'l'},
                               {"separator", required_argument, nullptr, 'd'},
                               {"parts", no_argument, nullptr, 'P'},
                               {"token", required_argument, nullptr, 't'},
                               {}};

uint64_t size_of(const char* option, const char* text) {
  const auto size = spillway::base::parse_size(text);
  if (!size) throw UsageFailure(std::string(option) + " " + text + " is no size", "say it as in 512M");
  return *size;
}

Delivery delivery_of(const char* text) {
  if (std::strcmp(text, "one-sided") == 0) return Delivery::one_sided;
  if (std::strcmp(text, "two-sided") == 0) return Delivery::two_sided;
  throw UsageFailure(std::string("--delivery ") + text + " does not exist", "say one-sided or two-sided");
}

// Of several of the node's, the first.
std::string spill_directory_of_node() {
  const char* directories = spillway_get_spill_directories();
  const std::string all = directories != nullptr ? directories : "/tmp";
  return all.substr(0, all.find(':'));
}

Settings parse(int argc, char** argv, std::string& report_file) {
  uint64_t record_bytes = 100;
  uint64_t memory_bytes = 0;  // of each process; 0: its share of what its node has, without the reserve
  uint64_t reserve_bytes = 0;
  uint64_t processes_of_node = 1;
  const char* key = nullptr;
  std::string separator;
  std::string output;
  std::string spill_directory;
  std::string progress;
  std::string token;
  bool is_of_lines = false;
  bool has_parts = false;
  EqualKeys equal_keys = EqualKeys::unordered;
  int readers = 0;
  Delivery delivery = Delivery::one_sided;
  for (int letter = 0; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (letter) {
      case 'r':
        record_bytes = size_of("--record-bytes", optarg);
        break;
      case 'k':
        key = optarg;
        break;
      case 'm':
        memory_bytes = size_of("--memory", optarg);
        break;
      case 'n':
        processes_of_node = std::max<uint64_t>(size_of("--node-processes", optarg), 1);
        break;
      case 'M':
        reserve_bytes = size_of("--reserve", optarg);
        break;
      case 's':
        spill_directory = optarg;
        break;
      case 'o':
        output = optarg;
        break;
      case 'R':
        readers = static_cast<int>(std::min<uint64_t>(size_of("--readers", optarg), INT_MAX));
        break;
      case 'D':
        delivery = delivery_of(optarg);
        break;
      case 'S':
        equal_keys = std::max(equal_keys, EqualKeys::stable);
        break;
      case 'u':
        equal_keys = std::max(equal_keys, EqualKeys::first_only);
        break;
      case 'c':
        equal_keys = EqualKeys::counted;
        break;
      case 'l':
        is_of_lines = true;
        break;
      case 'd':
        separator = optarg;
        break;
      case 'P':
        has_parts = true;
        break;
      case 'p':
        progress = optarg;
        break;
      case 't':
        token = optarg;
        break;
      case 'f':
        report_file = optarg;
        break;
      default:
        throw UsageFailure("an unknown option, or one without its value", "spillway sort --help lists them");
    }
  }
  if (output.empty() || optind == argc)
    throw UsageFailure("no output, or no input", "spillway sort --output FILE INPUT...");
  if (memory_bytes == 0) memory_bytes = spillway::sort::memory_of_process(processes_of_node, reserve_bytes);
  return {{argv + optind, argv + argc},
          output,
          has_parts,
          spill_directory.empty() ? spill_directory_of_node() : spill_directory,
          is_of_lines ? RecordLayout::parse_lines(key == nullptr ? "0" : key, separator, equal_keys)
                      : RecordLayout::parse(record_bytes, key == nullptr ? "0:10" : key, equal_keys),
          memory_bytes,
          readers,
          delivery,
          progress,
          token};
}

// Whoever reads it sees whether it is there and whole: the output is, in any case.
void write_report(const Report& report, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file,
               "{\"records\": %llu, \"output_records\": %llu, \"bytes\": %llu, \"buckets\": %llu, \"in_memory\": %s, "
               "\"sample_s\": %.6f, "
               "\"distribute_s\": %.6f, \"finish_s\": %.6f, \"total_s\": %.6f, \"deal_out_s\": %.6f, \"sort_s\": %.6f, "
               "\"move_s\": %.6f, \"sorters\": %llu, \"sorters_distribute_s\": %.6f, \"wait_for_data_s\": %.6f, "
               "\"write_rest_s\": %.6f, \"barrier_s\": %.6f, \"read_bytes\": %llu, \"written_bytes\": %llu}\n",
               static_cast<unsigned long long>(report.records), static_cast<unsigned long long>(report.output_records),
               static_cast<unsigned long long>(report.bytes), static_cast<unsigned long long>(report.buckets),
               report.is_in_memory ? "true" : "false", report.sample_s, report.distribute_s, report.finish_s,
               report.total_s, report.dealt_s, report.sorted_s, report.moved_s,
               static_cast<unsigned long long>(report.sorters), report.sorters_distribute_s, report.waited_s,
               report.flushed_s, report.barrier_s, static_cast<unsigned long long>(report.read_bytes),
               static_cast<unsigned long long>(report.written_bytes));
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  spillway::mpi_program::EndOfJob end_of_job("spillway sort");
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit (ulimit -f) is an error with a message
  MPI_Init(&argc, &argv);
  end_of_job.learn_place();
  try {
    std::string report_file;
    const Settings settings = parse(argc, argv, report_file);
    const Report report = spillway::sort::run_sort(settings, end_of_job);
    int process = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    if (process == 0 && !report_file.empty()) write_report(report, report_file);
  } catch (const UsageFailure& failure) {
    end_of_job.end(failure.what(), kUsageStatus);
  } catch (const std::bad_alloc&) {
    end_of_job.end(spillway::sort::kWantOfMemory);
  } catch (const std::exception& error) {
    end_of_job.end(error.what());
  }
  MPI_Finalize();
  return 0;
}

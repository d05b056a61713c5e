// spillway-sort: what `spillway sort` starts, an MPI program.
#include <getopt.h>
#include <mpi.h>
#include <spillway/spillway.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/size_text.h"
#include "mpi_program/end_of_job.h"
#include "sort/failure.h"
#include "sort/several_hosts.h"
#include "sort/sort_job.h"

namespace {

using spillway::sort::Delivery;
using spillway::sort::DeviceRate;
using spillway::sort::EqualKeys;
using spillway::sort::RecordLayout;
using spillway::sort::Report;
using spillway::sort::Settings;
using spillway::sort::StageDisk;
using spillway::sort::UsageFailure;

constexpr int kUsageStatus = 2;
constexpr option kOptions[] = {{"record-bytes", required_argument, nullptr, 'r'},
                               {"key", required_argument, nullptr, 'k'},
                               {"memory", required_argument, nullptr, 'm'},
                               {"node-processes", required_argument, nullptr, 'n'},
                               {"reserve", required_argument, nullptr, 'M'},
                               {"spill-dir", required_argument, nullptr, 's'},
                               {"input-list", required_argument, nullptr, 'i'},
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
  if (std::strcmp(text, "two-sided-one-receive") == 0) return Delivery::two_sided_one_receive;
  throw UsageFailure(std::string("--delivery ") + text + " does not exist",
                     "say one-sided, two-sided or two-sided-one-receive");
}

// Of several of the node's, the first.
std::string spill_directory_of_node() {
  const char* directories = spillway_get_spill_directories();
  const std::string all = directories != nullptr ? directories : "/tmp";
  return all.substr(0, all.find(':'));
}

// Names with a zero behind each: there may be more of them than a command line has room for. Who starts this program
// without `spillway sort` names inputs as words.
void add_listed(const std::string& path, std::vector<std::string>& names) {
  std::ifstream file(path, std::ios::binary);
  for (std::string name; std::getline(file, name, '\0');) names.push_back(name);
  if (!file.eof() || names.empty())
    throw UsageFailure("cannot read the list of inputs " + path, "see that its file system is there");
}

Settings parse(int argc, char** argv, std::string& report_file, std::string& input_list) {
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
        if (key != nullptr)
          throw UsageFailure(std::string("--key ") + key + " and --key " + optarg + ": there is one key",
                             "say one of them");
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
      case 'i':
        input_list = optarg;
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
  if (output.empty() || (optind == argc) == input_list.empty())
    throw UsageFailure("no output, or not one way to say what the inputs are", "spillway sort --output FILE INPUT...");
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

std::string text_of(const std::optional<double>& number) { return number ? std::to_string(*number) : "null"; }

std::string text_of(const StageDisk& disk) {
  return "{\"read_bytes\": " + std::to_string(disk.read_bytes) +
         ", \"written_bytes\": " + std::to_string(disk.written_bytes) + ", \"busy\": " + text_of(disk.busy) +
         ", \"of_rate\": " + text_of(disk.of_rate) + "}";
}

std::string text_of(const std::optional<DeviceRate>& rate) {
  if (!rate) return "null";
  return "{\"read\": " + std::to_string(rate->read) + ", \"written\": " + std::to_string(rate->written) + "}";
}

// Whoever reads it sees whether it is there and whole: the output is, in any case.
void write_report(const Report& report, const std::string& path) {
  const std::pair<const char*, std::string> fields[] = {
      {"records", std::to_string(report.records)},
      {"output_records", std::to_string(report.output_records)},
      {"bytes", std::to_string(report.bytes)},
      {"buckets", std::to_string(report.buckets)},
      {"in_memory", report.is_in_memory ? "true" : "false"},
      {"sample_s", std::to_string(report.sample_s)},
      {"distribute_s", std::to_string(report.distribute_s)},
      {"finish_s", std::to_string(report.finish_s)},
      {"total_s", std::to_string(report.total_s)},
      {"deal_out_s", std::to_string(report.dealt_s)},
      {"sort_s", std::to_string(report.sorted_s)},
      {"move_s", std::to_string(report.moved_s)},
      {"sorters", std::to_string(report.sorters)},
      {"sorters_distribute_s", std::to_string(report.sorters_distribute_s)},
      {"wait_for_data_s", std::to_string(report.waited_s)},
      {"write_rest_s", std::to_string(report.flushed_s)},
      {"barrier_s", std::to_string(report.barrier_s)},
      {"read_bytes", std::to_string(report.read_bytes)},
      {"written_bytes", std::to_string(report.written_bytes)},
      {"sample_disk", text_of(report.sample_disk)},
      {"distribute_disk", text_of(report.distribute_disk)},
      {"finish_disk", text_of(report.finish_disk)},
      {"device_rate", text_of(report.device_rate)},
  };
  std::ofstream file(path);
  const char* separator = "{";
  for (const auto& [name, value] : fields) {
    file << separator << '"' << name << "\": " << value;
    separator = ", ";
  }
  file << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  spillway::mpi_program::EndOfJob end_of_job("spillway sort");
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit (ulimit -f) is an error with a message
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  // Open MPI 4's osc/rdma fails between hosts over TCP, and with atomic operations within a host.
  setenv("OMPI_MCA_osc", "^rdma", 0);
#endif
  MPI_Init(&argc, &argv);
  end_of_job.learn_place();
  try {
    std::string report_file;
    std::string input_list;
    Settings settings = parse(argc, argv, report_file, input_list);
    int process = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    if (process == 0 && !input_list.empty()) add_listed(input_list, settings.input);
    const Report report = spillway::sort::run_sort(settings, end_of_job);
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

// spillway/sort.h.
#include <spillway/sort.h>

#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "mpi_program/end_of_job.h"
#include "sort/failure.h"
#include "sort/sort_job.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::sort {
namespace {

constexpr uint64_t kUsualRecordBytes = 100;

std::string text_or(const char* text, const char* usual) { return text == nullptr ? usual : text; }

EqualKeys equal_keys_of(int number) {
  switch (number) {
    case SPILLWAY_SORT_UNORDERED:
      return EqualKeys::unordered;
    case SPILLWAY_SORT_STABLE:
      return EqualKeys::stable;
    case SPILLWAY_SORT_UNIQUE:
      return EqualKeys::first_only;
    case SPILLWAY_SORT_COUNTED:
      return EqualKeys::counted;
    default:
      throw UsageFailure("equal_keys is " + std::to_string(number), "say one of spillway_sort_equal_keys");
  }
}

Settings settings_of(const spillway_sort_options& options) {
  if (options.inputs == nullptr || options.input_count == 0 || options.output == nullptr)
    throw UsageFailure("no output, or no input", "set inputs, input_count and output");
  if (options.memory_bytes == 0)
    throw UsageFailure("it is not said how much memory a process may use", "set memory_bytes");
  const EqualKeys equal_keys = equal_keys_of(options.equal_keys);
  return {{options.inputs, options.inputs + options.input_count},
          options.output,
          options.has_parts != 0,
          text_or(options.spill_directory, "/tmp"),
          options.is_lines != 0
              ? RecordLayout::parse_lines(text_or(options.key, "0"), text_or(options.separator, ""), equal_keys)
              : RecordLayout::parse(options.record_bytes == 0 ? kUsualRecordBytes : options.record_bytes,
                                    text_or(options.key, "0:10"), equal_keys),
          options.memory_bytes,
          options.reader_count,
          Delivery::one_sided,
          "",
          ""};
}

// A file beyond the user's limit (ulimit -f) is an error with a message meanwhile, and no signal that ends the process.
class IgnoredSignal {
 public:
  explicit IgnoredSignal(int number) : number_(number) {
    struct sigaction ignoring = {};
    ignoring.sa_handler = SIG_IGN;
    sigaction(number_, &ignoring, &before_);
  }
  ~IgnoredSignal() { sigaction(number_, &before_, nullptr); }
  IgnoredSignal(const IgnoredSignal&) = delete;
  IgnoredSignal& operator=(const IgnoredSignal&) = delete;

 private:
  const int number_;
  struct sigaction before_ = {};
};

}  // namespace
}  // namespace spillway::sort

extern "C" SPILLWAY_EXPORT void spillway_sort_files(const spillway_sort_options* options,
                                                    spillway_sort_result* result) {
  using namespace spillway::sort;
  spillway::mpi_program::EndOfJob end_of_job("spillway_sort_files()");
  end_of_job.learn_place();
  const IgnoredSignal ignored(SIGXFSZ);
  try {
    const Report report = run_sort(settings_of(*options), end_of_job);
    if (result != nullptr)
      *result = {report.records,    report.output_records, report.bytes,  report.buckets, report.is_in_memory ? 1 : 0,
                 report.read_bytes, report.written_bytes,  report.total_s};
  } catch (const std::bad_alloc&) {
    end_of_job.end(kWantOfMemory);
  } catch (const std::exception& error) {
    end_of_job.end(error.what());
  }
}

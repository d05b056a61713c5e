#include "launch/report.h"

#include <errno.h>
#include <unistd.h>

namespace spillway::launch {
namespace {

constexpr const char* kStateNames[] = {"absent",  "running",   "ready",   "blocked_receive", "blocked_collective",
                                       "loading", "delegated", "finished"};

const char* state_name(uint32_t state) { return state < std::size(kStateNames) ? kStateNames[state] : "unknown"; }

void add(std::string& lines, const char* key, const std::string& value) {
  lines += std::string(key) + " ";
  for (char character : value) character == '\n' ? lines += "\\n" : lines += character;
  lines += "\n";
}
void add(std::string& lines, const char* key, uint64_t value) { add(lines, key, std::to_string(value)); }

void add_field(std::string& line, const char* key, uint64_t value) {
  line += std::string(" ") + key + "=" + std::to_string(value);
}

std::string rank_line(uint32_t world_rank, const node::RankRecord& record) {
  const node::RankStatistics& statistics = record.statistics;
  std::string line = "rank " + std::to_string(world_rank);
  line += std::string(" state=") + state_name(record.state);
  add_field(line, "pid", static_cast<uint64_t>(record.pid.load()));
  add_field(line, "compute_ns", statistics.compute_ns);
  add_field(line, "wait_ns", statistics.wait_ns);
  add_field(line, "ready_ns", statistics.ready_ns);
  add_field(line, "load_ns", statistics.load_ns);
  add_field(line, "unload_ns", statistics.unload_ns);
  add_field(line, "loaded_bytes", statistics.loaded_bytes);
  add_field(line, "unloaded_bytes", statistics.unloaded_bytes);
  add_field(line, "spilled_bytes", statistics.spilled_bytes);
  add_field(line, "sent_messages", statistics.sent_messages);
  add_field(line, "sent_bytes", statistics.sent_bytes);
  add_field(line, "yields", statistics.yields);
  add_field(line, "unloads", statistics.unloads);
  add_field(line, "managed_bytes", record.managed_bytes);
  return line + "\n";
}

void write_fully(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the front end is gone: nobody wants the report
    done += static_cast<size_t>(written);
  }
}

}  // namespace

std::string node_report(const node::Segment& segment, const std::string& host, const std::string& address) {
  const node::SegmentHeader& header = segment.header();
  std::string lines;
  add(lines, "node", host);
  if (!address.empty()) add(lines, "address", address);
  add(lines, "node_index", header.node_index);
  add(lines, "rank_count", header.rank_count);
  add(lines, "slot_count", header.slot_count);
  add(lines, "cpu_count", header.cpu_count);
  add(lines, "budget_bytes", header.budget_bytes);
  add(lines, "peak_bytes", header.peak_bytes);
  add(lines, "attached_ranks", header.attached_ranks);
  add(lines, "finished_ranks", header.finished_ranks);
  const node::RankStatistics& courier = segment.courier().statistics;
  add(lines, "courier_sent_messages", courier.sent_messages);
  add(lines, "courier_sent_bytes", courier.sent_bytes);
  add(lines, "courier_spilled_bytes", courier.spilled_bytes);
  uint32_t index = 0;
  for (uint32_t world_rank = 0; world_rank < header.world_size; ++world_rank)
    if (segment.places()[world_rank].node == header.node_index) lines += rank_line(world_rank, segment.rank(index++));
  return lines;
}

std::string link_report(uint32_t to, const courier::LinkFigures& figures) {
  if (figures.bytes == 0) return "";
  std::string line = "link " + std::to_string(to);
  add_field(line, "bytes", figures.bytes);
  add_field(line, "busy_us", figures.busy_us);
  add_field(line, "min_rtt_us", figures.min_rtt_us);
  return line + "\n";
}

void write_report(int descriptor, const JobOutcome& outcome, const std::vector<std::string>& nodes) {
  std::string lines;
  add(lines, "exit_status", static_cast<uint64_t>(outcome.exit_status));
  if (outcome.failure) {
    add(lines, "failure", headline(*outcome.failure));
    add(lines, "cause", outcome.failure->cause);
    add(lines, "remedy", outcome.failure->remedy);
  }
  add(lines, "wall_ns", outcome.wall_ns);
  for (const std::string& node : nodes) lines += node;
  write_fully(descriptor, lines);
}

}  // namespace spillway::launch

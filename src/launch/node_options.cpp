#include "launch/node_options.h"

#include <errno.h>
#include <getopt.h>

#include <cstdlib>
#include <limits>
#include <sstream>
#include <utility>

#include "node/attach_protocol.h"

namespace spillway::launch {
namespace {

enum Option {
  kRanks = 1,
  kSlots,
  kMemory,
  kSpillDir,
  kPreload,
  kCpus,
  kStrategy,
  kReportFd,
  kDetectDeadlock,
  kNoChecksums,
  kSessions,
  kListen,
  kRanksPerNode,
  kRing,
  kBroadcasts,
  kNodeCommand,
  kMember,
  kRefusal
};

constexpr option kOptions[] = {
    {"ranks", required_argument, nullptr, kRanks},
    {"slots", required_argument, nullptr, kSlots},
    {"memory", required_argument, nullptr, kMemory},
    {"spill-dir", required_argument, nullptr, kSpillDir},
    {"preload", required_argument, nullptr, kPreload},
    {"cpus", required_argument, nullptr, kCpus},
    {"strategy", required_argument, nullptr, kStrategy},
    {"report-fd", required_argument, nullptr, kReportFd},
    {"detect-deadlock", no_argument, nullptr, kDetectDeadlock},
    {"no-checksums", no_argument, nullptr, kNoChecksums},
    {"sessions", no_argument, nullptr, kSessions},
    {"listen", required_argument, nullptr, kListen},
    {"ranks-per-node", required_argument, nullptr, kRanksPerNode},
    {"ring", required_argument, nullptr, kRing},
    {"broadcasts", required_argument, nullptr, kBroadcasts},
    {"node-command", required_argument, nullptr, kNodeCommand},
    {"member", required_argument, nullptr, kMember},
    {"refusal", required_argument, nullptr, kRefusal},
    {nullptr, 0, nullptr, 0},
};

template <typename Number>
bool parse_number(const char* text, Number& value) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long parsed = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || *text == '-' ||
      parsed > static_cast<unsigned long long>(std::numeric_limits<Number>::max()))
    return false;
  value = static_cast<Number>(parsed);
  return true;
}

constexpr std::pair<const char*, node::Strategy> kStrategies[] = {{"auto", node::Strategy::automatic},
                                                                  {"araw", node::Strategy::araw},
                                                                  {"arlw", node::Strategy::arlw},
                                                                  {"lrlw", node::Strategy::lrlw}};

bool parse_strategy(const std::string& name, node::Strategy& strategy) {
  for (const auto& [known, value] : kStrategies) {
    if (name != known) continue;
    strategy = value;
    return true;
  }
  return false;
}

bool take_option(int option, const char* value, NodeOptions& options) {
  switch (option) {
    case kRanks:
      return parse_number(value, options.rank_count);
    case kSlots:
      return parse_number(value, options.slot_count);
    case kMemory:
      return parse_number(value, options.budget_bytes);
    case kCpus:
      return parse_number(value, options.cpu_count);
    case kStrategy:
      return parse_strategy(value, options.strategy);
    case kReportFd:
      return parse_number(value, options.report_descriptor);
    case kSpillDir:
      options.spill_directories = value;
      return true;
    case kPreload:
      options.preload = value;
      return true;
    case kDetectDeadlock:
      options.detects_deadlock = true;
      return true;
    case kNoChecksums:
      options.keeps_checksums = false;
      return true;
    case kSessions:
      options.has_sessions = true;
      return true;
    case kListen:
      options.listen = value;
      return true;
    case kRanksPerNode:
      return parse_number(value, options.ranks_per_node);
    case kRing:
      options.ring = value;
      return true;
    case kBroadcasts: {
      std::istringstream text(value);
      options.selection = routing::read_selection(text);
      return !text.fail();
    }
    case kNodeCommand:
      options.node_command = value;
      return true;
    case kMember:
      options.member = value;
      return true;
    case kRefusal:
      options.refusal = value;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string parse_node_options(int argc, char** argv, NodeOptions& options) {
  optind = 1;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "+", kOptions, nullptr)) != -1;)
    if (!take_option(option, optarg, options))
      return std::string("cannot understand the option before ") +
             (optind < argc ? argv[optind] : "the end of the command line");
  options.command.assign(argv + optind, argv + argc);
  options.command.push_back(nullptr);
  if (!options.member.empty()) {  // what nobody else shall see does not stand on a command line
    const char* join = getenv(node::kJoinVariable);
    const char* secret = getenv(node::kSecretVariable);
    if (join == nullptr || secret == nullptr) return "the environment does not say which job this node belongs to";
    options.join = join;
    options.secret = secret;
  } else if (options.command.size() < 2)
    return "no command to start the ranks with";
  if (!options.refusal.empty()) return "";
  if (!options.node_command.empty()) return options.rank_count == 0 ? "--ranks must be at least 1" : "";
  if (options.rank_count == 0 || options.slot_count == 0) return "--ranks and --slots must be at least 1";
  if (options.spill_directories.empty()) return "--spill-dir is missing";
  return "";
}

std::string node_command_of(const NodeOptions& options, const std::string& own_program) {
  if (!options.node_command.empty()) return options.node_command;
  std::string words = own_program + "\n";
  const auto add = [&](const char* name, const std::string& value) {
    words += std::string(name) + "\n" + value + "\n";
  };
  add("--ranks", std::to_string(options.rank_count));
  add("--slots", std::to_string(options.slot_count));
  add("--memory", std::to_string(options.budget_bytes));
  add("--spill-dir", options.spill_directories);
  add("--cpus", std::to_string(options.cpu_count));
  for (const auto& [name, value] : kStrategies)
    if (value == options.strategy) add("--strategy", name);
  if (!options.keeps_checksums) words += "--no-checksums\n";
  if (options.detects_deadlock) words += "--detect-deadlock\n";
  return words;
}

}  // namespace spillway::launch

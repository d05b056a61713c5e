#include "launch/failure.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <span>
#include <sstream>
#include <string_view>

namespace spillway::launch {
namespace {

struct Advice {
  int signal_number;
  const char* cause;
  const char* remedy;
};

constexpr Advice kAdvice[] = {
    {SIGKILL, "something outside the program ended it: often the kernel, for want of memory",
     "look for an out-of-memory kill (dmesg, or memory.events of the cgroup); if so, run with a smaller --memory"},
    {SIGSEGV, "the program used memory that is not its own",
     "find the place with a debugger (ulimit -c unlimited, then gdb on the core) or -fsanitize=address on few ranks"},
    {SIGBUS, "the program used a mapped file beyond its end, or storage behind its memory failed",
     "check that the spill directory's disk is neither full nor failing, and that no input file was cut short"},
    {SIGABRT, "the program gave up: a failed assertion, an uncaught exception or a damaged heap",
     "see what the program wrote above; if nothing, find the place with a debugger"},
    {SIGFPE, "the program divided by zero, or another trapped arithmetic error", "find the place with a debugger"},
    {SIGILL, "the program met an instruction that this processor does not have",
     "compile it for this processor (without -march=native of another machine)"},
    {SIGXCPU, "the limit on processor time was reached", "raise it (ulimit -t)"},
    {SIGPIPE, "it wrote to a pipe or socket that nobody reads any more: its output, if the MPI launcher has ended",
     "see why the reader ended"},
    {SIGTERM, "somebody asked it to end", "if a batch system did, ask that for more time or memory"},
};

constexpr Advice kInterruptions[] = {
    {SIGINT, "somebody pressed ^C, or sent the signal to `spillway`", "start the job again when it may run to its end"},
    {SIGTERM, "somebody asked `spillway` to end: a user (kill), `timeout`, or a batch system whose limit was reached",
     "if a batch system did, ask that for more time or memory"},
    {SIGHUP, "the terminal that the job was started from is gone",
     "start it with nohup, in tmux, or as a job of a batch system"},
    {SIGPIPE, "whoever read the job's output has ended", "write the output to a file, and read that"},
};

void advise(Failure& failure, std::span<const Advice> table, int signal_number) {
  for (const Advice& advice : table)
    if (advice.signal_number == signal_number) {
      failure.cause = advice.cause;
      failure.remedy = advice.remedy;
    }
}

}  // namespace

std::string signal_text(int number) {
  const char* name = strsignal(number);
  return "signal " + std::to_string(number) + " (" + (name != nullptr ? name : "unknown") + ")";
}

Failure failure_of_exit(int wait_status, Finalize finalize) {
  Failure failure;
  const bool is_over = finalize == Finalize::over;
  const std::string when = is_over ? " after MPI_Finalize" : finalize == Finalize::called ? " in MPI_Finalize" : "";
  if (WIFSIGNALED(wait_status)) {
    failure.what = "was killed by " + signal_text(WTERMSIG(wait_status)) + when;
    failure.exit_status = 128 + WTERMSIG(wait_status);
    failure.cause = "the signal was sent by the program itself, by a user or by the system";
    failure.remedy = "find out who sends it; start the program alone to see whether it comes again";
    advise(failure, kAdvice, WTERMSIG(wait_status));
    failure.may_be_of_launcher = WTERMSIG(wait_status) == SIGPIPE;
    return failure;
  }
  failure.exit_status = WEXITSTATUS(wait_status);
  failure.what = "exited with status " + std::to_string(failure.exit_status) + when;
  failure.cause = is_over ? "the program reports an error by its exit status"
                          : "the program gave up before MPI_Finalize was over, while other ranks may wait for it";
  failure.remedy = "see what the program wrote above; if nothing, start it alone or with a debugger";
  return failure;
}

namespace {

// How a rank's own message says them, in this order (base::fatal).
constexpr std::string_view kCauseMark = "\n  Cause:  ";
constexpr std::string_view kRemedyMark = "\n  Remedy: ";

// Moves what follows the mark, without the full stop at its end, to `part`.
void take_part(std::string& text, std::string_view mark, std::string& part) {
  const size_t begin = text.find(mark);
  if (begin == std::string::npos) return;
  part = text.substr(begin + mark.size());
  if (!part.empty() && part.back() == '.') part.pop_back();
  text.resize(begin);
}

}  // namespace

Failure failure_of_missing_init() {
  Failure failure;
  failure.what = "exited without calling MPI_Init, which other ranks have called";
  failure.cause = "those ranks would wait for it for ever";
  failure.remedy = "let every rank call MPI_Init (or begin a session), or none";
  return failure;
}

Failure failure_of_missing_finalize() {
  Failure failure;
  failure.what = "exited without calling MPI_Finalize";
  failure.cause = "other ranks may wait for it for ever; status 0 would hide an incomplete result";
  failure.remedy =
      "call MPI_Finalize before the program ends (end all sessions), or MPI_Abort to end all ranks at once";
  return failure;
}

Failure failure_of_fatal(const std::string& text, int wait_status) {
  Failure failure;
  failure.cause = "the library that `spillway run` puts into each rank could not go on";
  failure.remedy = "see whether this machine or user is at a limit (`ulimit -a`, `dmesg`); else report this message";
  std::string what = text;
  take_part(what, kRemedyMark, failure.remedy);
  take_part(what, kCauseMark, failure.cause);
  failure.what = what;
  if (text.find("MPI_Abort") != std::string::npos) {
    failure.cause = "the program ends all of its ranks so when it meets an error";
    failure.remedy = "see what the program wrote above; if nothing, look for its calls of MPI_Abort";
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) != 0) failure.exit_status = WEXITSTATUS(wait_status);
  return failure;
}

Failure failure_of_unsuitable_host(const std::string& host, const std::string& why) {
  return failure_of_fatal("host " + host + " cannot take part\n  Cause:  " + why, 0);
}

Failure failure_of_lost_library() {
  Failure failure = failure_of_missing_finalize();
  failure.what = "left MPI without calling MPI_Finalize";
  failure.cause = "its process ended or replaced itself by another program (exec), while other ranks may wait for it";
  return failure;
}

Failure failure_of_lost_parent() {
  Failure failure;
  failure.what = "lost its parent process, spillway-rank";
  failure.cause = "somebody killed it (a rank does not outlive its parent), or the MPI launcher ended the rank";
  failure.remedy = "send signals to `spillway`, which passes them on to every rank";
  failure.may_be_of_launcher = true;
  return failure;
}

Failure failure_of_mpi_launcher(const std::string& name, int wait_status, bool any_rank_started) {
  Failure failure;
  failure.what = "the MPI launcher " + name;
  if (WIFSIGNALED(wait_status)) {
    failure.what += " was killed by " + signal_text(WTERMSIG(wait_status));
    failure.exit_status = 128 + WTERMSIG(wait_status);
  } else {
    failure.what += " ended early with status " + std::to_string(WEXITSTATUS(wait_status));
    if (WEXITSTATUS(wait_status) != 0) failure.exit_status = WEXITSTATUS(wait_status);
  }
  failure.cause = any_rank_started ? "it ended before the ranks did" : "it could not start the ranks";
  failure.remedy = "`spillway run --dry-run` shows its command, to be tried by hand";
  failure.may_be_of_launcher = true;
  return failure;
}

Failure failure_of_interrupt(int signal_number) {
  Failure failure;
  failure.what = "the job was ended by " + signal_text(signal_number);
  failure.cause = "somebody sent the signal to `spillway`, which passed it on to every rank";
  failure.remedy = "find out who sends it";
  advise(failure, kInterruptions, signal_number);
  failure.exit_status = 128 + signal_number;
  return failure;
}

void quote_launcher(Failure& failure, const std::string& own_errors) {
  if (!failure.may_be_of_launcher || own_errors.empty()) return;
  failure.cause += ". The MPI launcher's own words:";
  std::istringstream lines(own_errors);
  for (std::string line; std::getline(lines, line);) failure.cause += "\n    " + line;
  if (own_errors.find("stdin") != std::string::npos)
    failure.remedy =
        "let the program read a file: MPICH's launcher gives up when rank 0 leaves its standard input unread";
}

std::string text_of_endless(const std::vector<Endless>& processes) {
  std::string text;
  for (const auto& [process, state] : processes) {
    text += (text.empty() ? "process " : "; process ") + std::to_string(process) + " does not end: ";
    text += state == 'D' ? "it waits for a device or file system that does not answer (state D in ps)"
                         : std::string("it was killed, and is in state ") + state + " (ps)";
  }
  return text;
}

std::string text_of_silent_hosts(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) names += (names.empty() ? "" : ", ") + host;
  return "spillway: all ranks have ended well, but the node agent (spillway-node) did not answer at the end: host " +
         names +
         "\n"
         "  Cause:  the machine went down, its network was cut, or somebody stopped the agent (SIGSTOP).\n"
         "  Effect: the summary may lack what the host's ranks did last, and files of the MPI library may be left in "
         "its /dev/shm.\n"
         "  Remedy: see whether the host can be reached, and what is in its /dev/shm.\n";
}

std::string headline(const Failure& failure) {
  if (failure.world_rank < 0) return failure.what;
  std::string text = "rank " + std::to_string(failure.world_rank) + " on host " + failure.host;
  if (failure.pid > 0) text += " (process " + std::to_string(failure.pid) + ")";
  return text + " " + failure.what;
}

std::string describe(const Failure& failure) {
  std::string text = "spillway: " + headline(failure) + "\n";
  if (!failure.cause.empty()) text += "  Cause:  " + failure.cause + ".\n";
  if (!failure.remedy.empty()) text += "  Remedy: " + failure.remedy + ".\n";
  return text;
}

}  // namespace spillway::launch

// The functions of mpid.h: the state of the process, and what becomes of errors.
#include <spillway/mpid.h>

#include <climits>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "compression/codec.h"
#include "compression/open_files.h"
#include "compression/output_parts.h"
#include "keyvalue/configuration.h"
#include "keyvalue/control_connection.h"
#include "keyvalue/failure.h"
#include "keyvalue/job.h"
#include "keyvalue/number_combiners.h"
#include "keyvalue/record_batch.h"
#include "mpi_program/end_of_job.h"
#include "shuffle/program_error.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

struct MPI_D_Side {
  bool is_o;
};

namespace spillway::keyvalue {
namespace {

constexpr MPI_D_Side kSideO{true};
constexpr MPI_D_Side kSideA{false};

Job* job = nullptr;  // a program that exits without MPI_D_Finalize() leaves it: MPI may be gone by then
std::unique_ptr<ReceivedBatch> received_batch;
bool has_finished = false;
bool finalizes_mpi = false;
bool returns_errors = false;
std::string last_error;
int last_code = MPI_SUCCESS;
mpi_program::EndOfJob end_of_job("mpid");

// Right before the process ends, as others of its threads may still write.
void drop_output() {
  compression::drop_parts();
  compression::drop_open_files();
}

// Of a spill file, below which nobody knows of MPI, and of other threads. They end the process, and so the job.
bool tell(const char* message) {
  std::string text = message;
  for (size_t at = 0; (at = text.find("--spill-dir", at)) != std::string::npos;)
    text.replace(at, std::string_view("--spill-dir").size(), MPI_D_SPILL_DIR);
  end_of_job.tell(text);
  drop_output();
  return true;
}

// Another start of the job would not help. From any thread.
void tell_over() {
  try {
    if (job != nullptr) return job->tell_over();
    ControlConnection::tell_over_without_job();
  } catch (const Failure&) {  // mpidrun may be gone
  }
}

[[noreturn]] void end_job(std::string_view cause, bool is_for_good = false) {
  std::fflush(nullptr);
  end_of_job.tell(cause);
  if (is_for_good) tell_over();  // which may take its time
  drop_output();
  end_of_job.abort();
}

[[noreturn]] void end_job_for_good(std::string_view cause) { end_job(cause, true); }

// Where nothing is in the middle of something.
bool is_survived(int code) {
  return returns_errors && code != MPI_D_ERR_CHECKPOINT && (code != MPI_D_ERR_CONTROL || job == nullptr);
}

// Runs a function's body; what it throws becomes its code.
template <typename Body>
int answer(Body body) {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const Failure& failure) {
    if (!is_survived(failure.code())) {
      if (failure.code() == MPI_D_ERR_CONTROL) end_job(failure.what());
      end_job_for_good(failure.what());
    }
    if (failure.code() == MPI_D_ERR_CONF && job == nullptr) tell_over();  // the program may end by itself
    last_error = failure.what();
    return last_code = failure.code();
  } catch (const spillway::shuffle::ProgramError& error) {  // in the middle of something, too
    end_job_for_good(error.what());
  } catch (const std::bad_alloc&) {
    end_job("not enough memory\n  Remedy: use more processes, more memory, or a smaller MPI_D_MEMORY.");
  } catch (const std::exception& error) {
    end_job(error.what());
  }
}

Job& running_job() {
  if (job != nullptr) return *job;
  throw Failure(MPI_D_ERR_STATE, has_finished ? "called after MPI_D_Finalize()" : "called before MPI_D_Init()",
                "call it between the two");
}

[[noreturn]] void refuse_side(const char* function, const char* side) {
  throw Failure(MPI_D_ERR_COMM, std::string(function) + " is for " + side + " tasks",
                "look at COMM_BIPARTITE_O and COMM_BIPARTITE_A, which of them is not MPI_D_COMM_NULL");
}

bool is_current(const Job& running, MPI_D_Comm comm) {
  return (comm == &kSideO && running.side() == Job::Side::o) || (comm == &kSideA && running.side() == Job::Side::a);
}

int task_count_of_side() {
  switch (job->side()) {
    case Job::Side::o:
      return job->placement().o_tasks();
    case Job::Side::a:
      return job->placement().a_tasks();
    default:
      return INT_MAX;
  }
}

void init(int* argc, char*** argv, MPI_D_Mode mode, const MPI_D_Entry* conf) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (!is_initialized) {
    int provided = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    finalizes_mpi = true;
  }
  end_of_job.learn_place();
  base::set_fatal_sink(tell);
  spillway::shuffle::set_before_end_of_process(tell_over);
  if (job != nullptr || has_finished) throw Failure(MPI_D_ERR_STATE, "MPI_D_Init() called twice", "call it once");
  const Configuration configuration = read_configuration(conf);
  compression::set_part_codec(configuration.output_codec);
  job = Job::make(mode, configuration).release();
  const bool keeps_tasks = !configuration.checkpoint_directory.empty();
  compression::begin_parts(keeps_tasks, task_count_of_side);
}

}  // namespace
}  // namespace spillway::keyvalue

using namespace spillway::keyvalue;

extern "C" {

SPILLWAY_EXPORT MPI_D_Comm MPI_D_Comm_bipartite_o(void) {
  return job != nullptr && job->side() == Job::Side::o ? &kSideO : MPI_D_COMM_NULL;
}

SPILLWAY_EXPORT MPI_D_Comm MPI_D_Comm_bipartite_a(void) {
  return job != nullptr && job->side() == Job::Side::a ? &kSideA : MPI_D_COMM_NULL;
}

SPILLWAY_EXPORT int MPI_D_Init(int* argc, char*** argv, MPI_D_Mode mode, const MPI_D_Entry* conf) {
  return answer([&] { init(argc, argv, mode, conf); });
}

SPILLWAY_EXPORT int MPI_D_Finalize(void) {
  return answer([&] {
    running_job().finish();
    received_batch.reset();
    delete std::exchange(job, nullptr);
    has_finished = true;
    if (finalizes_mpi) MPI_Finalize();
  });
}

SPILLWAY_EXPORT int MPI_D_Comm_rank(MPI_D_Comm comm, int* rank) {
  return answer([&] {
    const Job& running = running_job();
    if (!is_current(running, comm))
      throw Failure(MPI_D_ERR_COMM, "MPI_D_Comm_rank(): the current task is not of that side");
    *rank = running.task();
  });
}

SPILLWAY_EXPORT int MPI_D_Comm_size(MPI_D_Comm comm, int* size) {
  return answer([&] {
    const Job& running = running_job();
    if (comm != &kSideO && comm != &kSideA)
      throw Failure(MPI_D_ERR_COMM, "MPI_D_Comm_size(): neither COMM_BIPARTITE_O nor COMM_BIPARTITE_A");
    *size = comm == &kSideO ? running.placement().o_tasks() : running.placement().a_tasks();
  });
}

SPILLWAY_EXPORT int MPI_D_Is_nearest(int part) {
  bool is_nearest = false;
  answer([&] { is_nearest = running_job().is_nearest(part); });
  return is_nearest ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Allgather(MPI_D_Bytes* bytes) {
  return answer([&] { running_job().all_gather(*bytes); });
}

SPILLWAY_EXPORT int MPI_D_Next_task(void) {
  bool has_task = false;
  answer([&] { has_task = running_job().next_task(); });
  return has_task ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Send(const void* key, const void* value) {
  return answer([&] {
    Job& running = running_job();
    if (!running.may_send()) refuse_side("MPI_D_Send()", "O");
    running.send(key, value);
  });
}

SPILLWAY_EXPORT int MPI_D_Recv(const void** key, const void** value) {
  return answer([&] {
    Job& running = running_job();
    if (!running.may_receive()) refuse_side("MPI_D_Recv()", "A");
    if (!running.receive(*key, *value)) *key = *value = nullptr;
  });
}

SPILLWAY_EXPORT int MPI_D_Is_driver(void) {
  bool is_driver = false;
  answer([&] { is_driver = running_job().is_driver(); });
  return is_driver ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Next_round(int goes_on) {
  bool has_round = false;
  answer([&] { has_round = running_job().next_round(goes_on != 0); });
  return has_round ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Round(int* round) {
  return answer([&] { *round = running_job().round(); });
}

SPILLWAY_EXPORT int MPI_D_Send_to_driver(const void* key, const void* value) {
  return answer([&] { running_job().send_to_driver(key, value); });
}

SPILLWAY_EXPORT int MPI_D_Bcast(MPI_D_Bytes* bytes) {
  return answer([&] { running_job().broadcast(*bytes); });
}

SPILLWAY_EXPORT int MPI_D_Flush(void) {
  return answer([&] { running_job().flush(); });
}

SPILLWAY_EXPORT int MPI_D_End_window(void) {
  return answer([&] { running_job().end_window(); });
}

SPILLWAY_EXPORT int MPI_D_Next_window(void) {
  bool has_window = false;
  answer([&] { has_window = running_job().next_window(); });
  return has_window ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Send_batch(size_t count, const MPI_D_Column* keys, const MPI_D_Column* values) {
  return answer([&] {
    Job& running = running_job();
    if (!running.may_send()) refuse_side("MPI_D_Send_batch()", "O");
    send_batch(running, &Job::send, count, *keys, *values);
  });
}

SPILLWAY_EXPORT int MPI_D_Send_batch_to_driver(size_t count, const MPI_D_Column* keys, const MPI_D_Column* values) {
  return answer([&] { send_batch(running_job(), &Job::send_to_driver, count, *keys, *values); });
}

SPILLWAY_EXPORT int MPI_D_Recv_batch(size_t most, size_t* count, MPI_D_Column* keys, MPI_D_Column* values) {
  return answer([&] {
    Job& running = running_job();
    if (!running.may_receive()) refuse_side("MPI_D_Recv_batch()", "A");
    if (!received_batch) received_batch = std::make_unique<ReceivedBatch>(running.configuration());
    *count = received_batch->receive(running, most);
    *keys = received_batch->keys();
    *values = received_batch->values();
  });
}

SPILLWAY_EXPORT int MPI_D_Set_compare(MPI_D_Compare_function compare, void* user) {
  return answer([&] { running_job().set_compare(compare, user); });
}

SPILLWAY_EXPORT int MPI_D_Set_partition(MPI_D_Partition_function partition, void* user) {
  return answer([&] { running_job().set_partition(partition, user); });
}

SPILLWAY_EXPORT int MPI_D_Set_combine(MPI_D_Combine_function combine, void* user) {
  return answer([&] { running_job().set_combine(combine, user); });
}

SPILLWAY_EXPORT int MPI_D_Set_combine_op(MPI_D_Op op) {
  return answer([&] {
    Job& running = running_job();
    running.set_combine(number_combiner(running.configuration().value_class, op), nullptr,
                        spillway::shuffle::Combiner::Owner::library);
  });
}

SPILLWAY_EXPORT int MPI_D_Set_errhandler(MPI_D_Errhandler handler) {
  returns_errors = handler == MPI_D_ERRORS_RETURN;
  return MPI_SUCCESS;
}

SPILLWAY_EXPORT const char* MPI_D_Error_string(int code) {
  if (code == last_code && code != MPI_SUCCESS) return last_error.c_str();
  switch (code) {
    case MPI_SUCCESS:
      return "no error";
    case MPI_D_ERR_CONF:
      return "a wrong configuration";
    case MPI_D_ERR_STATE:
      return "called too early or too late";
    case MPI_D_ERR_COMM:
      return "the current task is not of that side";
    case MPI_D_ERR_PARTITION:
      return "the partition function named no A task, or two of them";
    case MPI_D_ERR_CONTROL:
      return "mpidrun cannot be reached";
    case MPI_D_ERR_MODE:
      return "the function is of another mode";
    case MPI_D_ERR_CHECKPOINT:
      return "the checkpoint cannot be written or read, or is of another job";
    case MPI_D_ERR_BATCH:
      return "columns that are no records of the job's classes";
    default:
      return "not a code of this library";
  }
}

SPILLWAY_EXPORT void MPI_D_Fail(const char* cause) { end_job(spillway::shuffle::current_work() + cause); }

SPILLWAY_EXPORT void MPI_D_Fail_for_good(const char* cause) {
  end_job_for_good(spillway::shuffle::current_work() + cause);
}

}  // extern "C"

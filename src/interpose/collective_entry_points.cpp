// Entry points of the collective operations (MPI 4.1, chapter 6): blocking, nonblocking and persistent. What is none of
// Spillway's, as on intercommunicators, the MPI library carries out.
#include "interpose/collective_plan.h"
#include "interpose/entry.h"

namespace spillway::interpose {
namespace {

// Of those that Spillway knows.
bool is_intracommunicator(Runtime& runtime, MPI_Comm comm) {
  const mpi::CallLock lock;
  const CommunicatorRef known = runtime.communicators.find(comm);
  return known != nullptr && !known->is_inter;
}

int check_all(const Communicator& comm, const Plan& plan) {
  if (const int error = check(comm, plan); error != MPI_SUCCESS) return error;
  return plan.op ? mpi::check_operation(*plan.op, plan.type) : MPI_SUCCESS;
}

// Calls ours(runtime, communicator), or the library's.
template <typename Ours, typename Library>
int blocking_entry(const char* function, MPI_Comm comm, Ours ours, Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  if (!is_intracommunicator(*runtime, comm)) {
    DelegatedCollective call(function, comm);
    return library();
  }
  return dispatch_on(
      comm, [](const Communicator&) { return MPI_SUCCESS; },
      [&](Runtime& r, const CommunicatorRef& c) { return ours(r, *c); }, library);
}

template <typename MakePlan, typename Library>
int planned_entry(const char* function, MPI_Comm comm, MakePlan make_plan, Library library) {
  const auto ours = [&](Runtime& r, const Communicator& c) {
    const Plan plan = make_plan(Planner{c, Lifetime::call});
    if (const int error = check_all(c, plan); error != MPI_SUCCESS) return mpi::raise(comm, error);
    return collective::run(c, plan.begin(r, c));
  };
  return blocking_entry(function, comm, ours, library);
}

enum class Kind { nonblocking, persistent };

// A new request of ours, or nullptr where the operation is the library's. `error` says what is wrong with the
// arguments.
template <typename MakePlan>
mpi::Request* request_of_ours(Runtime& runtime, Kind kind, const CommunicatorRef& comm, MakePlan make_plan,
                              int& error) {
  const Plan plan = make_plan(Planner{*comm, Lifetime::plan});
  error = check_all(*comm, plan);
  if (error != MPI_SUCCESS || !plan.can_be_nonblocking) return nullptr;
  mpi::Request& made = runtime.requests.create();
  made.kind = mpi::Request::Kind::collective;
  made.is_active = false;
  made.communicator = comm;
  const auto lane = kind == Kind::persistent ? comm->for_persistent() : comm->for_nonblocking();
  made.is_persistent = kind == Kind::persistent;
  made.begin = [&runtime, lane, begin = plan.begin] { return std::make_unique<Operation>(begin(runtime, *lane)); };
  return &made;
}

template <typename MakePlan, typename Library>
int request_entry(Kind kind, const char* function, MPI_Comm comm, MakePlan make_plan, MPI_Request* request,
                  Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  const auto delegate = [&] {
    DelegatedRequest call(function);
    const int code = library();
    kind == Kind::persistent ? call.prepared(code, request) : call.started(code, request);
    return code;
  };
  if (!is_intracommunicator(*runtime, comm)) return delegate();
  bool is_ours = true;
  const int code = dispatch_on(
      comm, [](const Communicator&) { return MPI_SUCCESS; },
      [&](Runtime& r, const CommunicatorRef& c) {
        int error = MPI_SUCCESS;
        mpi::Request* made = request_of_ours(r, kind, c, make_plan, error);
        if (error != MPI_SUCCESS) return mpi::raise(comm, error);
        is_ours = made != nullptr;
        if (!is_ours) return MPI_SUCCESS;
        if (kind == Kind::nonblocking) mpi::start(r, *made);
        *request = made->handle;
        return MPI_SUCCESS;
      },
      library);
  return is_ours ? code : delegate();
}

}  // namespace
}  // namespace spillway::interpose

using namespace spillway::interpose;
namespace collective = spillway::collective;

#define SPILLWAY_LIST(...) __VA_ARGS__

// PARAMETERS and ARGUMENTS of all forms: those of the blocking one without the communicator, in parentheses and with a
// comma at the end. PLAN: the call of a Planner's function.
#define DEFINE_NONBLOCKING(NAME, S, PARAMETERS, ARGUMENTS, PLAN)                                              \
  SPILLWAY_ENTRY int MPI_##NAME##S(SPILLWAY_LIST PARAMETERS MPI_Comm comm, MPI_Request* request) {            \
    return request_entry(                                                                                     \
        Kind::nonblocking, "MPI_" #NAME, comm, [&](const Planner& planner) { return planner.PLAN; }, request, \
        [&] { return PMPI_##NAME##S(SPILLWAY_LIST ARGUMENTS comm, request); });                               \
  }
#ifdef PMPI_Barrier_init
#define DEFINE_PERSISTENT(NAME, S, PARAMETERS, ARGUMENTS, PLAN)                                                      \
  SPILLWAY_ENTRY int MPI_##NAME##_init##S(SPILLWAY_LIST PARAMETERS MPI_Comm comm, MPI_Info info,                     \
                                          MPI_Request* request) {                                                    \
    return request_entry(                                                                                            \
        Kind::persistent, "MPI_" #NAME "_init", comm, [&](const Planner& planner) { return planner.PLAN; }, request, \
        [&] { return PMPI_##NAME##_init##S(SPILLWAY_LIST ARGUMENTS comm, info, request); });                         \
  }
#else
#define DEFINE_PERSISTENT(NAME, S, PARAMETERS, ARGUMENTS, PLAN)
#endif
#define DEFINE_BLOCKING(NAME, S, PARAMETERS, ARGUMENTS, PLAN)                     \
  SPILLWAY_ENTRY int MPI_##NAME##S(SPILLWAY_LIST PARAMETERS MPI_Comm comm) {      \
    return planned_entry(                                                         \
        "MPI_" #NAME, comm, [&](const Planner& planner) { return planner.PLAN; }, \
        [&] { return PMPI_##NAME##S(SPILLWAY_LIST ARGUMENTS comm); });            \
  }
#define DEFINE_REQUESTS(NAME, I_NAME, S, PARAMETERS, ARGUMENTS, PLAN) \
  DEFINE_NONBLOCKING(I_NAME, S, PARAMETERS, ARGUMENTS, PLAN)          \
  DEFINE_PERSISTENT(NAME, S, PARAMETERS, ARGUMENTS, PLAN)
#define DEFINE_ALL_FORMS(NAME, I_NAME, S, PARAMETERS, ARGUMENTS, PLAN) \
  DEFINE_BLOCKING(NAME, S, PARAMETERS, ARGUMENTS, PLAN)                \
  DEFINE_REQUESTS(NAME, I_NAME, S, PARAMETERS, ARGUMENTS, PLAN)

SPILLWAY_ENTRY int MPI_Op_free(MPI_Op* op) {
  const auto library = [&] { return PMPI_Op_free(op); };
  return dispatch(
      [&](Runtime& r) {
        if (op == nullptr || !r.held_operations.free_later(*op)) return library();
        *op = MPI_OP_NULL;
        return MPI_SUCCESS;
      },
      library);
}

SPILLWAY_ENTRY int MPI_Barrier(MPI_Comm comm) {
  return blocking_entry(
      "MPI_Barrier", comm, [](Runtime& r, const Communicator& c) { return collective::barrier(r, c); },
      [&] { return PMPI_Barrier(comm); });
}
DEFINE_REQUESTS(Barrier, Ibarrier, , (), (), barrier())

#define DEFINE_MOVEMENTS(S, COUNT, DISPL)                                                                              \
  DEFINE_ALL_FORMS(Bcast, Ibcast, S, (void* buf, COUNT count, MPI_Datatype type, int root, ),                          \
                   (buf, count, type, root, ), bcast(buf, count, type, root))                                          \
  DEFINE_ALL_FORMS(Gather, Igather, S,                                                                                 \
                   (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count,                  \
                    MPI_Datatype out_type, int root, ),                                                                \
                   (in, in_count, in_type, out, out_count, out_type, root, ),                                          \
                   gather(in, in_count, in_type, out, out_count, out_type, root))                                      \
  DEFINE_ALL_FORMS(Gatherv, Igatherv, S,                                                                               \
                   (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, const COUNT counts[],             \
                    const DISPL displs[], MPI_Datatype out_type, int root, ),                                          \
                   (in, in_count, in_type, out, counts, displs, out_type, root, ),                                     \
                   gatherv(in, in_count, in_type, out, counts, displs, out_type, root))                                \
  DEFINE_ALL_FORMS(Scatter, Iscatter, S,                                                                               \
                   (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count,                  \
                    MPI_Datatype out_type, int root, ),                                                                \
                   (in, in_count, in_type, out, out_count, out_type, root, ),                                          \
                   scatter(in, in_count, in_type, out, out_count, out_type, root))                                     \
  DEFINE_ALL_FORMS(Scatterv, Iscatterv, S,                                                                             \
                   (const void* in, const COUNT counts[], const DISPL displs[], MPI_Datatype in_type, void* out,       \
                    COUNT out_count, MPI_Datatype out_type, int root, ),                                               \
                   (in, counts, displs, in_type, out, out_count, out_type, root, ),                                    \
                   scatterv(in, counts, displs, in_type, out, out_count, out_type, root))                              \
  DEFINE_ALL_FORMS(                                                                                                    \
      Allgather, Iallgather, S,                                                                                        \
      (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count, MPI_Datatype out_type, ),     \
      (in, in_count, in_type, out, out_count, out_type, ), allgather(in, in_count, in_type, out, out_count, out_type)) \
  DEFINE_ALL_FORMS(Allgatherv, Iallgatherv, S,                                                                         \
                   (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, const COUNT counts[],             \
                    const DISPL displs[], MPI_Datatype out_type, ),                                                    \
                   (in, in_count, in_type, out, counts, displs, out_type, ),                                           \
                   allgatherv(in, in_count, in_type, out, counts, displs, out_type))                                   \
  DEFINE_ALL_FORMS(                                                                                                    \
      Alltoall, Ialltoall, S,                                                                                          \
      (const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count, MPI_Datatype out_type, ),     \
      (in, in_count, in_type, out, out_count, out_type, ), alltoall(in, in_count, in_type, out, out_count, out_type))  \
  DEFINE_ALL_FORMS(Alltoallv, Ialltoallv, S,                                                                           \
                   (const void* in, const COUNT in_counts[], const DISPL in_displs[], MPI_Datatype in_type, void* out, \
                    const COUNT out_counts[], const DISPL out_displs[], MPI_Datatype out_type, ),                      \
                   (in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, ),                       \
                   alltoallv(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type))                \
  DEFINE_ALL_FORMS(Alltoallw, Ialltoallw, S,                                                                           \
                   (const void* in, const COUNT in_counts[], const DISPL in_displs[], const MPI_Datatype in_types[],   \
                    void* out, const COUNT out_counts[], const DISPL out_displs[], const MPI_Datatype out_types[], ),  \
                   (in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types, ),                     \
                   alltoallw(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types))
SPILLWAY_DEFINE_BOTH(DEFINE_MOVEMENTS)

// The blocking form is an algorithm of its own: OURS.
#define DEFINE_REDUCTION(NAME, I_NAME, S, PARAMETERS, ARGUMENTS, PLAN, OURS)                                       \
  SPILLWAY_ENTRY int MPI_##NAME##S(SPILLWAY_LIST PARAMETERS MPI_Comm comm) {                                       \
    const auto ours = [&](Runtime& r, const Communicator& c) {                                                     \
      const int error = check_all(c, Planner{c, Lifetime::call}.PLAN);                                             \
      return error != MPI_SUCCESS ? spillway::mpi::raise(comm, error) : collective::OURS;                          \
    };                                                                                                             \
    return blocking_entry("MPI_" #NAME, comm, ours, [&] { return PMPI_##NAME##S(SPILLWAY_LIST ARGUMENTS comm); }); \
  }                                                                                                                \
  DEFINE_REQUESTS(NAME, I_NAME, S, PARAMETERS, ARGUMENTS, PLAN)
#define DEFINE_REDUCTION_OF_ALL(NAME, I_NAME, S, COUNT_PARAMETER, PLAN, OURS)                                     \
  DEFINE_REDUCTION(NAME, I_NAME, S, (const void* in, void* out, COUNT_PARAMETER, MPI_Datatype type, MPI_Op op, ), \
                   (in, out, count, type, op, ), PLAN(in, out, count, type, op), OURS)

#define DEFINE_REDUCTIONS(S, COUNT, DISPL)                                                                   \
  DEFINE_REDUCTION(Reduce, Ireduce, S,                                                                       \
                   (const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op, int root, ),       \
                   (in, out, count, type, op, root, ), reduce(in, out, count, type, op, root),               \
                   reduce(r, c, input_buffer(in, count, type), out, op, root))                               \
  DEFINE_REDUCTION_OF_ALL(Allreduce, Iallreduce, S, COUNT count, allreduce,                                  \
                          allreduce(r, c, input_buffer(in, count, type), out, op))                           \
  DEFINE_REDUCTION_OF_ALL(Scan, Iscan, S, COUNT count, scan,                                                 \
                          scan(r, c, input_buffer(in, count, type), out, op, false))                         \
  DEFINE_REDUCTION_OF_ALL(Exscan, Iexscan, S, COUNT count, exscan,                                           \
                          scan(r, c, input_buffer(in, count, type), out, op, true))                          \
  DEFINE_REDUCTION_OF_ALL(Reduce_scatter, Ireduce_scatter, S, const COUNT count[], reduce_scatter,           \
                          reduce_scatter(r, c, in, out, count, type, op))                                    \
  DEFINE_REDUCTION_OF_ALL(Reduce_scatter_block, Ireduce_scatter_block, S, COUNT count, reduce_scatter_block, \
                          reduce_scatter(r, c, in, out, Numbers::same(count, c.size), type, op))
SPILLWAY_DEFINE_BOTH(DEFINE_REDUCTIONS)

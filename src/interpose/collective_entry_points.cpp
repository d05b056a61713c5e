// Entry points of the blocking collective operations (MPI 4.1, chapter 6). On intercommunicators the MPI library
// carries them out.
#include "collective/collective.h"
#include "interpose/entry.h"

namespace spillway::interpose {
namespace {

using collective::PartedBuffer;
using collective::regular_part;
using mpi::Communicator;

constexpr int kNoRoot = 0;

// Of those that Spillway knows.
bool is_intracommunicator(Runtime& runtime, MPI_Comm comm) {
  const mpi::CallLock lock;
  const CommunicatorRef known = runtime.communicators.find(comm);
  return known != nullptr && !known->is_inter;
}

// Checks that are the same for all, then ours or the library's.
template <typename Ours, typename Library>
int collective_entry(const char* function, MPI_Comm comm, int root, MPI_Datatype type, int64_t count, Ours ours,
                     Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  if (!is_intracommunicator(*runtime, comm)) {
    DelegatedCollective call(function, comm);
    return library();
  }
  const auto check = [&](const Communicator& c) {
    if (count < 0) return static_cast<int>(MPI_ERR_COUNT);
    if (type == MPI_DATATYPE_NULL) return static_cast<int>(MPI_ERR_TYPE);
    return mpi::check_root(c, root);
  };
  return dispatch_on(
      comm, check, [&](Runtime& r, const CommunicatorRef& c) { return ours(r, *c); }, library);
}

template <typename Ours, typename Library>
int reduction_entry(const char* function, MPI_Comm comm, int root, MPI_Datatype type, int64_t count, MPI_Op op,
                    Ours ours, Library library) {
  const auto with_op = [&](Runtime& r, const Communicator& c) {
    const int error = mpi::check_operation(op, type);
    return error != MPI_SUCCESS ? mpi::raise(comm, error) : ours(r, c);
  };
  return collective_entry(function, comm, root, type, count, with_op, library);
}

// MPI_IN_PLACE stands for the input where the standard has it: then the significant datatype and count are the
// output's.
bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

}  // namespace
}  // namespace spillway::interpose

using namespace spillway::interpose;
namespace collective = spillway::collective;

SPILLWAY_ENTRY int MPI_Barrier(MPI_Comm comm) {
  return collective_entry(
      "MPI_Barrier", comm, kNoRoot, MPI_BYTE, 0,
      [&](Runtime& r, const Communicator& c) { return collective::barrier(r, c); }, [&] { return PMPI_Barrier(comm); });
}

#define DEFINE_ROOTED(S, COUNT, DISPL)                                                                                 \
  SPILLWAY_ENTRY int MPI_Bcast##S(void* buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm) {                \
    return collective_entry(                                                                                           \
        "MPI_Bcast", comm, root, type, count,                                                                          \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::broadcast(r, c, {buf, count, type}, root);                                                \
        },                                                                                                             \
        [&] { return PMPI_Bcast##S(buf, count, type, root, comm); });                                                  \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Gather##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count,   \
                                   MPI_Datatype out_type, int root, MPI_Comm comm) {                                   \
    return collective_entry(                                                                                           \
        "MPI_Gather", comm, root, in_place(in) ? out_type : in_type, in_place(in) ? out_count : in_count,              \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const TypedBuffer first{out, out_count, out_type};                                                           \
          return collective::gather(                                                                                   \
              r, c, input_buffer(in, in_count, in_type), [&](int i) { return regular_part(first, i); }, root);         \
        },                                                                                                             \
        [&] { return PMPI_Gather##S(in, in_count, in_type, out, out_count, out_type, root, comm); });                  \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Gatherv##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out,                   \
                                    const COUNT counts[], const DISPL displs[], MPI_Datatype out_type, int root,       \
                                    MPI_Comm comm) {                                                                   \
    return collective_entry(                                                                                           \
        "MPI_Gatherv", comm, root, in_place(in) ? out_type : in_type, in_place(in) ? 0 : in_count,                     \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const PartedBuffer parts{out, counts, displs, out_type};                                                     \
          return collective::gather(                                                                                   \
              r, c, input_buffer(in, in_count, in_type), [&](int i) { return parts.part(i); }, root);                  \
        },                                                                                                             \
        [&] { return PMPI_Gatherv##S(in, in_count, in_type, out, counts, displs, out_type, root, comm); });            \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Scatter##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count,  \
                                    MPI_Datatype out_type, int root, MPI_Comm comm) {                                  \
    return collective_entry(                                                                                           \
        "MPI_Scatter", comm, root, in_place(out) ? in_type : out_type, in_place(out) ? in_count : out_count,           \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const TypedBuffer first = input_buffer(in, in_count, in_type);                                               \
          return collective::scatter(                                                                                  \
              r, c, [&](int i) { return regular_part(first, i); }, {out, out_count, out_type}, root);                  \
        },                                                                                                             \
        [&] { return PMPI_Scatter##S(in, in_count, in_type, out, out_count, out_type, root, comm); });                 \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Scatterv##S(const void* in, const COUNT counts[], const DISPL displs[], MPI_Datatype in_type, \
                                     void* out, COUNT out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {     \
    return collective_entry(                                                                                           \
        "MPI_Scatterv", comm, root, in_place(out) ? in_type : out_type, in_place(out) ? 0 : out_count,                 \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const PartedBuffer parts{const_cast<void*>(in), counts, displs, in_type};                                    \
          return collective::scatter(                                                                                  \
              r, c, [&](int i) { return parts.part(i); }, {out, out_count, out_type}, root);                           \
        },                                                                                                             \
        [&] { return PMPI_Scatterv##S(in, counts, displs, in_type, out, out_count, out_type, root, comm); });          \
  }
SPILLWAY_DEFINE_BOTH(DEFINE_ROOTED)

#define DEFINE_ALL(S, COUNT, DISPL)                                                                                    \
  SPILLWAY_ENTRY int MPI_Allgather##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out,                 \
                                      COUNT out_count, MPI_Datatype out_type, MPI_Comm comm) {                         \
    return collective_entry(                                                                                           \
        "MPI_Allgather", comm, kNoRoot, out_type, out_count,                                                           \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const TypedBuffer first{out, out_count, out_type};                                                           \
          return collective::allgather(r, c, input_buffer(in, in_count, in_type),                                      \
                                       [&](int i) { return regular_part(first, i); });                                 \
        },                                                                                                             \
        [&] { return PMPI_Allgather##S(in, in_count, in_type, out, out_count, out_type, comm); });                     \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Allgatherv##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out,                \
                                       const COUNT counts[], const DISPL displs[], MPI_Datatype out_type,              \
                                       MPI_Comm comm) {                                                                \
    return collective_entry(                                                                                           \
        "MPI_Allgatherv", comm, kNoRoot, out_type, 0,                                                                  \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const PartedBuffer parts{out, counts, displs, out_type};                                                     \
          return collective::allgather(r, c, input_buffer(in, in_count, in_type),                                      \
                                       [&](int i) { return parts.part(i); });                                          \
        },                                                                                                             \
        [&] { return PMPI_Allgatherv##S(in, in_count, in_type, out, counts, displs, out_type, comm); });               \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Alltoall##S(const void* in, COUNT in_count, MPI_Datatype in_type, void* out, COUNT out_count, \
                                     MPI_Datatype out_type, MPI_Comm comm) {                                           \
    return collective_entry(                                                                                           \
        "MPI_Alltoall", comm, kNoRoot, out_type, out_count,                                                            \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const TypedBuffer to{out, out_count, out_type};                                                              \
          const TypedBuffer from = in_place(in) ? to : input_buffer(in, in_count, in_type);                            \
          return collective::alltoall(                                                                                 \
              r, c, [&](int i) { return regular_part(from, i); }, [&](int i) { return regular_part(to, i); });         \
        },                                                                                                             \
        [&] { return PMPI_Alltoall##S(in, in_count, in_type, out, out_count, out_type, comm); });                      \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Alltoallv##S(const void* in, const COUNT in_counts[], const DISPL in_displs[],                \
                                      MPI_Datatype in_type, void* out, const COUNT out_counts[],                       \
                                      const DISPL out_displs[], MPI_Datatype out_type, MPI_Comm comm) {                \
    return collective_entry(                                                                                           \
        "MPI_Alltoallv", comm, kNoRoot, out_type, 0,                                                                   \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const PartedBuffer to{out, out_counts, out_displs, out_type};                                                \
          const PartedBuffer from =                                                                                    \
              in_place(in) ? to : PartedBuffer{const_cast<void*>(in), in_counts, in_displs, in_type};                  \
          return collective::alltoall(                                                                                 \
              r, c, [&](int i) { return from.part(i); }, [&](int i) { return to.part(i); });                           \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Alltoallv##S(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm);    \
        });                                                                                                            \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Alltoallw##S(const void* in, const COUNT in_counts[], const DISPL in_displs[],                \
                                      const MPI_Datatype in_types[], void* out, const COUNT out_counts[],              \
                                      const DISPL out_displs[], const MPI_Datatype out_types[], MPI_Comm comm) {       \
    return collective_entry(                                                                                           \
        "MPI_Alltoallw", comm, kNoRoot, MPI_BYTE, 0,                                                                   \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const auto to = [&](int i) {                                                                                 \
            return TypedBuffer{static_cast<char*>(out) + out_displs[i], out_counts[i], out_types[i]};                  \
          };                                                                                                           \
          const auto from = [&](int i) {                                                                               \
            return input_buffer(static_cast<const char*>(in) + in_displs[i], in_counts[i], in_types[i]);               \
          };                                                                                                           \
          return in_place(in) ? collective::alltoall(r, c, to, to) : collective::alltoall(r, c, from, to);             \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Alltoallw##S(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types, comm);  \
        });                                                                                                            \
  }
SPILLWAY_DEFINE_BOTH(DEFINE_ALL)

#define DEFINE_REDUCTIONS(S, COUNT, DISPL)                                                                             \
  SPILLWAY_ENTRY int MPI_Reduce##S(const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op, int root,     \
                                   MPI_Comm comm) {                                                                    \
    return reduction_entry(                                                                                            \
        "MPI_Reduce", comm, root, type, count, op,                                                                     \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::reduce(r, c, input_buffer(in, count, type), out, op, root);                               \
        },                                                                                                             \
        [&] { return PMPI_Reduce##S(in, out, count, type, op, root, comm); });                                         \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Allreduce##S(const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op,            \
                                      MPI_Comm comm) {                                                                 \
    return reduction_entry(                                                                                            \
        "MPI_Allreduce", comm, kNoRoot, type, count, op,                                                               \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::allreduce(r, c, input_buffer(in, count, type), out, op);                                  \
        },                                                                                                             \
        [&] { return PMPI_Allreduce##S(in, out, count, type, op, comm); });                                            \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Scan##S(const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op,                 \
                                 MPI_Comm comm) {                                                                      \
    return reduction_entry(                                                                                            \
        "MPI_Scan", comm, kNoRoot, type, count, op,                                                                    \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::scan(r, c, input_buffer(in, count, type), out, op, false);                                \
        },                                                                                                             \
        [&] { return PMPI_Scan##S(in, out, count, type, op, comm); });                                                 \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Exscan##S(const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op,               \
                                   MPI_Comm comm) {                                                                    \
    return reduction_entry(                                                                                            \
        "MPI_Exscan", comm, kNoRoot, type, count, op,                                                                  \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::scan(r, c, input_buffer(in, count, type), out, op, true);                                 \
        },                                                                                                             \
        [&] { return PMPI_Exscan##S(in, out, count, type, op, comm); });                                               \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Reduce_scatter##S(const void* in, void* out, const COUNT counts[], MPI_Datatype type,         \
                                           MPI_Op op, MPI_Comm comm) {                                                 \
    return reduction_entry(                                                                                            \
        "MPI_Reduce_scatter", comm, kNoRoot, type, 0, op,                                                              \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          return collective::reduce_scatter(r, c, in, out, counts, type, op);                                          \
        },                                                                                                             \
        [&] { return PMPI_Reduce_scatter##S(in, out, counts, type, op, comm); });                                      \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Reduce_scatter_block##S(const void* in, void* out, COUNT count, MPI_Datatype type, MPI_Op op, \
                                                 MPI_Comm comm) {                                                      \
    return reduction_entry(                                                                                            \
        "MPI_Reduce_scatter_block", comm, kNoRoot, type, count, op,                                                    \
        [&](Runtime& r, const Communicator& c) {                                                                       \
          const std::vector<COUNT> counts(static_cast<size_t>(c.size), count);                                         \
          return collective::reduce_scatter(r, c, in, out, counts.data(), type, op);                                   \
        },                                                                                                             \
        [&] { return PMPI_Reduce_scatter_block##S(in, out, count, type, op, comm); });                                 \
  }
SPILLWAY_DEFINE_BOTH(DEFINE_REDUCTIONS)

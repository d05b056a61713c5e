#include "interpose/collective_plan.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "collective/selection.h"
#include "mpi/arguments.h"
#include "mpi/datatype_contents.h"
#include "mpi/runtime.h"

namespace spillway::interpose {
namespace {

using collective::PartedBuffer;
using collective::regular_part;
using mpi::input_buffer;

bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

class KeptType {
 public:
  KeptType(Lifetime lifetime, MPI_Datatype type) : type_(type) {
    if (lifetime == Lifetime::call) return;
    hold_ = std::make_shared<const mpi::DatatypeHold>(type);
    type_ = hold_->type();
  }
  MPI_Datatype operator*() const { return type_; }

 private:
  std::shared_ptr<const mpi::DatatypeHold> hold_;
  MPI_Datatype type_;
};

// A buffer whose datatype lives as long as this. Of an insignificant one, which may be nonsense, only the address.
class Kept {
 public:
  Kept(Lifetime lifetime, const void* address, MPI_Count count, MPI_Datatype type, bool is_significant = true)
      : type_(is_significant ? lifetime : Lifetime::call, is_significant ? type : MPI_BYTE),
        buffer_(input_buffer(address, is_significant ? count : 0, *type_)) {}
  const TypedBuffer& operator*() const { return buffer_; }
  TypedBuffer part(int i) const { return regular_part(buffer_, i); }

 private:
  KeptType type_;
  TypedBuffer buffer_;
};

// The same with parts of different lengths.
class KeptParts {
 public:
  KeptParts(Lifetime lifetime, const void* address, Numbers counts, Numbers displacements, MPI_Datatype type,
            bool is_significant = true)
      : type_(is_significant ? lifetime : Lifetime::call, is_significant ? type : MPI_BYTE),
        parts_{const_cast<void*>(address), std::move(counts), std::move(displacements), *type_} {}
  TypedBuffer part(int i) const { return parts_.part(i); }

 private:
  KeptType type_;
  PartedBuffer parts_;
};

// The same with a datatype for each, and displacements in bytes.
class KeptTypedParts {
 public:
  KeptTypedParts(Lifetime lifetime, const void* address, Numbers counts, Numbers displacements,
                 const MPI_Datatype* types, int size)
      : address_(static_cast<const char*>(address)),
        counts_(std::move(counts)),
        displacements_(std::move(displacements)) {
    types_.reserve(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) types_.emplace_back(lifetime, types[i]);
  }
  TypedBuffer part(int i) const {
    return input_buffer(address_ + displacements_[i], counts_[i], *types_[static_cast<size_t>(i)]);
  }

 private:
  const char* address_;
  Numbers counts_;
  Numbers displacements_;
  std::vector<KeptType> types_;
};

template <typename Parts>
collective::Part part_of(Parts parts) {
  return [parts = std::move(parts)](int i) { return parts.part(i); };
}

bool is_own_of_mpi(MPI_Op op) {
  static const MPI_Op kPredefined[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                                       MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return std::find(std::begin(kPredefined), std::end(kPredefined), op) != std::end(kPredefined);
}

class KeptOperation {
 public:
  KeptOperation(Lifetime lifetime, MPI_Op op) : op_(op) {
    if (lifetime == Lifetime::call || op == MPI_OP_NULL || is_own_of_mpi(op)) return;
    hold_ = std::make_shared<const mpi::OperationHold>(mpi::runtime()->held_operations, op);
  }
  MPI_Op operator*() const { return op_; }

 private:
  std::shared_ptr<const mpi::OperationHold> hold_;
  MPI_Op op_;
};

// An operation of the program's is given the datatype, and may know it by its handle: a copy, which lives longer than
// one that the program frees, has another.
bool can_be_kept(MPI_Datatype type, MPI_Op op) {
  if (type == MPI_DATATYPE_NULL || op == MPI_OP_NULL) return false;
  return is_own_of_mpi(op) || mpi::Envelope(type).is_predefined();
}

Plan reduction(MPI_Count count, MPI_Datatype type, MPI_Op op) {
  Plan plan;
  plan.type = type;
  plan.count = count;
  plan.op = op;
  plan.can_be_nonblocking = can_be_kept(type, op);
  return plan;
}

}  // namespace

int check(const Communicator& comm, const Plan& plan) {
  if (plan.count < 0 || plan.other_count < 0) return MPI_ERR_COUNT;
  if (plan.type == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  if (plan.other_type == MPI_DATATYPE_NULL && plan.other_count != 0) return MPI_ERR_TYPE;
  return mpi::check_root(comm, plan.root);
}

Numbers Planner::all(const Numbers& numbers) const {
  return lifetime == Lifetime::call ? numbers : numbers.kept(comm.size);
}

Numbers Planner::at_root(int root, const Numbers& numbers) const { return comm.rank == root ? all(numbers) : numbers; }

// The least of the counts; 0 if none is wrong.
int64_t Planner::least(const Numbers& counts) const {
  int64_t least = 0;
  for (int i = 0; i < comm.size; ++i) least = std::min(least, counts[i]);
  return least;
}

Plan Planner::barrier() const {
  Plan plan;
  plan.can_be_nonblocking = collective::is_small(comm, TypedBuffer{nullptr, 0, MPI_BYTE});
  plan.begin = collective::barrier_of_all;
  return plan;
}

Plan Planner::bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root) const {
  const Kept kept(lifetime, buffer, count, type);
  return Plan{.root = root, .type = type, .count = count, .begin = [kept, root](Runtime& r, const Communicator& c) {
                return collective::broadcast(r, c, *kept, root);
              }};
}

Plan Planner::gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                     MPI_Datatype out_type, int root) const {
  const Kept from(lifetime, in, in_count, in_type, !in_place(in));
  const collective::Part to = part_of(Kept(lifetime, out, out_count, out_type, comm.rank == root));
  return Plan{.root = root,
              .type = in_place(in) ? out_type : in_type,
              .count = in_place(in) ? out_count : in_count,
              .other_type = comm.rank == root ? out_type : MPI_BYTE,
              .other_count = comm.rank == root ? out_count : 0,
              .begin = [from, to, root](Runtime& r, const Communicator& c) {
                return collective::gather(r, c, *from, to, root);
              }};
}

Plan Planner::gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const Numbers& counts,
                      const Numbers& displacements, MPI_Datatype out_type, int root) const {
  const Kept from(lifetime, in, in_count, in_type, !in_place(in));
  const collective::Part to = part_of(
      KeptParts(lifetime, out, at_root(root, counts), at_root(root, displacements), out_type, comm.rank == root));
  return Plan{.root = root,
              .type = in_place(in) ? out_type : in_type,
              .count = in_place(in) ? 0 : in_count,
              .other_type = comm.rank == root ? out_type : MPI_BYTE,
              .other_count = comm.rank == root ? least(counts) : 0,
              .begin = [from, to, root](Runtime& r, const Communicator& c) {
                return collective::gather(r, c, *from, to, root);
              }};
}

Plan Planner::scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                      MPI_Datatype out_type, int root) const {
  const collective::Part from = part_of(Kept(lifetime, in, in_count, in_type, comm.rank == root));
  const Kept to(lifetime, out, out_count, out_type, !in_place(out));
  return Plan{.root = root,
              .type = in_place(out) ? in_type : out_type,
              .count = in_place(out) ? in_count : out_count,
              .other_type = comm.rank == root ? in_type : MPI_BYTE,
              .other_count = comm.rank == root ? in_count : 0,
              .begin = [from, to, root](Runtime& r, const Communicator& c) {
                return collective::scatter(r, c, from, *to, root);
              }};
}

Plan Planner::scatterv(const void* in, const Numbers& counts, const Numbers& displacements, MPI_Datatype in_type,
                       void* out, MPI_Count out_count, MPI_Datatype out_type, int root) const {
  const collective::Part from =
      part_of(KeptParts(lifetime, in, at_root(root, counts), at_root(root, displacements), in_type, comm.rank == root));
  const Kept to(lifetime, out, out_count, out_type, !in_place(out));
  return Plan{.root = root,
              .type = in_place(out) ? in_type : out_type,
              .count = in_place(out) ? 0 : out_count,
              .other_type = comm.rank == root ? in_type : MPI_BYTE,
              .other_count = comm.rank == root ? least(counts) : 0,
              .begin = [from, to, root](Runtime& r, const Communicator& c) {
                return collective::scatter(r, c, from, *to, root);
              }};
}

Plan Planner::allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                        MPI_Datatype out_type) const {
  const Kept from(lifetime, in, in_count, in_type, !in_place(in));
  const collective::Part to = part_of(Kept(lifetime, out, out_count, out_type));
  return Plan{
      .type = out_type,
      .count = out_count,
      .other_type = in_place(in) ? MPI_BYTE : in_type,
      .other_count = in_place(in) ? 0 : in_count,
      .begin = [from, to](Runtime& r, const Communicator& c) { return collective::allgather(r, c, *from, to); }};
}

Plan Planner::allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const Numbers& counts,
                         const Numbers& displacements, MPI_Datatype out_type) const {
  const Kept from(lifetime, in, in_count, in_type, !in_place(in));
  const collective::Part to = part_of(KeptParts(lifetime, out, all(counts), all(displacements), out_type));
  return Plan{
      .type = out_type,
      .count = least(counts),
      .other_type = in_place(in) ? MPI_BYTE : in_type,
      .other_count = in_place(in) ? 0 : in_count,
      .begin = [from, to](Runtime& r, const Communicator& c) { return collective::allgather(r, c, *from, to); }};
}

Plan Planner::alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                       MPI_Datatype out_type) const {
  const collective::Part to = part_of(Kept(lifetime, out, out_count, out_type));
  const collective::Part from = in_place(in) ? to : part_of(Kept(lifetime, in, in_count, in_type));
  return Plan{.type = out_type,
              .count = out_count,
              .other_type = in_place(in) ? MPI_BYTE : in_type,
              .other_count = in_place(in) ? 0 : in_count,
              .begin = [from, to](Runtime& r, const Communicator& c) { return collective::alltoall(r, c, from, to); }};
}

Plan Planner::alltoallv(const void* in, const Numbers& in_counts, const Numbers& in_displacements, MPI_Datatype in_type,
                        void* out, const Numbers& out_counts, const Numbers& out_displacements,
                        MPI_Datatype out_type) const {
  const collective::Part to = part_of(KeptParts(lifetime, out, all(out_counts), all(out_displacements), out_type));
  const collective::Part from =
      in_place(in) ? to : part_of(KeptParts(lifetime, in, all(in_counts), all(in_displacements), in_type));
  return Plan{.type = out_type,
              .count = least(out_counts),
              .other_type = in_place(in) ? MPI_BYTE : in_type,
              .other_count = in_place(in) ? 0 : least(in_counts),
              .begin = [from, to](Runtime& r, const Communicator& c) { return collective::alltoall(r, c, from, to); }};
}

Plan Planner::alltoallw(const void* in, const Numbers& in_counts, const Numbers& in_displacements,
                        const MPI_Datatype* in_types, void* out, const Numbers& out_counts,
                        const Numbers& out_displacements, const MPI_Datatype* out_types) const {
  const collective::Part to =
      part_of(KeptTypedParts(lifetime, out, all(out_counts), all(out_displacements), out_types, comm.size));
  const collective::Part from =
      in_place(in) ? to
                   : part_of(KeptTypedParts(lifetime, in, all(in_counts), all(in_displacements), in_types, comm.size));
  return Plan{.count = least(out_counts),
              .other_count = in_place(in) ? 0 : least(in_counts),
              .begin = [from, to](Runtime& r, const Communicator& c) { return collective::alltoall(r, c, from, to); }};
}

Plan Planner::reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) const {
  Plan plan = reduction(count, type, op);
  plan.root = root;
  plan.begin = [from = input_buffer(in, count, type), out, kept = KeptOperation(lifetime, op), root](
                   Runtime& r, const Communicator& c) {
    return collective::reduce_to_root(r, c, from, out, *kept, root);
  };
  return plan;
}

Plan Planner::allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const {
  Plan plan = reduction(count, type, op);
  const TypedBuffer from = input_buffer(in, count, type);
  plan.can_be_nonblocking = plan.can_be_nonblocking && collective::is_small_for_all(*mpi::runtime(), comm, from, op);
  plan.begin = [from, out, kept = KeptOperation(lifetime, op)](Runtime& r, const Communicator& c) {
    return collective::allreduce_of_all(r, c, from, out, *kept);
  };
  return plan;
}

Plan Planner::prefixes(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, bool exclusive) const {
  Plan plan = reduction(count, type, op);
  const TypedBuffer from = input_buffer(in, count, type);
  plan.can_be_nonblocking = plan.can_be_nonblocking && collective::is_small(comm, from);
  plan.begin = [from, out, kept = KeptOperation(lifetime, op), exclusive](Runtime& r, const Communicator& c) {
    return collective::scan_of_all(r, c, from, out, *kept, exclusive);
  };
  return plan;
}

Plan Planner::scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const {
  return prefixes(in, out, count, type, op, false);
}

Plan Planner::exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const {
  return prefixes(in, out, count, type, op, true);
}

Plan Planner::reduce_scatter(const void* in, void* out, const Numbers& counts, MPI_Datatype type, MPI_Op op) const {
  Plan plan = reduction(least(counts), type, op);
  plan.begin = [in, out, kept_counts = all(counts), type, kept = KeptOperation(lifetime, op)](Runtime& r,
                                                                                              const Communicator& c) {
    return collective::reduce_scatter_of_all(r, c, in, out, kept_counts, type, *kept);
  };
  return plan;
}

Plan Planner::reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const {
  Plan plan = reduction(count, type, op);
  const Numbers counts = Numbers::same(count, comm.size);
  plan.begin = [in, out, counts, type, kept = KeptOperation(lifetime, op)](Runtime& r, const Communicator& c) {
    return collective::reduce_scatter_of_all(r, c, in, out, counts, type, *kept);
  };
  return plan;
}

}  // namespace spillway::interpose

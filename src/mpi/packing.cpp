#include "mpi/packing.h"

#include <climits>

#include "base/error.h"

namespace spillway::mpi {
namespace {

// The same elements seen from an address other than null: MPICH's packing takes a null address for a mistake, which
// MPI_BOTTOM, with a datatype that holds absolute addresses, is not.
class SeenFromElsewhere {
 public:
  SeenFromElsewhere(int count, MPI_Datatype type) {
    MPI_Aint displacement = -kOrigin;
    PMPI_Type_create_hindexed(1, &count, &displacement, type, &type_);
    PMPI_Type_commit(&type_);
  }
  SeenFromElsewhere(const SeenFromElsewhere&) = delete;
  SeenFromElsewhere& operator=(const SeenFromElsewhere&) = delete;
  ~SeenFromElsewhere() { PMPI_Type_free(&type_); }
  void* address() const { return reinterpret_cast<void*>(kOrigin); }
  MPI_Datatype type() const { return type_; }

 private:
  static constexpr MPI_Aint kOrigin = 4096;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) base::fatal("%s of the MPI library failed with error code %d", call, code);
}

#ifdef PMPI_Pack_c
int library_pack(void* address, int count, MPI_Datatype type, std::byte* out, uint64_t bytes) {
  MPI_Count position = 0;
  return PMPI_Pack_c(address, count, type, out, static_cast<MPI_Count>(bytes), &position, MPI_COMM_SELF);
}

int library_unpack(const std::byte* in, uint64_t bytes, void* address, int count, MPI_Datatype type) {
  MPI_Count position = 0;
  return PMPI_Unpack_c(in, static_cast<MPI_Count>(bytes), &position, address, count, type, MPI_COMM_SELF);
}
#else
// More bytes than an int counts, as one element: whole mebibytes and a rest.
class ByteType {
 public:
  explicit ByteType(uint64_t bytes) {
    constexpr uint64_t kUnit = 1 << 20;
    MPI_Datatype unit = MPI_DATATYPE_NULL, units = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(kUnit), MPI_BYTE, &unit);
    PMPI_Type_contiguous(static_cast<int>(bytes / kUnit), unit, &units);
    int lengths[2] = {1, static_cast<int>(bytes % kUnit)};
    MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(bytes - bytes % kUnit)};
    MPI_Datatype types[2] = {units, MPI_BYTE};
    PMPI_Type_create_struct(2, lengths, offsets, types, &type_);
    PMPI_Type_commit(&type_);
    PMPI_Type_free(&unit);
    PMPI_Type_free(&units);
  }
  ByteType(const ByteType&) = delete;
  ByteType& operator=(const ByteType&) = delete;
  ~ByteType() { PMPI_Type_free(&type_); }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Before MPI 4 packing counts bytes in int. What it cannot pack the library can still send to itself.
int send_to_self(void* from, MPI_Datatype from_type, void* to, MPI_Datatype to_type) {
  return PMPI_Sendrecv(from, 1, from_type, 0, 0, to, 1, to_type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

int library_pack(void* address, int count, MPI_Datatype type, std::byte* out, uint64_t bytes) {
  if (bytes > INT_MAX) return send_to_self(address, type, out, ByteType(bytes).type());
  int position = 0;
  return PMPI_Pack(address, count, type, out, static_cast<int>(bytes), &position, MPI_COMM_SELF);
}

int library_unpack(const std::byte* in, uint64_t bytes, void* address, int count, MPI_Datatype type) {
  auto* from = const_cast<std::byte*>(in);
  if (bytes > INT_MAX) return send_to_self(from, ByteType(bytes).type(), address, type);
  int position = 0;
  return PMPI_Unpack(from, static_cast<int>(bytes), &position, address, count, type, MPI_COMM_SELF);
}
#endif

}  // namespace

void pack_elements(void* address, int count, MPI_Datatype type, std::byte* out, uint64_t bytes) {
  if (address != nullptr) return check(library_pack(address, count, type, out, bytes), "MPI_Pack");
  const SeenFromElsewhere seen(count, type);
  check(library_pack(seen.address(), 1, seen.type(), out, bytes), "MPI_Pack");
}

void unpack_elements(const std::byte* in, uint64_t bytes, void* address, int count, MPI_Datatype type) {
  if (address != nullptr) return check(library_unpack(in, bytes, address, count, type), "MPI_Unpack");
  const SeenFromElsewhere seen(count, type);
  check(library_unpack(in, bytes, seen.address(), 1, seen.type()), "MPI_Unpack");
}

}  // namespace spillway::mpi

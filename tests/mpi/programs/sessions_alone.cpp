// A program that takes part in MPI by sessions only (MPI 4.0) and never calls MPI_Init. The first argument says how
// many MiB each rank has, the second what else it does: `again`, it begins another session after the first one has
// ended; `init`, it calls MPI_Init in between. (With MPICH 4.0 alone it crashes then.)
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
namespace {

MPI_Comm world_of(MPI_Session session) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "spillway.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

// Each rank's data go once around; the result is the number of wrong values on all ranks.
long wrong_after_a_round(MPI_Comm comm, std::vector<int>& data) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (size_t i = 0; i < data.size(); ++i) data[i] = rank + static_cast<int>(i);
  for (int step = 0; step < size; ++step)
    MPI_Sendrecv_replace(data.data(), static_cast<int>(data.size()), MPI_INT, (rank + 1) % size, 1,
                         (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
  long wrong = 0, all_wrong = 0;
  for (size_t i = 0; i < data.size(); ++i) wrong += data[i] != rank + static_cast<int>(i);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, comm);
  return all_wrong;
}

}  // namespace

MPI_Session last_session = MPI_SESSION_NULL;

int main(int argc, char** argv) {
  const size_t mib = argc > 1 ? static_cast<size_t>(atol(argv[1])) : 1;
  const std::string more = argc > 2 ? argv[2] : "";
  if (more == "exit") atexit([] { MPI_Session_finalize(&last_session); });
  if (more == "early") MPI_Init(&argc, &argv);
  std::vector<int> data;
  long wrong = 0;
  int rank = 0, size = 0;
  for (int time = 0; time < (more == "again" || more == "init" ? 2 : 1); ++time) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    data.resize((mib << 20) / sizeof(int));  // what a rank has before it is known of is resident, of all at a time
    MPI_Comm comm = world_of(session);
    if (more == "early") MPI_Finalize();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    wrong += wrong_after_a_round(comm, data);
    MPI_Comm_free(&comm);
    if (more == "exit")
      last_session = session;
    else
      MPI_Session_finalize(&session);
    if (more == "init" && time == 0) {
      MPI_Init(&argc, &argv);
      wrong += wrong_after_a_round(MPI_COMM_WORLD, data);
    }
  }
  if (rank == 0) printf("%ld wrong values on %d ranks\n", wrong, size);
  if (more == "init") MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
#else
int main() { return puts("no sessions") < 0; }
#endif

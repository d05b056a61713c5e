// The tool interface: before MPI_Init, and beside the program's own calls.
#include <algorithm>

#include "checked_program.h"

namespace {

// Open MPI 4.1 crashes on reading those of components that it has closed again, so only some are read.
bool is_readable(const std::string& name) { return name.rfind("MPIR_CVAR_", 0) == 0 || name.rfind("coll_", 0) == 0; }

// Reads the control variables that are integers; the result is how many.
int control_variables(int& known_by_name) {
  int count = 0, read = 0;
  MPI_T_cvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    char name[256] = "", description[4096] = "";
    int name_length = sizeof name, description_length = sizeof description, verbosity = 0, bind = 0, scope = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &enumeration, description, &description_length,
                            &bind, &scope) != MPI_SUCCESS)
      continue;
    int index = -1;
    if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS && index == i) ++known_by_name;
    if (type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT || !is_readable(name)) continue;
    MPI_T_cvar_handle handle;
    int elements = 0;
    if (MPI_T_cvar_handle_alloc(i, nullptr, &handle, &elements) != MPI_SUCCESS) continue;
    std::vector<int> values(static_cast<size_t>(std::max(elements, 1)));
    if (MPI_T_cvar_read(handle, values.data()) == MPI_SUCCESS) ++read;
    MPI_T_cvar_handle_free(&handle);
  }
  return read;
}

void performance_variables(CheckedProgram& program) {
  MPI_T_pvar_session session;
  int count = -1;
  program.equal(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  MPI_T_pvar_get_num(&count);
  program.holds(count >= 0);
  int started = 0, stopped = 0;
  for (int i = 0; i < count; ++i) {
    char name[256] = "", description[4096] = "";
    int name_length = sizeof name, description_length = sizeof description;
    int verbosity = 0, kind = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &kind, &type, &enumeration, description,
                            &description_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS)
      continue;
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_pvar_handle handle;
    int elements = 0;
    if (MPI_T_pvar_handle_alloc(session, i, nullptr, &handle, &elements) != MPI_SUCCESS) continue;
    if (continuous == 0 && MPI_T_pvar_start(session, handle) == MPI_SUCCESS) {
      ++started;
      if (MPI_T_pvar_stop(session, handle) == MPI_SUCCESS) ++stopped;
    }
    MPI_T_pvar_handle_free(session, &handle);
  }
  program.equal(stopped, started);
  program.equal(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

void categories(CheckedProgram& program) {
  int count = 0, stamp = -1;
  program.equal(MPI_T_category_get_num(&count), MPI_SUCCESS);
  program.equal(MPI_T_category_changed(&stamp), MPI_SUCCESS);
  for (int i = 0; i < std::min(count, 5); ++i) {
    char name[256] = "", description[4096] = "";
    int name_length = sizeof name, description_length = sizeof description;
    int cvars = -1, pvars = -1, below = -1;
    program.equal(
        MPI_T_category_get_info(i, name, &name_length, description, &description_length, &cvars, &pvars, &below),
        MPI_SUCCESS);
    std::vector<int> indices(static_cast<size_t>(std::max(cvars, 0)) + 1);
    program.equal(MPI_T_category_get_cvars(i, cvars, indices.data()), MPI_SUCCESS);
  }
}

void exchange(CheckedProgram& program) {
  int in = -1, sum = 0;
  const int own = program.rank();
  MPI_Sendrecv(&own, 1, MPI_INT, program.right(), 1, &in, 1, MPI_INT, program.left(), 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  program.equal(in, program.left());
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  program.equal(sum, program.size() * (program.size() - 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1, known_before = 0, known = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  control_variables(known_before);  // Open MPI has none to read yet
  CheckedProgram program(&argc, &argv);
  program.holds(provided >= MPI_THREAD_SINGLE);
  program.holds(known_before > 0);
  exchange(program);
  program.holds(control_variables(known) > 0);
  program.holds(known > 0);
  performance_variables(program);
  categories(program);
  exchange(program);
  MPI_T_finalize();
  return program.finish();
}

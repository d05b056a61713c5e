#include "library/program_objects.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "library/loaded_library.h"

namespace spillway::library {
namespace {

using Objects = std::vector<const link_map*>;

bool holds(const Objects& objects, const link_map* object) {
  return std::find(objects.begin(), objects.end(), object) != objects.end();
}

const link_map* object_of(void* handle) {
  link_map* object = nullptr;
  return handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &object) == 0 ? object : nullptr;
}

const link_map* loaded_object(const char* name) {
  void* handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  const link_map* object = object_of(handle);
  if (handle != nullptr) dlclose(handle);
  return object;
}

// The names of the libraries that the object was linked with.
std::vector<const char*> names_of_needed(const link_map& object) {
  const char* strings = nullptr;
  for (const auto* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // Where the dynamic section is read-only, the loader has not added the object's address.
    const uint64_t place = entry->d_un.d_ptr + (entry->d_un.d_ptr < object.l_addr ? object.l_addr : 0);
    strings = reinterpret_cast<const char*>(place);
  }
  std::vector<const char*> names;
  for (const auto* entry = object.l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED) names.push_back(strings + entry->d_un.d_val);
  return names;
}

// The object, what it was linked with, and so on; nothing from beyond `border`.
Objects closure_of(const link_map* object, const Objects& border) {
  Objects found;
  if (object != nullptr && !holds(border, object)) found.push_back(object);
  for (size_t i = 0; i < found.size(); ++i)
    for (const char* name : names_of_needed(*found[i])) {
      const link_map* needed = loaded_object(name);
      if (needed != nullptr && !holds(found, needed) && !holds(border, needed)) found.push_back(needed);
    }
  return found;
}

struct Search {
  const Objects& wanted;
  std::vector<ProgramObject> found;
};

int take_if_wanted(dl_phdr_info* loaded, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  const auto is_this = [&](const link_map* object) {
    return object->l_addr == loaded->dlpi_addr && strcmp(object->l_name, loaded->dlpi_name) == 0;
  };
  if (std::any_of(search.wanted.begin(), search.wanted.end(), is_this))
    search.found.push_back({*loaded, loaded->dlpi_name[0] == '\0' ? "/proc/self/exe" : loaded->dlpi_name});
  return 0;
}

}  // namespace

std::vector<ProgramObject> program_objects() {
  const Objects of_mpi = closure_of(object_of(mpi_library()), {});
  const Objects of_program = closure_of(loaded_object(nullptr), of_mpi);
  Search search{of_program, {}};
  dl_iterate_phdr(take_if_wanted, &search);
  return search.found;
}

}  // namespace spillway::library

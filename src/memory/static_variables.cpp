#include "memory/static_variables.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace spillway::memory {
namespace {

// A file in memory for reading, as an array of whatever lies in it.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
      bytes_ = static_cast<uint64_t>(status.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
  }
  ~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // nullptr when they do not all lie in the file.
  template <typename T>
  const T* at(uint64_t offset, uint64_t count) const {
    const bool fits = data_ != MAP_FAILED && offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T);
    return fits && offset % alignof(T) == 0 ? reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset)
                                            : nullptr;
  }

 private:
  void* data_ = MAP_FAILED;
  uint64_t bytes_ = 0;
};

bool may_have_any(const dl_phdr_info& object, uint64_t minimum_bytes) {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0 && part.p_memsz >= minimum_bytes;
  });
}

// The file may have been replaced since it was loaded.
bool is_file_of(const dl_phdr_info& object, const MappedFile& file, const ElfW(Ehdr) & header) {
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phnum != object.dlpi_phnum)
    return false;
  const auto* parts = file.at<ElfW(Phdr)>(header.e_phoff, header.e_phnum);
  return parts != nullptr && memcmp(parts, object.dlpi_phdr, header.e_phnum * sizeof *parts) == 0;
}

struct SymbolTable {
  const ElfW(Sym) * symbols = nullptr;
  uint64_t count = 0;
  const char* names = nullptr;  // ends with 0
  uint64_t names_bytes = 0;

  const char* name_of(const ElfW(Sym) & symbol) const {
    return symbol.st_name < names_bytes ? names + symbol.st_name : "";
  }
};

SymbolTable symbol_table_in(const MappedFile& file, const ElfW(Shdr) & section, const ElfW(Shdr) & names) {
  SymbolTable table;
  table.count = section.sh_size / sizeof(ElfW(Sym));
  table.symbols = file.at<ElfW(Sym)>(section.sh_offset, table.count);
  table.names = file.at<char>(names.sh_offset, names.sh_size);
  const bool has_names = table.names != nullptr && names.sh_size != 0 && table.names[names.sh_size - 1] == '\0';
  table.names_bytes = has_names ? names.sh_size : 0;
  return table;
}

// The full table, which also knows variables that are not exported; else that of the exported ones. Else an empty one.
SymbolTable symbol_table(const MappedFile& file, const ElfW(Ehdr) & header) {
  const auto* sections = file.at<ElfW(Shdr)>(header.e_shoff, header.e_shnum);
  if (sections == nullptr) return {};
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const auto* found =
        std::find_if(sections, sections + header.e_shnum, [&](const auto& section) { return section.sh_type == type; });
    if (found != sections + header.e_shnum && found->sh_link < header.e_shnum)
      return symbol_table_in(file, *found, sections[found->sh_link]);
  }
  return {};
}

// The state of run-time systems, with locks and flags that their threads change while the rank waits in MPI. Python has
// it all in one variable, of more than 256 KiB since 3.13.
bool is_of_run_time_system(const char* name) { return strcmp(name, "_PyRuntime") == 0; }

bool is_variable(const ElfW(Sym) & symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_OBJECT || type == STT_COMMON) && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
}

bool overlaps(const ElfW(Sym) & symbol, const ElfW(Phdr) & part) {
  return symbol.st_value < part.p_vaddr + part.p_memsz && part.p_vaddr < symbol.st_value + symbol.st_size;
}

// The part of the object that the variable lies in, if the program may write it for good. What is read-only after
// relocation would lose its protection.
const ElfW(Phdr) * writable_part(const dl_phdr_info& object, const ElfW(Sym) & symbol) {
  const ElfW(Phdr)* found = nullptr;
  for (const auto* part = object.dlpi_phdr; part != object.dlpi_phdr + object.dlpi_phnum; ++part) {
    if (part->p_type == PT_GNU_RELRO && overlaps(symbol, *part)) return nullptr;
    if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0 && symbol.st_value >= part->p_vaddr &&
        symbol.st_value - part->p_vaddr <= part->p_memsz &&
        symbol.st_size <= part->p_memsz - (symbol.st_value - part->p_vaddr))
      found = part;
  }
  return found;
}

}  // namespace

void find_static_variables(const dl_phdr_info& object, const char* path, uint64_t minimum_bytes,
                           StaticVariableVisitor visit, void* context) {
  if (!may_have_any(object, minimum_bytes)) return;
  const MappedFile file(path);
  const auto* header = file.at<ElfW(Ehdr)>(0, 1);
  if (header == nullptr || !is_file_of(object, file, *header)) return;
  const SymbolTable table = symbol_table(file, *header);
  if (table.symbols == nullptr) return;
  for (const auto* symbol = table.symbols; symbol != table.symbols + table.count; ++symbol) {
    if (symbol->st_size < minimum_bytes || !is_variable(*symbol) || is_of_run_time_system(table.name_of(*symbol)))
      continue;
    const auto* part = writable_part(object, *symbol);
    if (part == nullptr) continue;
    // The kernel maps whole pages of the file: zeros of its own follow after the last of them.
    const bool is_zeros = symbol->st_value >= part->p_vaddr + part->p_filesz;
    visit(StaticVariable{reinterpret_cast<const void*>(object.dlpi_addr + symbol->st_value), symbol->st_size,
                         is_zeros ? Beginning::zeros : Beginning::program_file},
          context);
  }
}

}  // namespace spillway::memory

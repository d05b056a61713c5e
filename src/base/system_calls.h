// System calls as themselves.
//
// The C library's functions of these names may be another library's in a rank: tools that trace I/O, and registration
// caches of MPI libraries, put their own in the way, with locks. While memory is unloaded, a thread that has been
// stopped may hold these (node/other_threads.h), so storage, memory and who lets it go call the kernel. Errors are in
// errno.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace spillway::base::kernel {

inline constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, of Linux 5.14: older headers lack it

inline void* map(void* address, uint64_t bytes, int protection, int flags, int descriptor, uint64_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset));
}

inline int unmap(void* address, uint64_t bytes) { return static_cast<int>(syscall(SYS_munmap, address, bytes)); }

// To `target`, in place of what is mapped there.
inline void* move_mapping(void* address, uint64_t bytes, void* target) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target));
}

inline int protect(void* address, uint64_t bytes, int protection) {
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}

inline int advise(void* address, uint64_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

// Of each page, whether it is in memory: a byte each, in its lowest bit.
inline int resident_pages(void* address, uint64_t bytes, unsigned char* pages) {
  return static_cast<int>(syscall(SYS_mincore, address, bytes, pages));
}

inline int open(const char* path, int flags) { return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0)); }

inline int close(int descriptor) { return static_cast<int>(syscall(SYS_close, descriptor)); }

inline int shut_down(int socket) { return static_cast<int>(syscall(SYS_shutdown, socket, SHUT_RDWR)); }

inline ssize_t receive(int socket, msghdr* message, int flags) { return syscall(SYS_recvmsg, socket, message, flags); }

inline void yield() { syscall(SYS_sched_yield); }

inline ssize_t read_at(int descriptor, void* data, uint64_t bytes, uint64_t offset) {
  return syscall(SYS_pread64, descriptor, data, bytes, offset);
}

inline ssize_t write_bytes(int descriptor, const void* data, uint64_t bytes) {
  return syscall(SYS_write, descriptor, data, bytes);
}

inline ssize_t write_at(int descriptor, const void* data, uint64_t bytes, uint64_t offset) {
  return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}

// Linux's own asynchronous I/O: io_setup, io_submit, io_getevents.
inline int make_request_queue(unsigned requests, uint64_t* context) {
  return static_cast<int>(syscall(SYS_io_setup, requests, context));
}

template <typename Block>
long submit_requests(uint64_t context, uint64_t count, Block** blocks) {
  return syscall(SYS_io_submit, context, count, blocks);
}

template <typename Event>
long wait_for_requests(uint64_t context, long count, Event* events) {
  return syscall(SYS_io_getevents, context, count, count, events, nullptr);
}

inline int set_size(int descriptor, uint64_t bytes) {
  return static_cast<int>(syscall(SYS_ftruncate, descriptor, bytes));
}

inline int allocate(int descriptor, int mode, uint64_t offset, uint64_t bytes) {
  return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, offset, bytes));
}

inline int advise_file(int descriptor, uint64_t offset, uint64_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_fadvise64, descriptor, offset, bytes, advice));
}

inline int write_back(int descriptor, uint64_t offset, uint64_t bytes, unsigned flags) {
  return static_cast<int>(syscall(SYS_sync_file_range, descriptor, offset, bytes, flags));
}

inline int control(int descriptor, int command, int64_t argument = 0) {
  return static_cast<int>(syscall(SYS_fcntl, descriptor, command, argument));
}

}  // namespace spillway::base::kernel

// A kernel that refuses what some file systems and full devices refuse: a filter on this process's system calls. Needs
// no privilege, cannot be taken back, so it is for forked children and death tests.
#pragma once

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace spillway::storage {

enum class Refusal {
  nameless_files,  // O_TMPFILE: EOPNOTSUPP
  direct_flag,     // setting O_DIRECT: EINVAL
  preallocation,   // fallocate in all its forms: EOPNOTSUPP
  space,           // pwrite and io_submit: ENOSPC
  device,          // pread: EIO
  request_queues,  // io_setup: ENOSYS
};

inline void refuse(Refusal refusal) {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  const auto argument = [](size_t i) { return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * i); };
  struct Rule {
    uint32_t number;
    unsigned argument;
    uint32_t bits;  // refused when the argument has all of these
    uint32_t error;
  };
  Rule rule{}, second{};
  switch (refusal) {
    case Refusal::nameless_files:
      rule = {__NR_openat, 2, O_TMPFILE, EOPNOTSUPP};
      break;
    case Refusal::direct_flag:
      rule = {__NR_fcntl, 2, O_DIRECT, EINVAL};
      break;
    case Refusal::preallocation:
      rule = {__NR_fallocate, 0, 0, EOPNOTSUPP};
      break;
    case Refusal::space:
      rule = {__NR_pwrite64, 0, 0, ENOSPC};
      second = {__NR_io_submit, 0, 0, ENOSPC};
      break;
    case Refusal::device:
      rule = {__NR_pread64, 0, 0, EIO};
      break;
    case Refusal::request_queues:
      rule = {__NR_io_setup, 0, 0, ENOSYS};
      break;
  }
  std::vector<sock_filter> program;
  for (const Rule& each : {rule, second}) {
    if (each.error == 0) continue;
    program.insert(program.end(), {
                                      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, each.number, 0, 4),
                                      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(each.argument)),
                                      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, each.bits),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, each.bits, 0, 1),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | each.error),
                                  });
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  SPILLWAY_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  SPILLWAY_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

}  // namespace spillway::storage

// A kernel that makes the most of what it may do: interrupts reads and writes, does a part of what it was asked,
// refuses to allocate ahead; and, if the test wants so, a device that fails or lies. A filter hands system calls of one
// thread, and of those that it starts, to another thread of the same process, which answers them. Needs no privilege.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <future>
#include <thread>

#include "base/error.h"
#include "seed.h"

namespace spillway::storage {

enum class Failure {
  none,
  full,        // pwrite: ENOSPC
  unwritable,  // pwrite: EIO
  unreadable,  // pread: EIO
  damaged,     // pread: a bit of each page is another
};

class DisturbingKernel {
 public:
  // `failure` begins with the call of its kind that has this number; calls before it succeed in the end.
  DisturbingKernel(uint64_t seed, Failure failure, uint64_t first_failing)
      : random_(seed), failure_(failure), first_failing_(first_failing) {}

  // Runs `work` in a thread of its own, for which the calls are disturbed.
  template <typename Work>
  void run(Work work) {
    std::promise<int> listener;
    std::thread worker([&] {
      listener.set_value(install());
      work();
    });
    answer_all(listener.get_future().get());
    worker.join();
  }

  uint64_t disturbed() const { return disturbed_; }

  // The device has failed or lied; asked by the work itself.
  bool has_failed() const { return has_failed_; }

 private:
  static constexpr uint64_t kBlock = 4096;

  static int install() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pread64, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pwrite64, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_submit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fallocate, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    SPILLWAY_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    SPILLWAY_CHECK(listener >= 0);
    return static_cast<int>(listener);
  }

  // Until the thread has ended.
  void answer_all(int listener) {
    for (pollfd ready{listener, POLLIN, 0}; poll(&ready, 1, -1) > 0 && (ready.revents & POLLIN) != 0;) {
      seccomp_notif call{};
      if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
      seccomp_notif_resp answer{call.id, 0, 0, 0};
      if (call.data.nr == __NR_io_submit)
        answer_submission(answer);
      else if (!is_storage(static_cast<int>(call.data.args[0])))
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      else if (call.data.nr == __NR_fallocate)
        answer_allocation(answer);
      else
        answer_transfer(call.data, answer);
      ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    close(listener);
  }

  static bool is_storage(int descriptor) {
    struct statfs system {};
    return fstatfs(descriptor, &system) == 0 && system.f_type != PROC_SUPER_MAGIC;
  }

  // Of several requests to several files, those that are refused are made again as calls of their own.
  void answer_submission(seccomp_notif_resp& answer) {
    if (failure_ != Failure::none || random_.one_in(2))
      refuse(answer, EAGAIN);
    else
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }

  void answer_allocation(seccomp_notif_resp& answer) {
    if (random_.one_in(4))
      refuse(answer, random_.one_in(2) ? EOPNOTSUPP : EINTR);
    else
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }

  void answer_transfer(const seccomp_data& call, seccomp_notif_resp& answer) {
    const bool is_write = call.nr == __NR_pwrite64;
    if (const int error = failure_of(is_write)) {
      has_failed_ = true;
      return refuse(answer, error);
    }
    if (random_.one_in(4)) return refuse(answer, EINTR);
    const auto descriptor = static_cast<int>(call.args[0]);
    auto* data = reinterpret_cast<char*>(call.args[1]);
    uint64_t bytes = call.args[2];
    if (bytes > kBlock && random_.one_in(2)) {
      bytes = kBlock * (1 + random_.below(bytes / kBlock));
      ++disturbed_;
    }
    const auto place = static_cast<off_t>(call.args[3]);
    const ssize_t done = is_write ? pwrite(descriptor, data, bytes, place) : pread(descriptor, data, bytes, place);
    if (done < 0) return refuse(answer, errno);
    answer.val = done;
    if (!is_write && lies()) damage(data, static_cast<uint64_t>(done));
  }

  // An error, or 0.
  int failure_of(bool is_write) {
    const uint64_t number = is_write ? ++writes_ : ++reads_;
    if (number < first_failing_) return 0;
    if (is_write) return failure_ == Failure::full ? ENOSPC : failure_ == Failure::unwritable ? EIO : 0;
    return failure_ == Failure::unreadable ? EIO : 0;
  }

  bool lies() const { return failure_ == Failure::damaged && reads_ >= first_failing_; }

  void damage(char* data, uint64_t bytes) {
    has_failed_ = true;
    for (uint64_t page = 0; page < bytes; page += kBlock)
      data[page + random_.below(kBlock)] ^= static_cast<char>(1 << random_.below(8));
  }

  void refuse(seccomp_notif_resp& answer, int error) {
    answer.error = -error;
    ++disturbed_;
  }

  Random random_;
  Failure failure_;
  uint64_t first_failing_;
  uint64_t reads_ = 0;
  uint64_t writes_ = 0;
  uint64_t disturbed_ = 0;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace spillway::storage

// A kernel that makes the most of what it may do: interrupts reads and writes, does a part of what it was asked,
// refuses to allocate ahead; and, if the test wants so, a device that fails or lies. A filter hands system calls of one
// thread, and of those that it starts, to another thread of the same process, which answers them. Needs no privilege.
#pragma once

#include <linux/aio_abi.h>
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
#include <cstdio>
#include <future>
#include <thread>

#include "base/error.h"
#include "seed.h"

namespace spillway::storage {

enum class Failure {
  none,
  full,        // writes: ENOSPC
  unwritable,  // writes: EIO
  unreadable,  // reads: EIO
  damaged,     // reads: a bit of each page is another
};

// How a device's failure shows first: in any transfer, or in one of those that were submitted (io_submit) and end
// later, which are all taken then.
enum class FirstFailure { anywhere, submitted };

class DisturbingKernel {
 public:
  // `failure` begins with the transfer of its kind that has this number, or the next one that is `first`; transfers
  // before it succeed in the end.
  DisturbingKernel(uint64_t seed, Failure failure, uint64_t first_failing, FirstFailure first = FirstFailure::anywhere)
      : random_(seed), failure_(failure), first_failing_(first_failing), first_(first) {}

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
  static constexpr uint64_t kMostSubmitted = 16;

  struct Submitted {
    iocb block{};  // first: the kernel tells of it by its address
    int error = 0;

    bool is_write() const { return block.aio_lio_opcode == IOCB_CMD_PWRITE; }
  };

  static int install() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pread64, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pwrite64, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_submit, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_getevents, 2, 0),
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
        answer_submission(call.data, answer);
      else if (call.data.nr == __NR_io_getevents)
        answer_wait(call.data, answer);
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

  // Requests that are refused are made again as calls of their own. Of those that are taken, some move less than they
  // should, or nothing: what becomes of these is told when they are waited for.
  void answer_submission(const seccomp_data& call, seccomp_notif_resp& answer) {
    if (first_ == FirstFailure::anywhere && random_.one_in(2)) return refuse(answer, EAGAIN);
    auto* const* blocks = reinterpret_cast<iocb* const*>(call.args[2]);
    iocb* pointers[kMostSubmitted];
    const auto count = static_cast<uint64_t>(call.args[1]);
    SPILLWAY_CHECK(count <= kMostSubmitted);
    for (uint64_t i = 0; i < count; ++i) {
      Submitted& request = submitted_[i];
      request = Submitted{*blocks[i], 0};
      pointers[i] = &request.block;
      request.error = failure_of(request.is_write(), true);
      if (request.error == 0 && random_.one_in(4)) request.error = random_.one_in(2) ? EINTR : EAGAIN;
      uint64_t bytes = request.block.aio_nbytes;
      if (request.error != 0)
        bytes = 0;
      else if (bytes > kBlock && random_.one_in(2))
        bytes = kBlock * (1 + random_.below(bytes / kBlock));
      if (bytes != request.block.aio_nbytes) ++disturbed_;
      request.block.aio_nbytes = bytes;
    }
    const long taken = syscall(SYS_io_submit, call.args[0], count, pointers);
    if (taken < 0) return refuse(answer, errno);
    answer.val = taken;
  }

  void answer_wait(const seccomp_data& call, seccomp_notif_resp& answer) {
    if (random_.one_in(4)) return refuse(answer, EINTR);
    auto* events = reinterpret_cast<io_event*>(call.args[3]);
    const uint64_t most = random_.one_in(2) ? 1 : call.args[2];  // as when a signal comes in the middle
    const long got = syscall(SYS_io_getevents, call.args[0], most, most, events, nullptr);
    if (got < 0) return refuse(answer, errno);
    for (long i = 0; i < got; ++i) {
      const auto& request = *reinterpret_cast<const Submitted*>(events[i].obj);
      if (request.error != 0) events[i].res = -request.error;
      if (events[i].res > 0 && !request.is_write() && lies())
        damage(reinterpret_cast<char*>(request.block.aio_buf), static_cast<uint64_t>(events[i].res));
    }
    answer.val = got;
  }

  void answer_allocation(seccomp_notif_resp& answer) {
    if (random_.one_in(4))
      refuse(answer, random_.one_in(2) ? EOPNOTSUPP : EINTR);
    else
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }

  void answer_transfer(const seccomp_data& call, seccomp_notif_resp& answer) {
    const bool is_write = call.nr == __NR_pwrite64;
    if (const int error = failure_of(is_write, false)) return refuse(answer, error);
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

  // An error, or 0. What has failed goes on failing, however it is tried again.
  int failure_of(bool is_write, bool is_submitted) {
    const uint64_t number = is_write ? ++writes_ : ++reads_;
    const bool is_first = first_ == FirstFailure::anywhere || is_submitted;
    if (number < first_failing_ || (!has_failed_ && !is_first)) return 0;
    const int error = is_write ? error_of_write() : failure_ == Failure::unreadable ? EIO : 0;
    if (error == 0) return 0;
    if (!has_failed_ && is_submitted) dprintf(STDERR_FILENO, "a submitted transfer fails\n");
    has_failed_ = true;
    return error;
  }

  int error_of_write() const { return failure_ == Failure::full ? ENOSPC : failure_ == Failure::unwritable ? EIO : 0; }

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
  FirstFailure first_;
  Submitted submitted_[kMostSubmitted];
  uint64_t reads_ = 0;
  uint64_t writes_ = 0;
  uint64_t disturbed_ = 0;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace spillway::storage

#include "pgas/progress_thread.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"
#include "base/library_thread.h"
#include "pgas/failure.h"

namespace spillway::pgas {
namespace {

constexpr uint64_t kShortestSleepNs = 50'000;
constexpr uint64_t kLongestSleepNs = 1'000'000;
constexpr int kLooksBehindNews = 20;  // what comes in pieces has some time between them
constexpr uint64_t kEndNs = 100'000'000;

// What looks take, in processor time, that find nothing.
class UsualTime {
 public:
  // Whether a look has found something.
  bool is_exceeded_by(uint64_t taken_ns) {
    if (usual_ns_ != 0 && taken_ns > kTimesOfNews * usual_ns_) {
      // If the ones before were exceptions, the thread does not take all others for news, and a processor, for long.
      usual_ns_ += usual_ns_ / kGrowth + 1;
      return true;
    }
    usual_ns_ = usual_ns_ == 0 ? taken_ns : (usual_ns_ * (kLooks - 1) + taken_ns) / kLooks;
    return false;
  }

 private:
  static constexpr uint64_t kTimesOfNews = 3;
  static constexpr uint64_t kLooks = 64;  // whose mean it is
  static constexpr uint64_t kGrowth = 512;

  uint64_t usual_ns_ = 0;
};

}  // namespace

ProgressThread::ProgressThread(std::function<void()> look) : look_(std::move(look)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's threads'
  const auto body = [](void* self) -> void* {
    static_cast<ProgressThread*>(self)->run();
    return nullptr;
  };
  const int error = base::start_library_thread(&thread_, body, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    throw Failure(std::string("cannot start a thread: ") + std::strerror(error), "allow more of them (ulimit -u)");
}

ProgressThread::~ProgressThread() {
  end();
  pthread_join(thread_, nullptr);
}

void ProgressThread::end() {
  is_to_end_ = 1;
  base::futex_wake(is_to_end_);
}

void ProgressThread::stop() {
  if (getpid() != process_ || pthread_equal(pthread_self(), thread_) != 0) return;
  end();
  const uint64_t most = base::now_ns() + kEndNs;
  while (has_ended_ == 0 && base::now_ns() < most) base::futex_wait(has_ended_, 0, kEndNs);
}

void ProgressThread::run() {
  UsualTime usual;
  UsualTime usual_behind_sleep;  // when caches are cold
  uint64_t sleep_ns = kShortestSleepNs;
  bool has_slept = false;
  for (int looks = 0; is_to_end_ == 0;) {
    const uint64_t begin = base::thread_cpu_ns();
    look_();
    const bool has_found = (has_slept ? usual_behind_sleep : usual).is_exceeded_by(base::thread_cpu_ns() - begin);
    has_slept = false;
    if (has_found) {
      looks = kLooksBehindNews;
      sleep_ns = kShortestSleepNs;
    } else if (looks > 0) {
      --looks;
    } else {
      base::futex_wait(is_to_end_, 0, sleep_ns);
      has_slept = true;
      sleep_ns = std::min(2 * sleep_ns, kLongestSleepNs);
    }
  }
  has_ended_ = 1;
  base::futex_wake(has_ended_);
}

}  // namespace spillway::pgas

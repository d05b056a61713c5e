// Monotonic time in nanoseconds, comparable between the processes of one machine.
#pragma once

#include <ctime>

#include <cstdint>

namespace spillway::base {

inline uint64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

inline uint64_t now_ns() { return nanoseconds_of(CLOCK_MONOTONIC); }

// Processor time that the calling thread has used.
inline uint64_t thread_cpu_ns() { return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace spillway::base

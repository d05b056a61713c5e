// Sleep on, and wake sleepers of, a word in memory that processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace spillway::base {

// Sleeps while `word` holds `expected`; returns on a wake, a signal, a change or after `timeout_ns` (0: no limit).
// Returns early at will: call it in a loop that checks the condition.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns = 0);

// Wakes every thread that sleeps on `word`.
void futex_wake(std::atomic<uint32_t>& word);

}  // namespace spillway::base

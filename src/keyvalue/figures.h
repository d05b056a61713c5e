// What a process counts, for mpidrun.
#pragma once

#include <cstdint>
#include <string>

namespace spillway::keyvalue {

struct Figures {
  uint64_t o_tasks = 0;  // that have ended here, as the next ones
  uint64_t a_tasks = 0;
  uint64_t rounds = 0;  // of the iteration mode, or windows of the streaming mode
  uint64_t emitted_records = 0;
  uint64_t emitted_bytes = 0;     // of keys and values
  uint64_t shuffled_records = 0;  // what is left of them after combining, for other processes and for this one
  uint64_t sent_bytes = 0;        // to other processes
  uint64_t spilled_bytes = 0;
  uint64_t received_records = 0;  // what A tasks have been given
  uint64_t o_ns = 0;              // until everything had come
  uint64_t a_ns = 0;

  // `o_tasks=3 a_tasks=0 ...`
  std::string line() const {
    std::string text;
    const auto add = [&](const char* name, uint64_t value) {
      if (!text.empty()) text += ' ';
      text.append(name).append("=").append(std::to_string(value));
    };
    add("o_tasks", o_tasks);
    add("a_tasks", a_tasks);
    add("rounds", rounds);
    add("emitted_records", emitted_records);
    add("emitted_bytes", emitted_bytes);
    add("shuffled_records", shuffled_records);
    add("sent_bytes", sent_bytes);
    add("spilled_bytes", spilled_bytes);
    add("received_records", received_records);
    add("o_ns", o_ns);
    add("a_ns", a_ns);
    return text;
  }
};

}  // namespace spillway::keyvalue

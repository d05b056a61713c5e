// The processes of one shuffle: which of them send, and whose the records of each partition are.
#pragma once

#include <cstdint>

namespace spillway::keyvalue {

struct Route {
  int process;  // this one
  int process_count;
  int sender_count;                   // the first ones
  int first_receiver;                 // partition p is that of process first_receiver + p modulo receiver_count
  int receiver_count;                 // 0: nobody receives
  uint32_t partition_count;           // with that of the driver
  bool has_driver_partition = false;  // the last one, of process 0
  const int* processes = nullptr;     // of the partitions but that of the driver, where they are not as above

  int process_of(uint32_t partition) const {
    if (has_driver_partition && partition == partition_count - 1) return 0;
    if (processes != nullptr) return processes[partition];
    return first_receiver + static_cast<int>(partition % static_cast<uint32_t>(receiver_count));
  }
  bool sends(int some_process) const { return some_process < sender_count; }
  bool receives(int some_process) const {
    return (has_driver_partition && some_process == 0) ||
           (some_process >= first_receiver && some_process < first_receiver + receiver_count);
  }
};

}  // namespace spillway::keyvalue

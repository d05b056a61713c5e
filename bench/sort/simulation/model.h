// What is simulated: the cluster of hybrid-sort.txt, section 5.1, and what is sorted on it. Where the text has no
// number, it is an assumption, and says so; all can be changed on the command line.
#pragma once

#include <bit>
#include <cstdint>

namespace spillway::simulation {

struct Model {
  uint32_t processes = 0;
  uint64_t bytes = 0;  // that are sorted

  // Section 5.1: two sockets of eight cores, one process on each; 54 Gbit/s.
  uint32_t cores = 16;
  double link_bytes_per_s = 54e9 / 8;
  // Of a message of a few bytes, one way. Assumption: what such links have.
  double latency_s = 2e-6;
  // That only read. Assumption: a quarter. 0: all processes read and sort.
  uint32_t read_hosts = 0;
  // Of the local disk, while one reads or writes in order, and before an access elsewhere. Assumptions: with the first
  // one the final stage of 4 TB on 4,096 processes takes about the paper's time (Figure 6); the second one is usual for
  // a disk of 7,200 rotations a minute that sorts its queue.
  double disk_bytes_per_s = 75e6;
  double seek_s = 5e-3;
  // Of the parallel file system in all. Section 1: 1.24 TB a minute were sorted, each byte read and written once.
  double file_system_bytes_per_s = 2 * 1.24e12 / 60;
  // Each 16 MiB from or to a disk or the file system take their time times a random number from 1 - spread to 1 +
  // spread. Assumption: both are shared, or have moving parts.
  double spread = 0.5;
  uint64_t seed = 1;
  // Of each core: records dealt out to buckets; and sorted and moved to their places. As `spillway sort -n 1` was on a
  // machine that had other work, too (AMD EPYC, 500 MB of records of 100 bytes): 344 and 202 MB/s.
  double deal_bytes_per_s = 340e6;
  double sort_bytes_per_s = 200e6;
  // Section 5.1: 32 GB for a host; an eighth is left to the system.
  uint64_t memory_of_process = 28'000'000'000 / 16;
  uint64_t shared_memory_of_process = 14'000'000'000 / 16;
  // Of the two-sided design, on each host. Section 3.1 has one receive buffer, and several are what section 4.2 adds.
  // Assumption: it is as large as all staging buffers of one process.
  uint64_t receive_buffers = 1;
  // For each sorter, as src/sort divides its share where its largest blocks do not make more. Several of those are one
  // here.
  uint64_t most_blocks = 16;

  uint32_t hosts() const { return processes / cores; }
  uint32_t sort_hosts() const { return hosts() - read_hosts; }
  // One process reads on a host that does nothing else (section 4.3).
  uint32_t sorters() const { return sort_hosts() * cores; }

  // Collective operations on a few bytes, in a binomial tree: one message for each of its levels.
  double gather_s(uint32_t hosts) const { return latency_s * std::bit_width(hosts - 1); }
  double scatter_s(uint32_t hosts) const { return gather_s(hosts); }
  double allreduce_s(uint32_t hosts) const { return 2 * gather_s(hosts); }
};

}  // namespace spillway::simulation

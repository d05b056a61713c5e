#include "sort/two_sided_distribution.h"

#include <mpi.h>
#include <spillway/pgas.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "sort/failure.h"
#include "sort/two_sided_reader.h"
#include "sort/two_sided_receiver.h"
#include "sort/two_sided_sorter.h"
#include "storage/spill_file.h"

namespace spillway::sort {

TwoSidedDistribution::TwoSidedDistribution(const InputPlan& plan, InputFiles& files, Dealer& dealer,
                                           const TwoSidedGroups& groups, AsyncIo& io, Progress& progress,
                                           uint64_t slots, uint64_t slot_bytes, TwoSidedReceiver::Receives receives)
    : plan_(plan),
      files_(files),
      dealer_(dealer),
      groups_(groups),
      io_(io),
      progress_(progress),
      slots_(slots),
      slot_bytes_(slot_bytes),
      receives_(receives),
      // Symmetric memory only as a node's processes see each other's.
      memory_(static_cast<char*>(pgas_align(storage::kBlockBytes, slots * slot_bytes))) {
  if (memory_ == nullptr)
    throw Failure("no room for staging buffers in symmetric memory", "give each process more (--memory)");
}

TwoSidedDistribution::~TwoSidedDistribution() { pgas_free(memory_); }

void TwoSidedDistribution::run() {
  switch (groups_.part) {
    case TwoSidedGroups::Part::reader:
      TwoSidedReader(plan_, files_, groups_, slots_of(pgas_my_pe()), io_, progress_).run();
      break;
    case TwoSidedGroups::Part::receiver:
      TwoSidedReceiver(plan_, groups_, slots_of_node(), receives_).run();
      break;
    case TwoSidedGroups::Part::sorter: {
      TwoSidedSorter sorter(plan_, groups_, slots_of_node(), dealer_, io_);
      sorter.run();
      times_.waited_ns = sorter.waited_ns();
      break;
    }
  }
  const uint64_t begin = base::now_ns();
  dealer_.finish();
  io_.finish();
  times_.flushed_ns = base::now_ns() - begin;
}

std::vector<char*> TwoSidedDistribution::slots_of(int process) const {
  std::vector<char*> slots;
  for (uint64_t slot = 0; slot < slots_; ++slot)
    slots.push_back(static_cast<char*>(pgas_ptr(memory_ + slot * slot_bytes_, process)));
  return slots;
}

std::vector<char*> TwoSidedDistribution::slots_of_node() const {
  int count = 0;
  MPI_Comm_size(groups_.node, &count);
  std::vector<int> of_node(static_cast<size_t>(count));
  std::vector<int> processes(of_node.size());
  std::iota(of_node.begin(), of_node.end(), 0);
  MPI_Group node = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(groups_.node, &node);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(node, count, of_node.data(), world, processes.data());
  MPI_Group_free(&node);
  MPI_Group_free(&world);
  std::vector<char*> slots;
  for (int process : processes)
    for (char* slot : slots_of(process)) slots.push_back(slot);
  if (std::find(slots.begin(), slots.end(), nullptr) != slots.end())
    throw Failure("two-sided delivery needs the memory of all processes of a host", "unset PGAS_PES_PER_NODE");
  return slots;
}

}  // namespace spillway::sort

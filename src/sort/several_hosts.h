// What differs between the hosts of a sort: whether they have its files, and what their processes may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sort/input_plan.h"

namespace spillway::sort {

// All are collective over MPI_COMM_WORLD. Of those that throw Failure one process of each host that it is about does;
// the others wait for it, and for the end of the job.

// As MPI sees them; what PGAS_PES_PER_NODE says is not looked at.
bool are_on_several_nodes();

// In bytes, what each process may use, the same in all: of its node's budget (--memory) in `processes` equal parts one,
// without `reserve`. The least of all nodes counts, as all processes have buffers of one size. Throws Failure where no
// Spillway is that knows of a budget.
uint64_t memory_of_process(uint64_t processes, uint64_t reserve);

// Of a host's processes whose directory is on the same device, the sum of their `value`. `directory` may differ.
int64_t sum_of_sharers(const char* directory, int64_t value);

// Throws Failure where a host does not have these files, with these sizes.
void require_inputs(const std::vector<InputFile>& files);

// Why this host cannot write to the file or directory, a number of errno; 0 where it can, and for all of its processes
// but one.
int why_not_writable(const std::string& path);

}  // namespace spillway::sort

// Part files of this process's job that are whole, and get their names when all of the job is.
#pragma once

#include <spillway/mpid_files.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::compression {

// As it is when it is whole, whatever its name is then.
struct OutputPart {
  std::string partial;  // the name until all of the job is whole
  std::string path;
  uint64_t bytes;
  int64_t modified_ns;
};

// A job begins. `keeps_tasks`: one that fails may be started again without tasks that have ended. `task_count` says how
// many tasks the side of the current one has; INT_MAX outside of tasks.
void begin_parts(bool keeps_tasks, int (*task_count)());
// Parts that have become whole since the last call: whoever asks keeps what a job that is started again needs to know
// of them, and they stay if this one fails.
std::vector<OutputPart> parts_to_keep();
// The same of all parts.
std::vector<OutputPart> all_parts_to_keep();
// Of a part of the job before: whether it is as it was, under either name; and whether nothing has these names but what
// was written before it, as by another job.
bool is_as_kept(const OutputPart& part);
bool is_gone(const OutputPart& part);
// Those get their names with this job's.
void adopt_parts(const std::vector<OutputPart>& parts);
// Before that: which parts are whole here; and which ones that were adopted are not as they were, so that another
// process has to have written them anew, or knows of a later one. By their names until all is whole.
std::vector<std::string> parts_at_hand();
std::vector<std::string> parts_of_others();
// All tasks of all processes have ended well. The steps in their order, each when all processes have taken the one
// before. Throws std::runtime_error, at the first step before anything is renamed.
void publish_parts(MPI_D_Publish_step step);
// The job has failed here, and nothing of its parts is to stay but what is kept.
void drop_parts();

}  // namespace spillway::compression

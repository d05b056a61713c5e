// Part files of this process's job that are whole, and get their names when all of the job is.
#pragma once

namespace spillway::compression {

// A job begins. `waits`: names are given at its end, by publish_parts(), and not at once. `task_count` says how many
// tasks the side of the current one has; INT_MAX outside of tasks.
void begin_parts(bool waits, int (*task_count)());
// All tasks of all processes have ended well. Throws std::runtime_error where a file cannot be renamed.
void publish_parts();
// The job has failed here, and nothing of its parts is to stay.
void drop_parts();

}  // namespace spillway::compression

// Files of output that are being written, under names that they do not keep: nothing of them is to stay where the
// process ends the job meanwhile.
#pragma once

namespace spillway::compression {

// The job has failed here. From any thread.
void drop_open_files();

}  // namespace spillway::compression

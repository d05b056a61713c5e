// Work on several threads of which any may fail.
#pragma once

#include <functional>

namespace apps {

// Runs work(0) ... work(thread_count - 1), each on a thread, and throws what the first one that failed has thrown.
void run_threads(unsigned thread_count, const std::function<void(unsigned)>& work);

}  // namespace apps

#include "run_threads.h"

#include <exception>
#include <thread>
#include <vector>

namespace apps {

void run_threads(unsigned thread_count, const std::function<void(unsigned)>& work) {
  std::vector<std::exception_ptr> failures(thread_count);
  {
    std::vector<std::jthread> threads;
    for (unsigned index = 0; index < thread_count; ++index) {
      threads.emplace_back([&, index] {
        try {
          work(index);
        } catch (...) {
          failures[index] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace apps

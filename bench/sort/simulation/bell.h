// As a process of src/sort sleeps until its bell has rung again (pgas_uint64_wait_until).
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

namespace spillway::simulation {

class Bell {
 public:
  uint64_t rings() const { return rings_; }
  void ring() {
    ++rings_;
    for (const simgrid::s4u::SemaphorePtr& waiting : std::exchange(waiting_, {})) waiting->release();
  }
  // Sleeps while it has rung that often.
  void wait(uint64_t rings) {
    if (rings_ != rings) return;
    const simgrid::s4u::SemaphorePtr waits = simgrid::s4u::Semaphore::create(0);
    waiting_.push_back(waits);
    waits->acquire();
  }

 private:
  uint64_t rings_ = 0;
  std::vector<simgrid::s4u::SemaphorePtr> waiting_;
};

}  // namespace spillway::simulation

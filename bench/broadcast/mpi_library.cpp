#include "mpi_library.h"

#include <smpi/mpi.h>

#include <algorithm>

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr const char* kInstance = "broadcast";

}  // namespace

void configure_mpi_library(const std::string& algorithm) {
  smpi_init_options();  // before that, SimGrid does not know SMPI's options; SMPI_init() reads them
  s4u::Engine::set_config("smpi/bcast:" + algorithm);
  s4u::Engine::set_config("smpi/simulate-computation:no");
  SMPI_init();
}

double run_mpi_library(const Cluster& cluster, const std::vector<uint32_t>& order, uint64_t bytes) {
  double begin_s = 0, end_s = 0;
  // All ranks' buffers: nobody looks at the data, and SMPI copies nothing between such.
  void* data = SMPI_SHARED_MALLOC(bytes);
  SMPI_app_instance_register(
      kInstance, [](int, char**) {}, static_cast<int>(order.size()));
  for (size_t rank = 0; rank < order.size(); ++rank) {
    s4u::ActorPtr actor = s4u::Actor::init("rank" + std::to_string(rank), cluster.host(order[rank]));
    actor->set_property("instance_id", kInstance);
    actor->set_property("rank", std::to_string(rank));
    actor->start([&] {
      MPI_Init(nullptr, nullptr);
      MPI_Barrier(MPI_COMM_WORLD);
      begin_s = std::max(begin_s, s4u::Engine::get_clock());
      MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
      end_s = std::max(end_s, s4u::Engine::get_clock());
      MPI_Finalize();
    });
  }
  s4u::Engine::get_instance()->run();
  SMPI_SHARED_FREE(data);
  return end_s - begin_s;
}

}  // namespace spillway::simulation

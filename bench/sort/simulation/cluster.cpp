#include "cluster.h"

#include <algorithm>
#include <string>

#include "simulation/star_links.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr uint64_t kVariedBytes = 16 << 20;

}  // namespace

SortCluster::SortCluster(const Model& model) : model_(model), random_(model.seed), disk_is_free_s_(model.hosts()) {
  s4u::NetZone* zone = s4u::create_star_zone("cluster");
  const auto add = [&](const std::string& name, double bytes_per_s) {
    s4u::Host* host = zone->create_host(name, 1e9);
    connect(zone, host->get_netpoint(), nullptr, name, bytes_per_s, model.latency_s / 2);
    return host;
  };
  // The two stages use it one after the other, reading or writing: no matter that its link has both directions.
  file_system_ = add("file-system", model.file_system_bytes_per_s);
  file_system_->seal();
  for (uint32_t number = 0; number < model.hosts(); ++number) {
    s4u::Host* host = add("host" + std::to_string(number), model.link_bytes_per_s);
    host->seal();
    hosts_.push_back(host);
  }
  zone->seal();
}

double SortCluster::varied(uint64_t bytes) {
  double varied = 0;
  for (uint64_t done = 0; done < bytes; done += kVariedBytes) {
    // The standard library's own distributions may differ from one to the next.
    const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;
    const auto part = static_cast<double>(std::min(kVariedBytes, bytes - done));
    varied += part * (1 + model_.spread * (2 * uniform - 1));
  }
  return varied;
}

void SortCluster::read_file_system(uint32_t host, uint64_t bytes) {
  s4u::Comm::sendto(file_system_, hosts_[host], static_cast<uint64_t>(varied(bytes)));
}

s4u::CommPtr SortCluster::write_file_system(uint32_t host, uint64_t bytes) {
  return s4u::Comm::sendto_async(hosts_[host], file_system_, static_cast<uint64_t>(varied(bytes)));
}

void SortCluster::send(uint32_t from, uint32_t to, uint64_t bytes) {
  s4u::Comm::sendto(hosts_[from], hosts_[to], bytes);
}

double SortCluster::use_disk(uint32_t host, double seconds) {
  double& is_free_s = disk_is_free_s_[host];
  is_free_s = std::max(is_free_s, s4u::Engine::get_clock()) + seconds;
  return is_free_s;
}

void SortCluster::read_disk(uint32_t host, uint64_t bytes, uint64_t pieces) {
  const double seeks_s = static_cast<double>(pieces) * model_.seek_s;
  s4u::this_actor::sleep_until(use_disk(host, varied(bytes) / model_.disk_bytes_per_s + seeks_s));
}

double SortCluster::write_disk(uint32_t host, uint64_t bytes) {
  return use_disk(host, varied(bytes) / model_.disk_bytes_per_s);
}

}  // namespace spillway::simulation

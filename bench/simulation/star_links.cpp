#include "simulation/star_links.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

void connect(s4u::NetZone* zone, simgrid::kernel::routing::NetPoint* member,
             simgrid::kernel::routing::NetPoint* gateway, const std::string& name, double bytes_per_s,
             double latency_s) {
  s4u::Link* link = zone->create_split_duplex_link(name + "-link", bytes_per_s);
  link->set_latency(latency_s);
  link->seal();
  zone->add_route(member, nullptr, gateway, nullptr, {{link, s4u::LinkInRoute::Direction::UP}}, true);
}

}  // namespace spillway::simulation

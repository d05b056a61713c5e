// Links from the members of a star to its middle.
#pragma once

#include <simgrid/s4u.hpp>
#include <string>

namespace spillway::simulation {

// A full-duplex link of `bytes_per_s` in each direction from `member`, a host or a zone by way of `gateway`, to the
// middle of `zone`.
void connect(simgrid::s4u::NetZone* zone, simgrid::kernel::routing::NetPoint* member,
             simgrid::kernel::routing::NetPoint* gateway, const std::string& name, double bytes_per_s,
             double latency_s);

}  // namespace spillway::simulation

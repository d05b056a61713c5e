// Communicators are made and freed. Every rank works out who is in the new ones, also those that are in none.
#include <algorithm>

#include "program.h"

namespace {

constexpr size_t kMostCommunicators = 9;

// Where a rank is in a communicator of these groups, which are world ranks.
void find_myself(Program& program, Communicator& made) {
  for (size_t group = 0; group < made.groups.size(); ++group) {
    const std::vector<int>& members = made.groups[group];
    const auto found = std::find(members.begin(), members.end(), program.rank());
    if (found == members.end()) continue;
    made.my_group = static_cast<int>(group);
    made.my_rank = static_cast<int>(found - members.begin());
  }
}

void keep(Program& program, Communicator made) {
  find_myself(program, made);
  if (made.is_mine()) {
    int rank = 0, size = 0;
    MPI_Comm_rank(made.handle, &rank);
    MPI_Comm_size(made.handle, &size);
    program.add(static_cast<uint64_t>(rank * 1000 + size));
  }
  program.communicators().push_back(std::move(made));
}

void duplicate(Program& program, Random& random, const Communicator& parent) {
  const bool is_blocking = random.chance(60);
  program.announce(is_blocking ? "MPI_Comm_dup" : "MPI_Comm_idup");
  Communicator made = parent;
  if (parent.is_mine()) {
    if (is_blocking) {
      MPI_Comm_dup(parent.handle, &made.handle);
    } else {
      MPI_Request request;
      MPI_Comm_idup(parent.handle, &made.handle, &request);
      program.delay();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  keep(program, made);
}

void split(Program& program, Random& random, const Communicator& parent) {
  program.announce("MPI_Comm_split");
  constexpr int kNone = 2;  // of the colours 0, 1 and none
  const int colours = random.chance(30) ? 3 : 2;
  struct Member {
    int colour, key, world_rank;
  };
  std::vector<Member> members;
  for (int world_rank : parent.groups[0]) members.push_back({random.below(colours), random.below(3), world_rank});
  MPI_Comm handle = MPI_COMM_NULL;
  int my_colour = kNone;
  if (parent.is_mine()) {
    const Member& me = members[static_cast<size_t>(parent.my_rank)];
    my_colour = me.colour;
    MPI_Comm_split(parent.handle, me.colour == kNone ? MPI_UNDEFINED : me.colour, me.key, &handle);
  }
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.key < b.key; });
  for (int colour = 0; colour < kNone; ++colour) {
    Communicator made;
    made.groups.resize(1);
    for (const Member& member : members) {
      if (member.colour == colour) made.groups[0].push_back(member.world_rank);
    }
    if (my_colour == colour) made.handle = handle;
    if (!made.groups[0].empty()) keep(program, made);
  }
}

void from_group(Program& program, Random& random, const Communicator& parent) {
  const bool is_of_all = random.chance(50);
  program.announce(is_of_all ? "MPI_Comm_create" : "MPI_Comm_create_group");
  std::vector<int> chosen;
  for (int i = 0; i < parent.size(0); ++i) chosen.push_back(i);
  random.shuffle(chosen);
  chosen.resize(static_cast<size_t>(random.between(1, parent.size(0))));
  Communicator made;
  made.groups.resize(1);
  for (int rank : chosen) made.groups[0].push_back(parent.groups[0][static_cast<size_t>(rank)]);
  const bool is_member = std::find(chosen.begin(), chosen.end(), parent.my_rank) != chosen.end();
  if (parent.is_mine()) {
    MPI_Group all, group;
    MPI_Comm_group(parent.handle, &all);
    MPI_Group_incl(all, static_cast<int>(chosen.size()), chosen.data(), &group);
    if (is_of_all) {
      MPI_Comm_create(parent.handle, group, &made.handle);
    } else if (is_member) {
      MPI_Comm_create_group(parent.handle, group, 5, &made.handle);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
  }
  keep(program, made);
}

void grid(Program& program, Random& random, const Communicator& parent) {
  program.announce("MPI_Cart_create");
  const int dimensions = random.between(1, 2);
  int sizes[2] = {0, 0};
  const int periods[2] = {random.below(2), random.below(2)};
  MPI_Dims_create(parent.size(0), dimensions, sizes);
  Communicator made = parent;
  made.handle = MPI_COMM_NULL;
  made.is_cartesian = true;
  if (parent.is_mine()) MPI_Cart_create(parent.handle, dimensions, sizes, periods, 0, &made.handle);
  keep(program, made);
}

void two_groups(Program& program, Random& random, const Communicator& parent) {
  program.announce("MPI_Intercomm_create");
  const int boundary = random.between(1, parent.size(0) - 1);
  Communicator made;
  made.groups.resize(2);
  for (int i = 0; i < parent.size(0); ++i) {
    made.groups[i < boundary ? 0 : 1].push_back(parent.groups[0][static_cast<size_t>(i)]);
  }
  if (parent.is_mine()) {
    const bool is_low = parent.my_rank < boundary;
    MPI_Comm local;
    MPI_Comm_split(parent.handle, is_low ? 0 : 1, 0, &local);
    program.delay();
    MPI_Intercomm_create(local, 0, parent.handle, is_low ? boundary : 0, 17, &made.handle);
    MPI_Comm_free(&local);
  }
  keep(program, made);
}

void merged(Program& program, Random& random, const Communicator& parent) {
  program.announce("MPI_Intercomm_merge");
  const int high = random.below(2);
  Communicator made;
  made.groups.resize(1);
  for (int world_rank : parent.groups[static_cast<size_t>(1 - high)]) made.groups[0].push_back(world_rank);
  for (int world_rank : parent.groups[static_cast<size_t>(high)]) made.groups[0].push_back(world_rank);
  if (parent.is_mine()) MPI_Intercomm_merge(parent.handle, parent.my_group == high ? 1 : 0, &made.handle);
  keep(program, made);
}

}  // namespace

void make_communicator(Program& program, Random& random) {
  if (program.communicators().size() >= kMostCommunicators) return free_communicator(program, random);
  const Communicator parent = program.some_communicator(random, true);
  if (parent.is_inter())
    return random.chance(50) ? merged(program, random, parent) : duplicate(program, random, parent);
  switch (random.below(6)) {
    case 0:
      return duplicate(program, random, parent);
    case 1:
      return split(program, random, parent);
    case 2:
      return from_group(program, random, parent);
    case 3:
      return grid(program, random, parent);
    default:
      return parent.size(0) > 1 ? two_groups(program, random, parent) : split(program, random, parent);
  }
}

void free_communicator(Program& program, Random& random) {
  program.announce("MPI_Comm_free");
  std::vector<Communicator>& all = program.communicators();
  if (all.size() < 2) return;
  const int index = random.between(1, static_cast<int>(all.size()) - 1);
  Communicator& chosen = all[static_cast<size_t>(index)];
  if (chosen.is_mine()) MPI_Comm_free(&chosen.handle);
  all.erase(all.begin() + index);
}

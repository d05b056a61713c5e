// What is done around a fork (fork_entry_point.cpp).
#pragma once

namespace spillway::interpose {

// Once, whoever comes first: at the latest when the rank begins.
void take_care_of_forks();

}  // namespace spillway::interpose

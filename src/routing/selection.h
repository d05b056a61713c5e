// Which algorithm a broadcast between nodes takes.
//
// As text: the number of rules, then of each the most nodes, the most bytes and the name of the algorithm, with blanks
// between them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "routing/broadcast.h"

namespace spillway::routing {

// For broadcasts to at most so many nodes, the root included, of at most so many bytes.
struct Rule {
  uint32_t most_nodes;
  uint64_t most_bytes;
  Broadcast algorithm;
};

class Selection {
 public:
  // The built-in rules.
  Selection();
  explicit Selection(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  std::string text() const;

  // By the first rule that fits; a chain when none does.
  Broadcast choose(uint32_t nodes, uint64_t bytes) const;

 private:
  std::vector<Rule> rules_;
};

// What text() has written; after anything else, `text` has failed.
Selection read_selection(std::istream& text);

}  // namespace spillway::routing

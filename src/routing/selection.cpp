#include "routing/selection.h"

#include <sstream>

namespace spillway::routing {
namespace {

constexpr uint32_t kAnyNodes = UINT32_MAX;
constexpr uint64_t kAnyBytes = UINT64_MAX;

}  // namespace

Selection::Selection()
    : rules_{
          {2, kAnyBytes, Broadcast::flat},
          {8, 32 << 10, Broadcast::flat},
          {kAnyNodes, 32 << 10, Broadcast::binomial},
          {kAnyNodes, kAnyBytes, Broadcast::chain},
      } {}

Broadcast Selection::choose(uint32_t nodes, uint64_t bytes) const {
  for (const Rule& rule : rules_)
    if (nodes <= rule.most_nodes && bytes <= rule.most_bytes) return rule.algorithm;
  return Broadcast::chain;
}

std::string Selection::text() const {
  std::ostringstream text;
  text << rules_.size();
  for (const Rule& rule : rules_)
    text << ' ' << rule.most_nodes << ' ' << rule.most_bytes << ' ' << name_of(rule.algorithm);
  return text.str();
}

Selection read_selection(std::istream& text) {
  size_t count = 0;
  text >> count;
  std::vector<Rule> rules;
  for (Rule rule{}; rules.size() < count && text; rules.push_back(rule)) {
    std::string name;
    text >> rule.most_nodes >> rule.most_bytes >> name;
    if (!find(name, rule.algorithm)) text.setstate(std::ios::failbit);
  }
  return Selection(std::move(rules));
}

}  // namespace spillway::routing

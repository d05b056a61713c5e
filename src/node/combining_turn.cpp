#include "node/combining_turn.h"

namespace spillway::node {

CombiningTurn::CombiningTurn(LocalRank& self, uint64_t context, int32_t tag)
    : self_(self), context_(context), tag_(tag) {
  NodeLock lock(self.header());
  self.record().combining_context = context;
  self.record().combining_tag = tag;
}

CombiningTurn::~CombiningTurn() {
  NodeLock lock(self_.header());
  self_.record().combining_context = 0;
}

// Who has the turn takes the operation away from the others.
bool CombiningTurn::take() {
  NodeLock lock(self_.header());
  if (self_.record().combining_context != context_) return false;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    RankRecord& rank = self_.peer(i);
    if (rank.combining_context == context_ && rank.combining_tag == tag_) rank.combining_context = 0;
  }
  return true;
}

}  // namespace spillway::node

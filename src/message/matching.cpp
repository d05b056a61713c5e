#include "message/matching.h"

#include <algorithm>

namespace spillway::message {
namespace {

bool fits(int32_t wanted_source, int32_t wanted_tag, const Envelope& envelope) {
  return (wanted_source == kAnySource || wanted_source == envelope.source) &&
         (wanted_tag == kAnyTag || wanted_tag == envelope.tag);
}

template <typename List>
auto find_fitting(List& unexpected, int32_t source, int32_t tag) {
  return std::find_if(unexpected.begin(), unexpected.end(),
                      [&](const std::unique_ptr<Envelope>& e) { return fits(source, tag, *e); });
}

}  // namespace

PostedReceive* MatchingEngine::arrive(std::unique_ptr<Envelope> envelope) {
  Queues& queues = queues_[envelope->context];
  for (auto it = queues.posted.begin(); it != queues.posted.end(); ++it) {
    PostedReceive* receive = it->receive;
    if (!fits(it->source, it->tag, *envelope)) continue;
    queues.posted.erase(it);
    if (is_unwanted(receive)) --queues.unwanted_count;
    if (queues.is_to_be_forgotten) forget(envelope->context);
    receive->matched = std::move(envelope);
    return receive;
  }
  queues.unexpected.push_back(std::move(envelope));
  return nullptr;
}

void MatchingEngine::post(PostedReceive* receive) {
  receive->matched = extract(receive->context, receive->source, receive->tag);
  if (receive->matched == nullptr)
    queues_[receive->context].posted.push_back(Posted{receive->source, receive->tag, receive});
}

std::list<MatchingEngine::Posted>::iterator MatchingEngine::find_posted(Queues& queues, const PostedReceive* receive) {
  return std::find_if(queues.posted.begin(), queues.posted.end(),
                      [&](const Posted& posted) { return posted.receive == receive; });
}

bool MatchingEngine::withdraw(PostedReceive* receive) {
  auto queues = queues_.find(receive->context);
  if (queues == queues_.end()) return false;
  auto it = find_posted(queues->second, receive);
  if (it == queues->second.posted.end()) return false;
  queues->second.posted.erase(it);
  return true;
}

void MatchingEngine::disown(PostedReceive* receive) {
  Queues& queues = queues_.at(receive->context);
  const auto last = std::find_if(queues.posted.rbegin(), queues.posted.rend(),
                                 [&](const Posted& posted) { return posted.receive == receive; });
  last->receive = &unwanted_;
  ++queues.unwanted_count;
}

size_t MatchingEngine::unwanted_count(uint64_t context) const {
  const auto queues = queues_.find(context);
  return queues == queues_.end() ? 0 : queues->second.unwanted_count;
}

const Envelope* MatchingEngine::probe(uint64_t context, int32_t source, int32_t tag) const {
  auto queues = queues_.find(context);
  if (queues == queues_.end()) return nullptr;
  auto it = find_fitting(queues->second.unexpected, source, tag);
  return it == queues->second.unexpected.end() ? nullptr : it->get();
}

std::unique_ptr<Envelope> MatchingEngine::extract(uint64_t context, int32_t source, int32_t tag) {
  auto queues = queues_.find(context);
  if (queues == queues_.end()) return nullptr;
  auto it = find_fitting(queues->second.unexpected, source, tag);
  if (it == queues->second.unexpected.end()) return nullptr;
  std::unique_ptr<Envelope> found = std::move(*it);
  queues->second.unexpected.erase(it);
  return found;
}

std::unique_ptr<Envelope> MatchingEngine::take_back(uint32_t sender, uint32_t token) {
  for (auto& [context, queues] : queues_) {
    auto& unexpected = queues.unexpected;
    const auto it = std::find_if(unexpected.begin(), unexpected.end(), [&](const std::unique_ptr<Envelope>& e) {
      return e->sender == sender && e->token == token;
    });
    if (it == unexpected.end()) continue;
    std::unique_ptr<Envelope> found = std::move(*it);
    unexpected.erase(it);
    return found;
  }
  return nullptr;
}

void MatchingEngine::forget(uint64_t context) {
  auto queues = queues_.find(context);
  if (queues == queues_.end()) return;
  queues->second.is_to_be_forgotten = true;
  if (queues->second.posted.empty() && queues->second.unexpected.empty()) queues_.erase(queues);
}

size_t MatchingEngine::unexpected_count() const {
  size_t count = 0;
  for (const auto& [context, queues] : queues_) count += queues.unexpected.size();
  return count;
}

}  // namespace spillway::message

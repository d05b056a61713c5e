#include "keyvalue/kept_parts.h"

#include <cstdint>
#include <cstring>

namespace spillway::keyvalue {
namespace {

// Before the two names, each with a NUL behind it.
struct State {
  uint64_t bytes;
  int64_t modified_ns;
};

}  // namespace

std::string note_of(const std::vector<compression::OutputPart>& parts) {
  std::string note;
  for (const compression::OutputPart& part : parts) {
    const State state{part.bytes, part.modified_ns};
    note.append(reinterpret_cast<const char*>(&state), sizeof state);
    note.append(part.partial.c_str(), part.partial.size() + 1);
    note.append(part.path.c_str(), part.path.size() + 1);
  }
  return note;
}

std::vector<compression::OutputPart> parts_in(const std::string& note) {
  std::vector<compression::OutputPart> parts;
  for (size_t at = 0; at < note.size();) {
    State state;
    std::memcpy(&state, note.data() + at, sizeof state);
    const std::string partial = note.c_str() + at + sizeof state;
    const std::string path = note.c_str() + at + sizeof state + partial.size() + 1;
    at += sizeof state + partial.size() + 1 + path.size() + 1;
    parts.push_back({partial, path, state.bytes, state.modified_ns});
  }
  return parts;
}

}  // namespace spillway::keyvalue

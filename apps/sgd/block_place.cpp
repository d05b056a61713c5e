#include "block_place.h"

#include <spillway/spillway.h>

#include <optional>
#include <utility>

#include "scratch_file.h"

namespace apps::sgd {

namespace {

// Whatever needs room has to find it: the system, or Spillway, at the first access that misses.
class InMemory : public BlockPlace {
 public:
  explicit InMemory(Block block) : block_(std::move(block)) {}
  const Block& bring() override { return block_; }
  void put_away() override {}

 private:
  Block block_;
};

// Explicit input and output: in a file of the rank's own, and in memory only during its step.
class InFile : public BlockPlace {
 public:
  InFile(Block block, const std::string& directory) : shape_(block.shape()), file_(directory) {
    file_.write_at(0, block.bytes());
    file_.read_directly();
  }

  const Block& bring() override {
    block_.emplace(shape_);
    file_.read_at(0, block_->bytes());
    return *block_;
  }
  void put_away() override { block_.reset(); }
  [[nodiscard]] bool is_direct() const override { return file_.is_direct(); }

 private:
  BlockShape shape_;
  ScratchFile file_;
  std::optional<Block> block_;
};

// Explicit control: in memory, and Spillway hears when it is needed. What Spillway answers does not matter: without it,
// or for a block too small for it, there is nothing to do.
class Controlled : public BlockPlace {
 public:
  explicit Controlled(Block block) : block_(std::move(block)) { put_away(); }

  const Block& bring() override {
    static_cast<void>(spillway_load(block_.bytes().data(), block_.bytes().size()));
    return block_;
  }
  void put_away() override { static_cast<void>(spillway_unload(block_.bytes().data(), block_.bytes().size())); }

 private:
  Block block_;
};

}  // namespace

std::unique_ptr<BlockPlace> make_place(PlaceKind kind, Block block, const std::string& scratch_directory) {
  switch (kind) {
    case PlaceKind::memory:
      return std::make_unique<InMemory>(std::move(block));
    case PlaceKind::file:
      return std::make_unique<InFile>(std::move(block), scratch_directory);
    case PlaceKind::controlled:
      return std::make_unique<Controlled>(std::move(block));
  }
  return nullptr;
}

}  // namespace apps::sgd

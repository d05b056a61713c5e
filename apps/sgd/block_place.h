// Where a rank's block of the matrix is while other ranks work: most of the time, as each rank works in one step of
// each pass only.
#pragma once

#include <memory>
#include <string>

#include "block.h"

namespace apps::sgd {

enum class PlaceKind { memory, file, controlled };

class BlockPlace {
 public:
  virtual ~BlockPlace() = default;

  // The block, in memory until put_away(). Throws when it cannot be had.
  virtual const Block& bring() = 0;
  virtual void put_away() = 0;
  // False where it reads a file in a file system that refuses O_DIRECT.
  [[nodiscard]] virtual bool is_direct() const { return true; }
};

// `scratch_directory` is for PlaceKind::file.
std::unique_ptr<BlockPlace> make_place(PlaceKind kind, Block block, const std::string& scratch_directory);

}  // namespace apps::sgd

// The factors of all rows, or of all columns, in a scratch file, of which one segment at a time is in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "factor_model.h"
#include "file_io.h"
#include "large_array.h"
#include "scratch_file.h"

namespace apps::sgd {

class FactorFile {
 public:
  // Holds starting values. `first_rows` are those of the segments, and one more.
  FactorFile(const Model& model, Purpose purpose, std::vector<uint64_t> first_rows, const std::string& directory);

  enum class Use { read, update };
  // The segment, valid until another is brought, which writes this one back if it has been brought to be updated.
  std::span<float> bring(uint64_t segment, Use use);

  // All segments, one after the other.
  void write_to(const File& output);

 private:
  void write_back();
  [[nodiscard]] uint64_t values_of(uint64_t segment) const {
    return (first_rows_[segment + 1] - first_rows_[segment]) * model_.factors;
  }
  [[nodiscard]] uint64_t position_of(uint64_t segment) const {
    return first_rows_[segment] * model_.factors * sizeof(float);
  }

  const Model model_;
  const std::vector<uint64_t> first_rows_;
  ScratchFile file_;
  LargeArray<float> memory_;  // fits the largest segment
  std::optional<uint64_t> segment_;
  bool is_changed_ = false;
};

}  // namespace apps::sgd

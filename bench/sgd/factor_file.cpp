#include "factor_file.h"

#include <algorithm>
#include <utility>

namespace apps::sgd {

FactorFile::FactorFile(const Model& model, Purpose purpose, std::vector<uint64_t> first_rows,
                       const std::string& directory)
    : model_(model), first_rows_(std::move(first_rows)), file_(directory) {
  uint64_t most_rows = 0;
  for (size_t segment = 0; segment + 1 < first_rows_.size(); ++segment) {
    most_rows = std::max(most_rows, first_rows_[segment + 1] - first_rows_[segment]);
  }
  memory_ = LargeArray<float>(most_rows * model.factors);
  for (size_t segment = 0; segment + 1 < first_rows_.size(); ++segment) {
    const std::span<float> values = std::span<float>(memory_).first(values_of(segment));
    fill_starting_values(model, purpose, first_rows_[segment], values);
    file_.write_at(position_of(segment), std::as_bytes(values));
  }
}

std::span<float> FactorFile::bring(uint64_t segment, Use use) {
  const std::span<float> values = std::span<float>(memory_).first(values_of(segment));
  if (segment_ != segment) {
    write_back();
    file_.read_at(position_of(segment), std::as_writable_bytes(values));
    segment_ = segment;
  }
  is_changed_ = is_changed_ || use == Use::update;
  return values;
}

void FactorFile::write_back() {
  if (std::exchange(is_changed_, false)) {
    file_.write_at(position_of(*segment_), std::as_bytes(std::span<float>(memory_).first(values_of(*segment_))));
  }
}

void FactorFile::write_to(const File& output) {
  for (size_t segment = 0; segment + 1 < first_rows_.size(); ++segment) {
    const std::span<float> values = bring(segment, Use::read);
    output.write_at(position_of(segment), values.data(), values.size_bytes());
  }
}

}  // namespace apps::sgd

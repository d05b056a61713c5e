// Feature vectors of pictures in files, divided among tasks. What is wrong with a file is thrown as a
// std::runtime_error that names it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "float_rows.h"

namespace apps::clustering {

// Which patch of which picture a vector is of.
struct Place {
  int32_t picture;
  int32_t row;
  int32_t column;
};

struct PictureVectors {
  explicit PictureVectors(size_t columns) : features(columns) {}

  std::vector<Place> places;
  FloatRows features;
};

class VectorFiles {
 public:
  virtual ~VectorFiles() = default;

  // Into how many tasks the files are divided.
  [[nodiscard]] virtual size_t size() const = 0;
  [[nodiscard]] virtual PictureVectors of_task(int task, int tasks) const = 0;
  // From all over the files: of n vectors, row i is number i * n / count. Throws where there are fewer. Text and
  // compressed files are read twice, as how many vectors they have is not known before.
  [[nodiscard]] virtual FloatRows spread(size_t count) const = 0;
};

// Lines of `picture row column feature ...`, with spaces, tabs or commas between them.
std::unique_ptr<VectorFiles> text_vector_files(const std::vector<std::string>& paths, size_t columns);

// Records of three int32 and a float32 for each feature, all little-endian.
std::unique_ptr<VectorFiles> binary_vector_files(const std::vector<std::string>& paths, size_t columns);

}  // namespace apps::clustering

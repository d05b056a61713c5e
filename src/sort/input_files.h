// The files of an input plan, open as long as somebody reads them: there may be more of them than a process may open.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sort/direct_file.h"
#include "sort/input_plan.h"

namespace spillway::sort {

class InputFiles {
 public:
  // `plan` stays.
  explicit InputFiles(const InputPlan& plan) : plan_(plan) {}

  // Throws Failure. A read keeps what this returns until it is done.
  std::shared_ptr<DirectFile> open(size_t file) {
    if (const auto found = files_.find(file); found != files_.end()) return found->second;
    if (files_.size() == kMostOpen) files_.clear();
    return files_[file] = std::make_shared<DirectFile>(open_to_read(plan_.files()[file].path));
  }

 private:
  static constexpr size_t kMostOpen = 64;

  const InputPlan& plan_;
  std::map<size_t, std::shared_ptr<DirectFile>> files_;
};

}  // namespace spillway::sort

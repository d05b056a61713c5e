// Part files in the note of a checkpoint's file: a job that is started again gives names to those of tasks that it
// leaves out.
#pragma once

#include <string>
#include <vector>

#include "compression/output_parts.h"

namespace spillway::keyvalue {

std::string note_of(const std::vector<compression::OutputPart>& parts);
std::vector<compression::OutputPart> parts_in(const std::string& note);

}  // namespace spillway::keyvalue

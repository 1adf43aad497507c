// SPDX-License-Identifier: MIT
//
// The lines of tuning data that hold an element layout of cooperative matrices. tuning_file.hpp has an example.
#pragma once

#include <string_view>

#include <vkflash/vkflash.h>

#include "tiles/tuning/reader.hpp"

namespace vkf {

// Reads the rest of a line that starts with "matrix". Refuses layouts that no device can have. Sets *usable to whether
// kernels can use the layout.
bool readMatrixLine(TuningReader& reader, std::string_view line, VkfMatrixLayout* layout, bool* usable);

} // namespace vkf

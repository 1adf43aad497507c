// SPDX-License-Identifier: MIT
//
// Formats numbers for people.
#pragma once

#include <string>

namespace vkf::tools {

std::string bytesText(double bytes);           // "12.5 KiB"
std::string operationsText(double operations); // "1.07 G"
std::string timeText(double seconds);          // "3.21 ms"

} // namespace vkf::tools

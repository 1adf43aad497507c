// SPDX-License-Identifier: MIT
//
// Formats numbers for people.
#pragma once

#include <string>

namespace vkf::tools {

std::string bytesText(double bytes);           // "12.5 KiB"
std::string operationsText(double operations); // "1.07 G"
std::string timeText(double seconds);          // "3.21 ms"

// The names of the rows of a table, for help and messages: "f32, f16, bf16". A row has a member `name`.
template <typename Rows> std::string namesOf(const Rows& rows) {
    std::string names;
    for (const auto& row : rows)
        names.append(names.empty() ? "" : ", ").append(row.name);
    return names;
}

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace vkf::test {

// Each line on a line of its own, for a message.
inline std::string listed(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += "\n  " + line;
    }
    return text;
}

} // namespace vkf::test

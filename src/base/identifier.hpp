// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

namespace vkf {

constexpr bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isWordPart(char c) { return isWordStart(c) || isDigit(c); }

// Whether the text is an identifier of GLSL.
constexpr bool isIdentifier(std::string_view text) {
    return !text.empty() && isWordStart(text.front()) && std::all_of(text.begin(), text.end(), isWordPart);
}

} // namespace vkf

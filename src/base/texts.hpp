// SPDX-License-Identifier: MIT
//
// Tables of texts of enumerations.
#pragma once

#include <algorithm>
#include <cstddef>

namespace vkf {

struct Text {
    int value;
    const char* text;
};

// Returns the text of a value, or `fallback` if the value has none.
template <std::size_t count> const char* find(const Text (&texts)[count], int value, const char* fallback) {
    const Text* const found =
        std::find_if(texts, texts + count, [value](const Text& text) { return text.value == value; });
    return found == texts + count ? fallback : found->text;
}

} // namespace vkf

// The row of a constant whose text is its name.
#define VKF_TEXT(constant)                                                                                             \
    { constant, #constant }

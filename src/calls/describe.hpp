// SPDX-License-Identifier: MIT
//
// Problems in one line, for the descriptions of plans and of backward passes.
#pragma once

#include <cstddef>
#include <cstdio>

#include "problem/problem.hpp"

namespace vkf {

// Text of limited length, in memory of the caller, which cuts off the end of a longer text. Allocates nothing.
class Line {
public:
    Line(char* text, std::size_t capacity) : text_(text), capacity_(capacity) { text_[0] = 0; }

    template <typename... Values> void add(const char* format, Values... values) {
        const int length = std::snprintf(text_ + used_, capacity_ - used_, format, values...);
        used_ = length > 0 && used_ + static_cast<std::size_t>(length) < capacity_
                    ? used_ + static_cast<std::size_t>(length)
                    : capacity_ - 1;
    }
    void add(const char* text) { add("%s", text); }

private:
    char* text_;
    std::size_t capacity_;
    std::size_t used_ = 0;
};

// Adds shape, types, masks, terms of the scores, arrays, pages and strides that are not dense. "empty" if the output
// has no elements.
void describeProblem(const CheckedProblem& problem, Line* line);

} // namespace vkf

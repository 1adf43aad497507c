// SPDX-License-Identifier: MIT
//
// What every test of the program asks of it.
#pragma once

#include <string>
#include <vector>

#include "support/program.hpp"

namespace vkf::test {

// Without a usable device the test case is skipped, visibly.
void needDevice();

bool isOneLine(const std::string& text);

struct Refusal {
    std::string arguments;
    std::string words; // that the message must hold, separated by '|'
};

// The status, nothing on stdout, one line on stderr with the words, and no file created or removed.
void checkRefusal(const Workplace& place, const Refusal& test, int status = 2);
void checkRefusals(const Workplace& place, const std::vector<Refusal>& tests);

} // namespace vkf::test

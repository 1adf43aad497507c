// SPDX-License-Identifier: MIT
//
// Checks that many tests of the program use.
#pragma once

#include <string>
#include <vector>

#include "support/program.hpp"

namespace vkf::test {

// Skips the test case if there is no usable device.
void needDevice();

bool isOneLine(const std::string& text);

struct Refusal {
    std::string arguments;
    std::string words; // words of the message, separated by '|'
};

// Checks the status, an empty stdout, one line on stderr with the words, and that no file appeared or vanished.
void checkRefusal(const Workplace& place, const Refusal& test, int status = 2);
void checkRefusals(const Workplace& place, const std::vector<Refusal>& tests);

} // namespace vkf::test

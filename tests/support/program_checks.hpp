// SPDX-License-Identifier: MIT
//
// Checks that many tests of the program use.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

// Runs `bench ... --json b.json`, or a bench of vkflash_lab, which must succeed, and reads the file.
std::pair<ProgramResult, nlohmann::json> benchReport(const Workplace& place, const std::string& arguments);

// A result of another implementation: 2 heads, 64 rows and keys, D = 32, f16, 1 TFLOP/s, with other fields in
// `changed`.
nlohmann::json peer(const std::string& name, const nlohmann::json& changed);
// A file for --compare.
std::string peerFile(const std::string& device, const nlohmann::json& results);

// Checks times, clock, rate and error of one result of such a file.
void checkTimed(const nlohmann::json& result);

} // namespace vkf::test

// SPDX-License-Identifier: MIT
//
// Starts a program as a process of its own. Each system has its own source.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vkf::test {

struct Surroundings {
    bool closedPipe = false; // stdout is a pipe that nobody reads
};

// What the child writes, in its folder.
inline constexpr const char* outName = "captured.out";
inline constexpr const char* errName = "captured.err";

// Runs a program to its end, in a folder. Returns its exit status: 127 if there is no such program; on other systems
// than Windows, 128 + the signal that ended it.
int runChild(const std::filesystem::path& folder, const std::vector<std::string>& words,
             const Surroundings& surroundings);

} // namespace vkf::test

// SPDX-License-Identifier: MIT
//
// Files that flags name, as a whole. An error names the flag and the file.
#pragma once

#include <string>
#include <string_view>

namespace vkf::tools {

// The content of a file. `name` stands for the file in messages: "--tuning tiles.txt". Throws ProgramError.
std::string readText(const std::string& name, const std::string& file);

// Whether two names are of one file, which need not exist.
bool sameFile(const std::string& a, const std::string& b);

// Call it before the work. Throws ProgramError if the file could not be written.
void checkOutputFile(const char* flag, const std::string& file);

// Writes a file that is complete or absent. Throws ProgramError.
void writeOutputFile(const char* flag, const std::string& file, std::string_view content);

} // namespace vkf::tools

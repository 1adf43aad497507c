// SPDX-License-Identifier: MIT
//
// The frame of a program with sub-commands. Its contract: status 0 only if all that was asked for is written and right;
// otherwise one line on stderr.
#ifndef VKFLASH_TOOLS_PROGRAM_HPP
#define VKFLASH_TOOLS_PROGRAM_HPP

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/action.hpp"

namespace vkf::tools {

// Adds one sub-command, which sets the action when it is chosen.
using AddCommand = std::function<void(CLI::App& program, Action& action)>;

// Parses the command line, runs the chosen sub-command and reports what it throws. Returns the exit status.
int runProgram(int argc, char** argv, const std::vector<AddCommand>& commands);

// The words of the command line, for reports.
std::string commandLine(int argc, char** argv);

} // namespace vkf::tools

#endif

// SPDX-License-Identifier: MIT
//
// Runs a program with sub-commands. The exit status is 0 only if all requested results are written and right. Otherwise
// the program prints one line to stderr.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include <CLI/CLI.hpp>

namespace vkf::tools {

// The work of the selected sub-command. It runs after all flags are parsed. Errors are exceptions.
using Action = std::function<void()>;

// Adds one sub-command. The sub-command sets `action` when the command line selects it.
using AddCommand = std::function<void(CLI::App& program, Action& action)>;

struct ProgramTitle {
    const char* name;    // errors begin with it
    const char* summary; // one sentence
    const char* example; // a command line
};

// Parses the command line, runs the selected sub-command and reports what it throws. Returns the exit status. A list of
// small functions needs no allocation, which could fail where nobody reports it.
int runProgram(int argc, char** argv, const ProgramTitle& title, std::initializer_list<AddCommand> commands);

// "vkflash 0.5.0"
std::string versionText();

// The words of the command line, joined by spaces, for reports.
std::string commandLine(const ProgramTitle& title, int argc, char** argv);

} // namespace vkf::tools

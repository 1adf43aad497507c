// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_COMMANDS_HPP
#define VKFLASH_TOOLS_COMMANDS_HPP

#include <string>

#include <CLI/CLI.hpp>

#include "cli/action.hpp"

namespace vkf::tools {

void addInfoCommand(CLI::App& program, Action& action);
void addRunCommand(CLI::App& program, Action& action);
void addBackwardCommand(CLI::App& program, Action& action);
void addPlanCommand(CLI::App& program, Action& action);
void addVerifyCommand(CLI::App& program, Action& action);
void addDemoCommand(CLI::App& program, Action& action);
void addSoakCommand(CLI::App& program, Action& action);
void addTuneCommand(CLI::App& program, Action& action);
void addReportCommand(CLI::App& program, Action& action);
// Only in the program of ./dev drivers.
void addDriversCommand(CLI::App& program, Action& action);
void addStudyCommand(CLI::App& program, Action& action);
// The report of a bench contains the command line.
void addBenchCommand(CLI::App& program, Action& action, const std::string& commandLine);

} // namespace vkf::tools

#endif

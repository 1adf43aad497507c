// SPDX-License-Identifier: MIT
//
// The benches of vkflash_lab: what only the authors of the kernels measure. Each adds its sub-command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

// Reports contain the command line.
void addHostCommand(CLI::App& program, Action& action, const std::string& commandLine);
void addLongCommand(CLI::App& program, Action& action, const std::string& commandLine);
void addSharedCommand(CLI::App& program, Action& action, const std::string& commandLine);
void addStepCommand(CLI::App& program, Action& action, const std::string& commandLine);
void addStudyCommand(CLI::App& program, Action& action, const std::string& commandLine);
void addVariantsCommand(CLI::App& program, Action& action, const std::string& commandLine);

} // namespace vkf::tools

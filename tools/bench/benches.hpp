// SPDX-License-Identifier: MIT
//
// The benches under `vkflash bench`. Each adds its sub-command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

void addBenchBackwardCommand(CLI::App& bench, Action& action, const std::string& commandLine);
void addBenchDecodeCommand(CLI::App& bench, Action& action, const std::string& commandLine);
#if defined(VKFLASH_HAS_FUNCTIONS)
void addBenchFunctionsCommand(CLI::App& bench, Action& action, const std::string& commandLine);
#endif
void addBenchPrefillCommand(CLI::App& bench, Action& action, const std::string& commandLine);

} // namespace vkf::tools

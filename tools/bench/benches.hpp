// SPDX-License-Identifier: MIT
//
// The benches under `vkflash bench`. Each adds its sub-command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

void addBenchBackwardCommand(CLI::App& bench, Action& action);
void addBenchDecodeCommand(CLI::App& bench, Action& action);
#if defined(VKFLASH_HAS_FUNCTIONS)
void addBenchFunctionsCommand(CLI::App& bench, Action& action);
#endif
void addBenchPrefillCommand(CLI::App& bench, Action& action);

} // namespace vkf::tools

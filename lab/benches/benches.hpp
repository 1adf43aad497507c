// SPDX-License-Identifier: MIT
//
// The benches of vkflash_lab: what only the authors of the kernels measure. Each adds its sub-command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

void addHostCommand(CLI::App& program, Action& action);
void addLongCommand(CLI::App& program, Action& action);
void addSharedCommand(CLI::App& program, Action& action);
void addStudyCommand(CLI::App& program, Action& action);
void addVariantsCommand(CLI::App& program, Action& action);

} // namespace vkf::tools

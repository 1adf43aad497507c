// SPDX-License-Identifier: MIT
//
// The studies of vkflash_lab that need no device. They show on the CPU reference what the algorithms compute. Each adds
// its sub-command.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

void addStudyAlgorithmsCommand(CLI::App& program, Action& action);
void addStudyRecomputeCommand(CLI::App& program, Action& action);

} // namespace vkf::tools

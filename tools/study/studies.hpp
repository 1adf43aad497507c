// SPDX-License-Identifier: MIT
//
// The studies under `vkflash study`. They show on the CPU reference what the algorithms compute. Each adds its
// sub-command.
#ifndef VKFLASH_TOOLS_STUDY_COMMANDS_HPP
#define VKFLASH_TOOLS_STUDY_COMMANDS_HPP

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

void addStudyAlgorithmsCommand(CLI::App& study, Action& action);
void addStudyRecomputeCommand(CLI::App& study, Action& action);

} // namespace vkf::tools

#endif

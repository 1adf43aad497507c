// SPDX-License-Identifier: MIT
//
// vkflash study: the way to the studies of one question each.
#include "study/studies.hpp"

namespace vkf::tools {

void addStudyCommand(CLI::App& program, Action& action) {
    CLI::App* command = program.add_subcommand("study", "What the algorithms do, step by step, on the CPU reference.");
    for (const auto add : {addStudyAlgorithmsCommand, addStudyRecomputeCommand})
        add(*command, action);
    command->require_subcommand(1);
}

} // namespace vkf::tools

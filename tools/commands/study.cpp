// SPDX-License-Identifier: MIT
//
// vkflash study: the parent command of the studies. Each study answers one question.
#include "study/studies.hpp"

namespace vkf::tools {

void addStudyCommand(CLI::App& program, Action& action) {
    CLI::App* command = program.add_subcommand("study", "Shows on the CPU reference what the algorithms compute.");
    command->footer("vkflash study algorithms --rows 1024 --causal");
    for (const auto add : {addStudyAlgorithmsCommand, addStudyRecomputeCommand})
        add(*command, action);
    command->require_subcommand(1);
}

} // namespace vkf::tools

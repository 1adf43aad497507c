// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

// Title of the programs vkflash and vkflash_demo.
constexpr ProgramTitle programTitle() {
    return {"vkflash", "Exact fused attention on Vulkan devices.",
            "vkflash run --q q.npy --k k.npy --v v.npy -o o.npy --causal --verify"};
}

void addInfoCommand(CLI::App& program, Action& action);
void addRunCommand(CLI::App& program, Action& action);
void addBackwardCommand(CLI::App& program, Action& action);
void addPlanCommand(CLI::App& program, Action& action);
void addVerifyCommand(CLI::App& program, Action& action);
void addDemoCommand(CLI::App& program, Action& action);
void addSoakCommand(CLI::App& program, Action& action);
void addTuneCommand(CLI::App& program, Action& action);
void addCompileCommand(CLI::App& program, Action& action);
void addReportCommand(CLI::App& program, Action& action);
void addBenchCommand(CLI::App& program, Action& action);

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/program/program.hpp"

namespace vkf::mpi::program {

void addRunCommand(CLI::App& program, tools::Action& action);
void addBackwardCommand(CLI::App& program, tools::Action& action);
void addVerifyCommand(CLI::App& program, tools::Action& action);
void addBenchCommand(CLI::App& program, tools::Action& action);
void addModelCommand(CLI::App& program, tools::Action& action);

} // namespace vkf::mpi::program

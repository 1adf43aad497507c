// SPDX-License-Identifier: MIT
//
// The program `vkflash` with its demo alone, which compiles in a fraction of the time: ./dev demo is the first command
// that people run.
#include "cli/program.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) { return vkf::tools::runProgram(argc, argv, {vkf::tools::addDemoCommand}); }

// SPDX-License-Identifier: MIT
//
// The program `vkflash` with only the demo. It compiles in a fraction of the time, and ./dev demo is the first command
// that people run.
#include "cli/program/program.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) {
    return vkf::tools::runProgram(argc, argv, vkf::tools::programTitle(), {vkf::tools::addDemoCommand});
}

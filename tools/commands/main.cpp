// SPDX-License-Identifier: MIT
//
// The program `vkflash`. Each sub-command has a file of its name in this folder.
#include "cli/program/program.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) {
    return vkf::tools::runProgram(argc, argv, vkf::tools::programTitle(),
                                  {vkf::tools::addInfoCommand, vkf::tools::addRunCommand,
                                   vkf::tools::addBackwardCommand, vkf::tools::addPlanCommand,
                                   vkf::tools::addVerifyCommand, vkf::tools::addDemoCommand, vkf::tools::addTuneCommand,
                                   vkf::tools::addCompileCommand, vkf::tools::addReportCommand,
                                   vkf::tools::addSoakCommand, vkf::tools::addBenchCommand});
}

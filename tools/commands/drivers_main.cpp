// SPDX-License-Identifier: MIT
//
// The program of ./dev drivers.
#include "cli/program/program.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) { return vkf::tools::runProgram(argc, argv, {vkf::tools::addDriversCommand}); }

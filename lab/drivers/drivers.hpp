// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include "cli/program/program.hpp"

namespace vkf::tools {

// Adds the sub-command that compiles kernels for AMD chips without hardware.
void addDriversCommand(CLI::App& program, Action& action);

} // namespace vkf::tools

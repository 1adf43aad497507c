// SPDX-License-Identifier: MIT
//
// What the sub-commands share: flags of the split, the ranks, and who prints.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <vkflash/mpi.hpp>

#include "cli/options.hpp"

namespace vkf::mpi::program {

struct SplitOptions {
    std::string distribution = "auto";
    std::string method = "auto";
    std::string transport = "auto";
};

void addSplitOptions(CLI::App& command, SplitOptions& options);
// Without --distribution, causal calls take zigzag and others contiguous.
Split splitOf(const SplitOptions& options, const VkfProblem& problem);
const char* distributionName(Distribution distribution);
const char* methodName(Method method);

// Opens the device of each rank. Collective.
Ranks openRanks(const tools::DeviceFlags& flags, MPI_Comm communicator = MPI_COMM_WORLD);
// Sends the standard streams of all ranks but the first nowhere. `travelling` brings stderr back for its errors.
void silenceOtherRanks();
// Work that can fail on one rank with an error of flags or files. Every rank throws what the first such rank threw.
void together(const Ranks& ranks, const std::function<void()>& work);
// Runs the part of a command in which tensors travel. If it throws, the ranks cannot go on together.
RunReport travelling(const std::function<RunReport()>& run);
// Whether `travelling` has thrown.
bool hasBrokenDown();

} // namespace vkf::mpi::program

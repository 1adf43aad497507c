// SPDX-License-Identifier: MIT
//
// What the sub-commands share: flags of the split, the ranks, and who prints.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <vkflash/mpi.hpp>

#include "cli/options.hpp"
#include "cli/program/program.hpp"
#include "cli/progress.hpp"

namespace vkf::mpi::program {

struct SplitOptions {
    std::string distribution = "auto";
    std::string method = "auto";
    std::string transport = "auto";
    uint32_t headGroups = 0;  // 0 = chosen
    bool shareDevice = false; // ranks may share a GPU
};

void addSplitOptions(CLI::App& command, SplitOptions& options);
// Without --distribution, causal calls take zigzag and others contiguous.
Split splitOf(const SplitOptions& options, const VkfProblem& problem);

// Opens the device of each rank, once in a program. Collective. Throws if ranks share a GPU without --share-device, and
// says loudly if they share one with it.
Ranks openRanks(const tools::DeviceFlags& flags, const SplitOptions& split);
// ", 2 of them on this device" if other ranks use the device of this one, else "".
std::string sharedText(const Ranks& ranks);
// Sends the standard streams of all ranks but the first nowhere. `overRanks` brings stderr back for errors of one rank.
void silenceOtherRanks();
// The work of a command. If a rank fails or dies, so that the ranks cannot go on, every other rank prints what it
// knows.
tools::Action overRanks(std::function<void()> command);
// Work that can fail on one rank with an error of flags or files. Every rank throws what the first such rank threw.
void together(const Ranks& ranks, const std::function<void()>& work);
// Runs an Attention or a Backward, and shows its progress.
template <typename Call> RunReport runWithProgress(const char* label, Call& call) {
    tools::Progress progress(label);
    return call.run([&progress](double share) { progress.update(share); });
}
// Closes the devices. Returns whether the ranks cannot go on together, so that MPI must be aborted.
bool closeRanks();

} // namespace vkf::mpi::program

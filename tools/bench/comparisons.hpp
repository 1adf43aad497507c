// SPDX-License-Identifier: MIT
//
// Files of others' times, set beside our own shape by shape.
#ifndef VKFLASH_TOOLS_COMPARISONS_HPP
#define VKFLASH_TOOLS_COMPARISONS_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/bench_report.hpp"
#include "bench/peer_results.hpp"

namespace vkf::tools {

struct Comparison {
    std::string file; // without its folder, which means nothing elsewhere
    PeerFile content;
    size_t matched = 0; // results here that had a shape of it
};

// A result of others for the shape at hand.
struct Peer {
    const Comparison* comparison;
    const PeerResult* result;
};

void addCompareOption(CLI::App& command, std::vector<std::string>& paths);
// ProgramError names the file that cannot be read.
std::vector<Comparison> loadComparisons(const std::vector<std::string>& paths);

PeerShape peerShapeOf(const VkfProblem& problem);
std::vector<Peer> peersOf(const VkfProblem& problem, std::vector<Comparison>& comparisons);

void printComparisons(const std::vector<Comparison>& comparisons, size_t results);
Json comparisonsJson(const std::vector<Comparison>& comparisons);

} // namespace vkf::tools

#endif

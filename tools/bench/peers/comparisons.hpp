// SPDX-License-Identifier: MIT
//
// Compares our results with the times of other implementations, shape by shape.
#ifndef VKFLASH_TOOLS_COMPARISONS_HPP
#define VKFLASH_TOOLS_COMPARISONS_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/bench_report.hpp"
#include "bench/peers/peer_results.hpp"

namespace vkf::tools {

struct Comparison {
    std::string file; // name without the folder, because the folder means nothing on another machine
    PeerFile content;
    size_t matched = 0; // number of our results whose shape is in the file
};

// A result of another implementation for the shape of one of our results.
struct Peer {
    const Comparison* comparison;
    const PeerResult* result;
};

void addCompareOption(CLI::App& command, std::vector<std::string>& paths);
// Throws ProgramError with the name of a file that cannot be read.
std::vector<Comparison> loadComparisons(const std::vector<std::string>& paths);

PeerShape peerShapeOf(const VkfProblem& problem);
std::vector<Peer> peersOf(const PeerShape& shape, std::vector<Comparison>& comparisons);

void printComparisons(const std::vector<Comparison>& comparisons, size_t results);
// Prints "  flash 289 (0.95x)" for each peer, on the line of our result of `teraflops` TFLOP/s.
void printPeers(const std::vector<Peer>& peers, double teraflops);
Json peersJson(const std::vector<Peer>& peers, double teraflops);
Json comparisonsJson(const std::vector<Comparison>& comparisons);

} // namespace vkf::tools

#endif

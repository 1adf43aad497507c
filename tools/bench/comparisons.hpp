// SPDX-License-Identifier: MIT
//
// Compares our results with the times of other implementations, shape by shape. bench/peers.py writes the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/bench_report.hpp"

namespace vkf::tools {

// Two times are compared only if all these fields are equal.
struct PeerShape {
    uint32_t batch = 1;
    uint32_t queryHeads = 0;
    uint32_t kvHeads = 0;
    uint32_t queryRows = 0;
    uint32_t keys = 0;
    uint32_t headDim = 0;
    bool causal = false;
    std::string type = "f16"; // type of k and v
    bool backward = false;    // the backward pass alone
    uint32_t valueDim = 0;    // 0 = headDim, as in files of others
    uint32_t chosenKeys = 0;  // of a row; 0 = it sees all

    bool operator==(const PeerShape&) const = default;
};

PeerShape peerShapeOf(const VkfProblem& problem);

// 2 B H N K (D + Dv) operations, half of them if causal. 2.5 times as many for the backward pass.
double countedOperations(const PeerShape& shape);

// A result of another implementation.
struct Peer {
    PeerShape shape;
    std::string name; // "flash", "cudnn", "ggml", ...
    std::string file;
    double teraflops = 0;

    double seconds() const { return countedOperations(shape) / (teraflops * 1e12); }
};

struct Comparison {
    std::string file; // name without the folder, because the folder means nothing on another machine
    std::string format, device;
    std::vector<Peer> results;
    size_t matched = 0; // number of our results whose shape is in the file
};

void addCompareOption(CLI::App& command, std::vector<std::string>& paths);
// `text` is the text of a whole file. Throws FormatError (tensor_file.hpp) with the number of the result and its field.
Comparison parseComparison(const std::string& file, std::string_view text);
// Throws ProgramError with the name of a file that cannot be read.
std::vector<Comparison> loadComparisons(const std::vector<std::string>& paths);

// The results of others for the shape of one of our results.
std::vector<Peer> peersOf(const PeerShape& shape, std::vector<Comparison>& comparisons);

void printComparisons(const std::vector<Comparison>& comparisons, size_t results);
// Prints "  flash 289 (0.95x)" for each peer, on the line of our result of `teraflops` TFLOP/s.
void printPeers(const std::vector<Peer>& peers, double teraflops);
Json peersJson(const std::vector<Peer>& peers, double teraflops);
Json comparisonsJson(const std::vector<Comparison>& comparisons);

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
//
// vkflash_mpi model: a table of what the model says for 2 to 4096 GPUs and several networks. It needs no GPU.
#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "commands.hpp"
#include "session.hpp"

namespace vkf::mpi::program {
namespace {

constexpr double backwardOperations = 2.5; // five products instead of two
constexpr double bytesOfSum = sizeof(float);

double valueDimOf(const VkfProblem& problem) { return problem.valueDim == 0 ? problem.headDim : problem.valueDim; }

// Operations of each pair of a row and a key, over all heads.
double operationsOfPair(const VkfProblem& problem, Pass pass) {
    const double forward = 2.0 * problem.batch * problem.queryHeads * (problem.headDim + valueDimOf(problem));
    return pass == Pass::backward ? backwardOperations * forward : forward;
}

// Elements of k and v on each rank.
double elementsOfBlock(const VkfProblem& problem, uint32_t ranks) {
    return double{1} * problem.batch * problem.kvHeads * problem.keys / ranks * (problem.headDim + valueDimOf(problem));
}

// Bytes of an element of k and v that travel in a step. The backward pass moves sums in fp32 too.
double bytesOfElement(const VkfProblem& problem, Pass pass) {
    return static_cast<double>(vkfTypeBytes(problem.k.type)) + (pass == Pass::backward ? bytesOfSum : 0);
}

// Share of the pairs of a block that the slowest rank computes.
double shareOfPairs(const VkfProblem& problem, Distribution distribution, uint32_t step) {
    const bool isCausal = has(problem, VKF_USE_CAUSAL);
    return isCausal && (step == 0 || distribution == Distribution::zigzag) ? 0.5 : 1;
}

} // namespace

double operationsOf(const VkfProblem& problem, Pass pass) {
    double pairs = 0;
    const bool isCausal = has(problem, VKF_USE_CAUSAL);
    const bool isWindow = has(problem, VKF_USE_WINDOW);
    const bool topLeft = problem.alignment == VKF_ALIGNMENT_TOP_LEFT;
    const int64_t shift = topLeft ? 0 : int64_t{problem.keys} - problem.queryRows;
    for (int64_t i = 0; i < problem.queryRows; ++i) {
        int64_t end = problem.keys;
        int64_t begin = 0;
        if (isCausal || (isWindow && problem.window.right >= 0)) {
            end = std::min(end, i + shift + (isCausal ? 0 : problem.window.right) + 1);
        }
        if (isWindow && problem.window.left >= 0) {
            begin = std::max(begin, i + shift - problem.window.left);
        }
        pairs += static_cast<double>(std::max<int64_t>(end - begin, 0));
    }
    return pairs * operationsOfPair(problem, pass);
}

double ringSeconds(const VkfProblem& problem, Distribution distribution, Pass pass, const Cluster& cluster) {
    const double pairs = double{1} * problem.queryRows / cluster.ranks * problem.keys / cluster.ranks;
    const double whole = pairs * operationsOfPair(problem, pass) / cluster.operations / cluster.groups;
    const double elements = elementsOfBlock(problem, cluster.ranks) / cluster.groups;
    const double copies = elements * bytesOfElement(problem, pass) / cluster.bandwidth + cluster.latency;
    double copied = 0;                     // when the last block has arrived
    double computed = 0;                   // when the last kernels have ended
    std::array<double, 2> readUntil = {0}; // of the places of blocks
    size_t block = 0;
    for (uint32_t group = 0; group < cluster.groups; ++group) {
        computed += whole * shareOfPairs(problem, distribution, 0);
        for (uint32_t step = 1; step < cluster.ranks; ++step, ++block) {
            double& place = readUntil[block % readUntil.size()];
            copied = std::max(copied, place) + copies;
            computed = std::max(computed, copied) + whole * shareOfPairs(problem, distribution, step);
            place = computed;
        }
    }
    if (pass == Pass::backward) { // the last sums go home
        computed += elements * bytesOfSum / cluster.bandwidth + cluster.latency;
    }
    return computed;
}

double exchangeSeconds(const VkfProblem& problem, Pass pass, const Cluster& cluster) {
    if (problem.kvHeads % cluster.ranks != 0) {
        return 0;
    }
    const double ofKeys = elementsOfBlock(problem, cluster.ranks);
    const double ofRows = ofKeys / problem.keys * problem.queryRows / problem.kvHeads * problem.queryHeads;
    // Forward q, k, v and o; backward also dout and the gradients of q, k and v.
    const double tensors = pass == Pass::backward ? 2 : 1;
    const double leaves = double{1} * (cluster.ranks - 1) / cluster.ranks; // the rest stays on its rank
    const double bytes = (ofKeys + ofRows) * tensors * leaves * static_cast<double>(vkfTypeBytes(problem.k.type));
    return operationsOf(problem, pass) / cluster.ranks / cluster.operations + bytes / cluster.bandwidth +
           cluster.latency * tensors * 2;
}

double hidingRows(const VkfProblem& problem, Pass pass, const Cluster& cluster) {
    // rows^2 pair / operations = rows * row / bandwidth + latency, with the rows of one rank
    const double ofPairs = operationsOfPair(problem, pass) *
                           shareOfPairs(problem, Distribution::zigzag, cluster.ranks - 1) / cluster.operations;
    const double ofRow = elementsOfBlock(problem, 1) / problem.keys * bytesOfElement(problem, pass) / cluster.bandwidth;
    const double root = std::sqrt(ofRow * ofRow + 4 * ofPairs * cluster.latency);
    return (ofRow + root) / (2 * ofPairs) * cluster.ranks;
}

namespace {

struct ModelOptions {
    tools::ShapeOptions shape;
    tools::MathOptions math;
    std::vector<double> networks = {50, 25, 12.5, 3};
    double rate = 500;
    double latency = 20;
    bool backward = false;
};

std::string rowsText(double rows) {
    return rows < 1e6 ? fmt::format("{:.0f}k", rows / 1e3) : fmt::format("{:.1f}M", rows / 1e6);
}

void printTable(const ModelOptions& options, const char* title,
                const std::function<std::string(const Cluster&)>& cell) {
    fmt::print("\n{}\n\n{:>8}", title, "ranks");
    for (const double network : options.networks) {
        fmt::print("{:>16}", fmt::format("{:g} GB/s", network));
    }
    constexpr uint32_t most = 4096;
    for (uint32_t ranks = 2; ranks <= most; ranks *= 2) {
        fmt::print("\n{:>8}", ranks);
        for (const double network : options.networks) {
            fmt::print("{:>16}", cell({ranks, options.rate * 1e12, network * 1e9, options.latency * 1e-6, 1}));
        }
    }
    fmt::print("\n");
}

void model(const ModelOptions& options) {
    if (options.rate <= 0 || options.networks.empty() ||
        *std::min_element(options.networks.begin(), options.networks.end()) <= 0) {
        tools::failInput("--rate, --network: must be over 0");
    }
    const VkfProblem problem = tools::makeProblem(options.shape, options.math);
    const Pass pass = options.backward ? Pass::backward : Pass::forward;
    const Split split = splitOf({}, problem);
    const double operations = operationsOf(problem, pass);
    fmt::print("{} tokens, {} heads over {}, {}{}, at {:g} TFLOP/s a GPU and {:g} us a transfer\n", problem.queryRows,
               problem.queryHeads, problem.kvHeads, has(problem, VKF_USE_CAUSAL) ? "causal" : "not causal",
               options.backward ? ", backward pass" : "", options.rate, options.latency);
    const auto share = [&](const Cluster& cluster, double seconds) {
        return seconds == 0 ? std::string("-")
                            : fmt::format("{:.3f}", operations / cluster.operations / cluster.ranks / seconds);
    };
    printTable(options, "share of the speed of all GPUs: ring / head exchange", [&](const Cluster& cluster) {
        Cluster ring = cluster;
        ring.groups = chooseHeadGroups(problem, split, cluster.ranks, options.backward);
        return share(cluster, ringSeconds(problem, split.distribution, pass, ring)) + " / " +
               share(cluster, exchangeSeconds(problem, pass, cluster));
    });
    printTable(options, "tokens from which on all copies of the ring hide",
               [&](const Cluster& cluster) { return rowsText(hidingRows(problem, pass, cluster)); });
}

} // namespace

void addModelCommand(CLI::App& program, tools::Action& action) {
    auto options = std::make_shared<ModelOptions>();
    options->shape.heads = 16;
    options->shape.dim = 128;
    options->shape.rows = 1048576;
    CLI::App* command = program.add_subcommand(
        "model", "Prints what a model says for 2 to 4096 GPUs and several networks: from the operations of a block, "
                 "its bytes, and the speed of GPUs and links. Needs no GPU.");
    command->footer("vkflash_mpi model --causal --rows 524288 --network 50,12.5");
    tools::addShapeOptions(*command, options->shape);
    tools::addMathOptions(*command, options->math);
    tools::addList(*command, "--network", options->networks, "GB/s from each rank to the next");
    tools::addValue(*command, "--rate", options->rate, "TFLOP/s of a GPU");
    tools::addValue(*command, "--latency", options->latency, "microseconds that each transfer takes besides");
    command->add_flag("--backward", options->backward, "of the backward pass");
    command->callback([options, &action] { action = [options] { model(*options); }; });
}

} // namespace vkf::mpi::program

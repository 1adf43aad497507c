// SPDX-License-Identifier: MIT
#include "bench/peers/comparisons.hpp"

#include <filesystem>
#include <string_view>

#include "cli/error.hpp"
#include "tensors/path_of.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

void addCompareOption(CLI::App& command, std::vector<std::string>& paths) {
    command
        .add_option("--compare", paths,
                    "compare with this output of bench/pytorch.py or of ggml's test-backend-ops perf; may be repeated")
        ->allow_extra_args(false);
}

std::vector<Comparison> loadComparisons(const std::vector<std::string>& paths) {
    std::vector<Comparison> comparisons;
    for (const std::string& name : paths) {
        try {
            const std::filesystem::path path = pathOf(name);
            const std::vector<std::byte> bytes = readFile(path);
            const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            comparisons.push_back({path.filename().string(), parsePeerResults(text), 0});
        } catch (const FormatError& error) {
            failInput("--compare {}: {}", name, error.what());
        }
    }
    return comparisons;
}

PeerShape peerShapeOf(const VkfProblem& problem) {
    PeerShape shape;
    shape.batch = problem.batch;
    shape.queryHeads = problem.queryHeads;
    shape.kvHeads = problem.kvHeads;
    shape.queryRows = problem.queryRows;
    shape.keys = problem.keys;
    shape.headDim = problem.headDim;
    shape.causal = has(problem, VKF_USE_CAUSAL);
    shape.type = vkfTypeName(problem.k.type);
    return shape;
}

std::vector<Peer> peersOf(const PeerShape& shape, std::vector<Comparison>& comparisons) {
    std::vector<Peer> peers;
    for (Comparison& comparison : comparisons) {
        const size_t before = peers.size();
        for (const PeerResult& result : comparison.content.results)
            if (result.shape == shape)
                peers.push_back({&comparison, &result});
        comparison.matched += peers.size() > before ? 1 : 0;
    }
    return peers;
}

void printComparisons(const std::vector<Comparison>& comparisons, size_t results) {
    for (const Comparison& comparison : comparisons)
        fmt::print("compared with {}: {}, {}, {} of {} results here\n", comparison.file, comparison.content.format,
                   comparison.content.device, comparison.matched, results);
}

void printPeers(const std::vector<Peer>& peers, double teraflops) {
    for (const Peer& peer : peers)
        fmt::print("  {} {:.4g} ({:.3g}x)", peer.result->name, peer.result->teraflops,
                   teraflops / peer.result->teraflops);
}

Json peersJson(const std::vector<Peer>& peers, double teraflops) {
    Json list = Json::array();
    for (const Peer& peer : peers)
        list.push_back({{"name", peer.result->name},
                        {"file", peer.comparison->file},
                        {"teraflops", peer.result->teraflops},
                        {"ratio", teraflops / peer.result->teraflops}});
    return list;
}

Json comparisonsJson(const std::vector<Comparison>& comparisons) {
    Json list = Json::array();
    for (const Comparison& comparison : comparisons)
        list.push_back({{"file", comparison.file},
                        {"format", comparison.content.format},
                        {"device", comparison.content.device},
                        {"results", comparison.content.results.size()},
                        {"matched", comparison.matched}});
    return list;
}

} // namespace vkf::tools

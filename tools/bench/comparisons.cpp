// SPDX-License-Identifier: MIT
#include "bench/comparisons.hpp"

#include <cmath>
#include <filesystem>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

const Json& fieldOf(const Json& object, const char* field) {
    static const Json absent;
    const auto found = object.find(field);
    return found == object.end() ? absent : *found;
}

std::string textOf(const Json& object, const char* field) {
    const Json& value = fieldOf(object, field);
    if (!value.is_string())
        throw FormatError(fmt::format("\"{}\" must be a string", field));
    return value.get<std::string>();
}

uint32_t wholeOf(const Json& object, const char* field) {
    const Json& value = fieldOf(object, field);
    if (!value.is_number_unsigned() || value < 1 || value > UINT32_MAX)
        throw FormatError(fmt::format("\"{}\" must be a whole number from 1 to {}", field, UINT32_MAX));
    return value.get<uint32_t>();
}

bool switchOf(const Json& object, const char* field) {
    const Json& value = fieldOf(object, field);
    if (!value.is_boolean())
        throw FormatError(fmt::format("\"{}\" must be true or false", field));
    return value.get<bool>();
}

double positiveOf(const Json& object, const char* field) {
    const Json& value = fieldOf(object, field);
    if (!value.is_number() || !(value > 0.0) || std::isinf(value.get<double>()))
        throw FormatError(fmt::format("\"{}\" must be a number above 0", field));
    return value.get<double>();
}

// A result has the unit in which it was measured.
Peer peerOf(const Json& result, const std::string& file) {
    const PeerShape shape = {wholeOf(result, "batch"),     wholeOf(result, "queryHeads"), wholeOf(result, "kvHeads"),
                             wholeOf(result, "queryRows"), wholeOf(result, "keys"),       wholeOf(result, "headDim"),
                             switchOf(result, "causal"),   textOf(result, "type"),        switchOf(result, "backward")};
    const double teraflops = result.contains("microseconds")
                                 ? countedOperations(shape) / positiveOf(result, "microseconds") * 1e-6
                                 : positiveOf(result, "teraflops");
    return {shape, textOf(result, "name"), file, teraflops};
}

} // namespace

void addCompareOption(CLI::App& command, std::vector<std::string>& paths) {
    command
        .add_option("--compare", paths,
                    "compare with the times of another implementation in this file of bench/peers.py; may be repeated")
        ->allow_extra_args(false);
}

PeerShape peerShapeOf(const VkfProblem& problem) {
    PeerShape shape;
    shape.batch = problem.batch;
    shape.queryHeads = problem.queryHeads;
    shape.kvHeads = problem.kvHeads;
    shape.queryRows = problem.queryRows;
    shape.keys = problem.keys;
    shape.headDim = problem.headDim;
    shape.valueDim = problem.valueDim != problem.headDim ? problem.valueDim : 0;
    shape.chosenKeys = problem.chosenKeys.count;
    shape.causal = has(problem, VKF_USE_CAUSAL);
    shape.type = vkfTypeName(problem.k.type);
    return shape;
}

double countedOperations(const PeerShape& shape) {
    const double valueDim = shape.valueDim != 0 ? shape.valueDim : shape.headDim;
    return 2.0 * shape.batch * shape.queryHeads * shape.queryRows * shape.keys * (shape.headDim + valueDim) *
           (shape.causal ? 0.5 : 1.0) * (shape.backward ? 2.5 : 1.0);
}

Comparison parseComparison(const std::string& file, std::string_view text) {
    const Json content = Json::parse(text, nullptr, false);
    const Json& results = content.is_object() ? fieldOf(content, "results") : content;
    if (!content.is_object() || !results.is_array() || results.empty())
        throw FormatError("holds no times; bench/peers.py writes them from the output of other programs");
    Comparison comparison{file, textOf(content, "format"), textOf(content, "device"), {}};
    for (const Json& result : results) {
        try {
            comparison.results.push_back(peerOf(result, file));
        } catch (const FormatError& error) {
            throw FormatError(fmt::format("result {}: {}", comparison.results.size() + 1, error.what()));
        }
    }
    return comparison;
}

std::vector<Comparison> loadComparisons(const std::vector<std::string>& paths) {
    std::vector<Comparison> comparisons;
    for (const std::string& name : paths) {
        try {
            const std::string text = readText(fmt::format("--compare {}", name), name);
            comparisons.push_back(parseComparison(pathOf(name).filename().string(), text));
        } catch (const FormatError& error) {
            failInput("--compare {}: {}", name, error.what());
        }
    }
    return comparisons;
}

std::vector<Peer> peersOf(const PeerShape& shape, std::vector<Comparison>& comparisons) {
    std::vector<Peer> peers;
    for (Comparison& comparison : comparisons) {
        const size_t before = peers.size();
        for (const Peer& result : comparison.results)
            if (result.shape == shape)
                peers.push_back(result);
        comparison.matched += peers.size() > before ? 1 : 0;
    }
    return peers;
}

void printComparisons(const std::vector<Comparison>& comparisons, size_t results) {
    for (const Comparison& comparison : comparisons)
        fmt::print("compared with {}: {}, {}, {} of {} results here\n", comparison.file, comparison.format,
                   comparison.device, comparison.matched, results);
}

void printPeers(const std::vector<Peer>& peers, double teraflops) {
    for (const Peer& peer : peers)
        fmt::print("  {} {:.4g} ({:.3g}x)", peer.name, peer.teraflops, teraflops / peer.teraflops);
}

Json peersJson(const std::vector<Peer>& peers, double teraflops) {
    Json list = Json::array();
    for (const Peer& peer : peers)
        list.push_back({{"name", peer.name},
                        {"file", peer.file},
                        {"teraflops", peer.teraflops},
                        {"ratio", teraflops / peer.teraflops}});
    return list;
}

Json comparisonsJson(const std::vector<Comparison>& comparisons) {
    Json list = Json::array();
    for (const Comparison& comparison : comparisons)
        list.push_back({{"file", comparison.file},
                        {"format", comparison.format},
                        {"device", comparison.device},
                        {"results", comparison.results.size()},
                        {"matched", comparison.matched}});
    return list;
}

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
#include "commands/plan_explain.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/function_inputs.hpp"
#include "cli/text.hpp"
#include "model/plan_traffic.hpp"
#include "model/traffic.hpp"
#include "vkflash/functions.h"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Formula {
    const char* name;
    TileBytes bytes;
};

constexpr std::array<Formula, 2> formulas = {
    {{"(Bq + 2 Bk) D", stagedBytes}, {"Br d + 2 Bc d + Br Bc + Br d + 2 Br", wholeTileBytes}}};

struct PlanTraffic {
    std::string name;
    Traffic traffic;
};

TileDims dimsOf(const host::Plan& plan) { return trafficShape(plan.problem()).dims; }

uint32_t elementBytesOf(const VkfProblem& problem) { return static_cast<uint32_t>(vkfTypeBytes(problem.q.type)); }
uint32_t elementBytesOf(const host::Plan& plan) { return elementBytesOf(plan.problem()); }

// The tile without its key splits.
std::string_view tileOf(const VkfTileCandidate& candidate) {
    const std::string_view text = candidate.tile;
    return text.substr(0, text.find(" splits="));
}

// Whether `later` says more about a tile than `earlier`: the tile taken, or else the last look at it.
bool saysMore(const VkfTileCandidate& later, const VkfTileCandidate& earlier) {
    return earlier.taken == 0 && (later.taken != 0 || later.reason != VKF_TILE_NOT_NEEDED);
}

// Each tile once. The library looks at a tile again where the first look, for instance without key splits, found none.
std::vector<VkfTileCandidate> candidatesOf(const host::Plan& plan) {
    std::vector<VkfTileCandidate> candidates;
    for (uint32_t i = 0; i < vkfGetPlanTileCount(plan.handle()); ++i) {
        auto candidate = make<VkfTileCandidate>();
        static_cast<void>(
            vkfGetPlanTile(plan.handle(), i, &candidate, nullptr)); // every number below the count is valid
        const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const VkfTileCandidate& other) {
            return tileOf(other) == tileOf(candidate) && other.fromTuning == candidate.fromTuning;
        });
        if (same == candidates.end())
            candidates.push_back(candidate);
        else if (saysMore(candidate, *same))
            *same = candidate;
    }
    return candidates;
}

// The algorithms as the papers count them, with the tile of Algorithm 1 for the device or the tile of the plan.
std::vector<PlanTraffic> trafficOf(const host::Device& device, const host::Plan& plan) {
    const TrafficShape shape = trafficShape(plan.problem());
    const TileSize paper = algorithm1Tile(device.summary().sharedMemoryBytes, shape.dims, elementBytesOf(plan));
    const TileSize own = {std::max(plan.info().tileRows, 1U), std::max(plan.info().tileKeys, 1U)};
    return {
        {"standard, three passes", standardTraffic(shape)},
        {fmt::format("keys in the outer loop, tiles of {} x {}", paper.rows, paper.keys),
         keyOuterTraffic(shape, paper)},
        {fmt::format("queries in the outer loop, tiles of {} x {}", own.rows, own.keys), queryOuterTraffic(shape, own)},
        {fmt::format("this plan, path {}", vkfPathName(plan.info().path)), planTraffic(plan.problem(), plan.info())}};
}

// The backward pass as the papers count it, with the tile of Algorithm 1.
std::vector<PlanTraffic> backwardTrafficOf(const host::Device& device, const VkfProblem& problem) {
    const TrafficShape shape = trafficShape(problem);
    const TileSize paper = algorithm1Tile(device.summary().sharedMemoryBytes, shape.dims, elementBytesOf(problem));
    return {{"standard, P stored by the forward pass", storedBackwardTraffic(shape)},
            {fmt::format("P recomputed, keys outside, tiles of {} x {}", paper.rows, paper.keys),
             keyOuterBackwardTraffic(shape, paper)},
            {fmt::format("P recomputed twice, dq separately, tiles of {} x {}", paper.rows, paper.keys),
             ownedBackwardTraffic(shape, paper)}};
}

constexpr std::array<VkfPath, 6> forwardPaths = {VKF_PATH_DECODE, VKF_PATH_WGMMA,    VKF_PATH_COOPMAT,
                                                 VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER};
constexpr std::array<VkfPath, 3> backwardPaths = {VKF_PATH_WGMMA, VKF_PATH_COOPMAT, VKF_PATH_SCALAR};

struct ExplainedPath {
    VkfPath path;
    VkfPathDecision decision;
};

VkfResult getPath(VkfPlan plan, VkfPath path, VkfPathDecision* decision, VkfMessage* message) {
    return vkfGetPlanPath(plan, path, decision, message);
}
VkfResult getPath(VkfBackward backward, VkfPath path, VkfPathDecision* decision, VkfMessage* message) {
    return vkfGetBackwardPath(backward, path, decision, message);
}

// The paths of a plan or a backward pass, in the order in which the library looks at them.
template <typename Handle>
std::vector<ExplainedPath> pathsOf(const Handle& handle, std::span<const VkfPath> considered) {
    std::vector<ExplainedPath> paths;
    for (const VkfPath path : considered) {
        auto decision = make<VkfPathDecision>();
        VkfMessage message{};
        if (const VkfResult result = getPath(handle, path, &decision, &message); result != VKF_SUCCESS)
            throw host::Error(result, message.text);
        paths.push_back({path, decision});
    }
    return paths;
}

std::string pathsText(const std::vector<ExplainedPath>& paths) {
    std::string text = "\nPaths, in the order in which the library looks at them\n";
    for (const auto& [path, decision] : paths) {
        const char* const word = decision.taken != 0                     ? "taken"
                                 : decision.rule == VKF_RULE_UNSUPPORTED ? "refused"
                                                                         : "not taken";
        text += fmt::format("  {:<10} {:<10} {}\n", vkfPathName(path), word, decision.reason);
    }
    return text;
}

Json pathsJson(const std::vector<ExplainedPath>& paths) {
    Json document;
    for (const auto& [path, decision] : paths)
        document[vkfPathName(path)] = {
            {"taken", decision.taken != 0}, {"rule", vkfPathRuleString(decision.rule)}, {"reason", decision.reason}};
    return document;
}

bool keepsByHead(const VkfProblem& problem) {
    return (vkfGetFunctionSet(problem.functions) & VKF_FUNCTION_KEEP_BY_HEAD) != 0;
}

// The functions of the caller's own, with the map of tiles. `tiles`: what the map is for. Empty if there are none.
std::string functionsText(const VkfProblem& problem, VkDeviceSize mapBytes, const std::string& tiles) {
    if (!has(problem, VKF_USE_FUNCTIONS))
        return {};
    std::string text = fmt::format("\nFunctions of the caller's own, compiled into the kernels\n  functions  {}\n",
                                   fmt::join(functionNames(problem.functions), ", "));
    if ((vkfGetFunctionSet(problem.functions) & VKF_FUNCTION_KEEP) == 0)
        return text;
    if (mapBytes == 0)
        return text + "  map        none: the kernels ask keep about every visible pair\n";
    return text + fmt::format("  map        {} for {}, {}\n", bytesText(static_cast<double>(mapBytes)), tiles,
                              keepsByHead(problem) ? "each head has its own (keep reads at.head or at.kvHead)"
                                                   : "the same for all heads");
}

std::string functionsText(const host::Plan& plan) {
    return functionsText(plan.problem(), plan.info().tileMapBytes,
                         fmt::format("tiles of {} rows x {} keys", plan.info().tileRows, plan.info().tileKeys));
}

std::string functionsText(VkfBackward backward, const VkfProblem& forward) {
    auto info = make<VkfBackwardInfo>();
    static_cast<void>(vkfGetBackwardInfo(backward, &info, nullptr)); // the handle and structSize are valid
    return functionsText(forward, info.tileMapBytes, "the tiles of all kernels");
}

Json functionsJson(const VkfProblem& problem) {
    return {{"functions", functionNames(problem.functions)}, {"keepByHead", keepsByHead(problem)}};
}

std::string formulasText(const host::Device& device, const host::Plan& plan) {
    const uint64_t onChip = device.summary().sharedMemoryBytes;
    const TileDims dims = dimsOf(plan);
    const uint32_t elementBytes = elementBytesOf(plan);
    const TileSize paper = algorithm1Tile(onChip, dims, elementBytes);
    std::string text =
        fmt::format("\nTiles by the papers' formulas, for {} on the chip, D = {}, {} bytes an element\n"
                    "  Algorithm 1, M = {} elements: Bc = ceil(M / 4d) = {}, Br = min(ceil(M / 4d), d) = {}\n",
                    bytesText(static_cast<double>(onChip)), std::max(dims.head, dims.value), elementBytes,
                    onChip / elementBytes, paper.keys, paper.rows);
    for (const Formula& formula : formulas) {
        text += fmt::format("  {}, queries x keys that fit:", formula.name);
        const std::vector<TileSize> tiles = fittingTiles(formula.bytes, onChip, dims, elementBytes);
        for (const TileSize tile : tiles)
            text += fmt::format(" {}x{}", tile.rows, tile.keys);
        text += tiles.empty() ? " none of 32 to 256\n" : "\n";
    }
    const VkfPlanInfo& info = plan.info();
    const TileSize own = {info.tileRows, info.tileKeys};
    text += fmt::format("  by these formulas this plan's tile of {}x{} takes {} and {}; its kernel stages pieces in {} "
                        "and keeps the rest in registers\n",
                        own.rows, own.keys, bytesText(static_cast<double>(stagedBytes(own, dims, elementBytes))),
                        bytesText(static_cast<double>(wholeTileBytes(own, dims, elementBytes))),
                        bytesText(info.sharedMemoryBytes));
    return text;
}

std::string candidateText(const VkfTileCandidate& candidate) {
    return fmt::format("  {:>4} x {:<4}{:>8}{:>12}{:>7}{:>8}{:>12}  {}{}\n", candidate.tileRows, candidate.tileKeys,
                       candidate.workgroupSize, bytesText(candidate.sharedMemoryBytes), candidate.registers,
                       candidate.kvSplits, candidate.workgroups, reasonText(candidate),
                       candidate.fromTuning != 0 ? " (tuning data)" : "");
}

std::string candidatesText(const host::Plan& plan) {
    std::string text =
        fmt::format("\nTiles that the library considered, best first\n  {:<11}{:>8}{:>12}{:>7}{:>8}{:>12}\n",
                    "rows x keys", "invoc.", "shared", "regs", "splits", "workgroups");
    for (const VkfTileCandidate& candidate : candidatesOf(plan))
        text += candidateText(candidate);
    return text;
}

// A line for each algorithm.
std::string trafficLines(const std::vector<PlanTraffic>& algorithms) {
    std::string text;
    for (const PlanTraffic& algorithm : algorithms) {
        text += fmt::format("  {:<48}{:>12}  ", algorithm.name, bytesText(algorithm.traffic.total()));
        for (const TrafficEntry& entry : algorithm.traffic.entries) {
            if (entry.read + entry.written == 0)
                continue;
            const char* separator = &entry == algorithm.traffic.entries.data() ? "" : ", ";
            text += fmt::format("{}{} {}", separator, entry.what, bytesText(entry.read + entry.written));
        }
        text += "\n";
    }
    return text;
}

std::string backwardTrafficText(const host::Device& device, const VkfProblem& problem) {
    return "\nBytes that a backward pass of this shape moves, without caches and masks\n" +
           trafficLines(backwardTrafficOf(device, problem)) +
           fmt::format("  {:<48}{:>12}\n", "least: inputs read once, gradients written once",
                       bytesText(minBackwardBytes(trafficShape(problem))));
}

std::string trafficText(const host::Device& device, const host::Plan& plan) {
    std::string text =
        "\nBytes between device memory and the chip, without caches; only \"this plan\" counts the mask\n" +
        trafficLines(trafficOf(device, plan));
    const VkfProblem& p = plan.problem();
    const TrafficShape shape = trafficShape(p);
    const double d = std::max(shape.dims.head, shape.dims.value);
    const double onChip = static_cast<double>(device.summary().sharedMemoryBytes) / elementBytesOf(plan);
    if (p.queryRows == p.keys)
        text += fmt::format("  theorem 2, elements of a head: N d + N^2 = {}, N^2 d^2 / M = {}\n",
                            operationsText(theorem2Standard(shape.rows, d)),
                            operationsText(theorem2Tiled(shape.rows, d, onChip)));
    return text + fmt::format("  {:<48}{:>12}\n", "least: q, k, v read once, o and lse written once",
                              bytesText(plan.info().minimumBytes));
}

Json tileJson(TileSize tile) { return {{"rows", tile.rows}, {"keys", tile.keys}}; }

Json candidateJson(const VkfTileCandidate& candidate) {
    return {{"tileRows", candidate.tileRows},
            {"tileKeys", candidate.tileKeys},
            {"workgroupSize", candidate.workgroupSize},
            {"sharedMemoryBytes", candidate.sharedMemoryBytes},
            {"registers", candidate.registers},
            {"kvSplits", candidate.kvSplits},
            {"workgroups", candidate.workgroups},
            {"taken", candidate.taken != 0},
            {"fromTuning", candidate.fromTuning != 0},
            {"reason", reasonText(candidate)},
            {"tile", candidate.tile}};
}

Json trafficJson(const PlanTraffic& algorithm) {
    Json entries = Json::array();
    for (const TrafficEntry& entry : algorithm.traffic.entries)
        entries.push_back({{"what", entry.what}, {"read", entry.read}, {"written", entry.written}});
    return {{"algorithm", algorithm.name}, {"bytes", algorithm.traffic.total()}, {"entries", std::move(entries)}};
}

Json trafficJson(const std::vector<PlanTraffic>& algorithms) {
    Json list = Json::array();
    for (const PlanTraffic& algorithm : algorithms)
        list.push_back(trafficJson(algorithm));
    return list;
}

// Why a tile is not good, whether the plan uses it or not.
std::string rejectionText(const VkfTileCandidate& c) {
    switch (c.reason) {
    case VKF_TILE_DIMENSIONS:
        return fmt::format("made for head dimensions {} {}", c.value > c.limit ? "up to" : "from", c.limit);
    case VKF_TILE_OUTPUT_TYPE:
        return "made for fp32 outputs";
    case VKF_TILE_MASK:
        return fmt::format("made for masked problems of at most {} keys", c.limit);
    case VKF_TILE_INVOCATIONS:
        return fmt::format("{} invocations, a workgroup has at most {}", c.value, c.limit);
    case VKF_TILE_SHARED_MEMORY:
        return fmt::format("needs {} bytes of shared memory, there are {}", c.value, c.limit);
    case VKF_TILE_SUBGROUPS:
        return c.value > c.limit && c.value < c.workgroupSize
                   ? fmt::format("{} invocations share a row, a subgroup has {}", c.value, c.limit)
                   : fmt::format("{} invocations are not a multiple of the subgroup size {}", c.value, c.limit);
    case VKF_TILE_PARTIALS:
        return fmt::format("{} partial results, over the limit of {}", c.value, c.limit);
    case VKF_TILE_BLOCKS:
        return fmt::format("does not fit blocks of {} of the block mask", c.limit);
    case VKF_TILE_FEW_ROWS:
        return fmt::format("{} rows of a KV head, made for more than {}", c.value, c.limit);
    case VKF_TILE_MANY_KEYS:
        return fmt::format("made for few keys: larger tiles give {} workgroups, {} are enough", c.value, c.limit);
    case VKF_TILE_LAYOUT:
        return "the kernel cannot fill matrices of the device's element layout";
    case VKF_TILE_REGISTERS:
        return fmt::format("{} registers an invocation, compilers spill above {}", c.value, c.limit);
    case VKF_TILE_SPILLS:
        return fmt::format("{} registers an invocation, this device's compiler spills above {}", c.value, c.limit);
    case VKF_TILE_HALF_EMPTY:
        return fmt::format("half empty: {} rows, should be fewer than {}", c.value, c.limit);
    case VKF_TILE_FEW_WORKGROUPS:
        return fmt::format("{} workgroups, a large device needs {} to be busy", c.value, c.limit);
    case VKF_TILE_NOT_NEEDED:
        return "not needed";
    default:
        return {};
    }
}

} // namespace

std::string reasonText(const VkfTileCandidate& candidate) {
    std::string rejection = rejectionText(candidate);
    if (candidate.taken == 0)
        return rejection;
    return rejection.empty() ? "taken" : fmt::format("taken, none is better ({})", rejection);
}

std::string explanationText(const host::Device& device, const host::Plan& plan) {
    return pathsText(pathsOf(plan.handle(), forwardPaths)) + functionsText(plan) + formulasText(device, plan) +
           candidatesText(plan) + trafficText(device, plan) + backwardTrafficText(device, plan.problem());
}

Json explanationJson(const host::Device& device, const host::Plan& plan) {
    const uint64_t onChip = device.summary().sharedMemoryBytes;
    Json document;
    document["paths"] = pathsJson(pathsOf(plan.handle(), forwardPaths));
    if (has(plan.problem(), VKF_USE_FUNCTIONS))
        document["functions"] = functionsJson(plan.problem());
    document["algorithm1Tile"] = tileJson(algorithm1Tile(onChip, dimsOf(plan), elementBytesOf(plan)));
    for (const Formula& formula : formulas) {
        Json tiles = Json::array();
        for (const TileSize tile : fittingTiles(formula.bytes, onChip, dimsOf(plan), elementBytesOf(plan)))
            tiles.push_back(tileJson(tile));
        document["fittingTiles"][formula.name] = std::move(tiles);
    }
    document["candidates"] = Json::array();
    for (const VkfTileCandidate& candidate : candidatesOf(plan))
        document["candidates"].push_back(candidateJson(candidate));
    document["traffic"] = trafficJson(trafficOf(device, plan));
    document["backwardTraffic"] = trafficJson(backwardTrafficOf(device, plan.problem()));
    return document;
}

std::string explanationText(const host::Device& device, VkfBackward backward, const VkfProblem& forward) {
    return pathsText(pathsOf(backward, backwardPaths)) + functionsText(backward, forward) +
           backwardTrafficText(device, forward);
}

Json explanationJson(const host::Device& device, VkfBackward backward, const VkfProblem& forward) {
    Json document = {{"paths", pathsJson(pathsOf(backward, backwardPaths))},
                     {"backwardTraffic", trafficJson(backwardTrafficOf(device, forward))}};
    if (has(forward, VKF_USE_FUNCTIONS))
        document["functions"] = functionsJson(forward);
    return document;
}

} // namespace vkf::tools

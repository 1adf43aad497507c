// SPDX-License-Identifier: MIT
#include "traffic.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace vkf::tools {

namespace {

// A problem's value dimension may be 0, for the head dimension.
uint32_t valueDimOf(const VkfProblem& problem) { return problem.valueDim != 0 ? problem.valueDim : problem.headDim; }

double bytesOf(VkfType type) { return static_cast<double>(vkfTypeBytes(type)); }

// What the tiles of a plan meet, summed up over the row tiles of one head.
struct TileSums {
    double rowTiles = 0;
    double rows = 0;
    double keys = 0;      // of the tiles of keys that a row tile reaches
    double rowVisits = 0; // rows, counted for each tile of keys that they meet
    double scores = 0;    // rows times keys of the tiles that meet
};

// [first, end) of the keys that rows [first, last] may see.
struct Reach {
    int64_t begin;
    int64_t end;
};

Reach reachOf(const VkfProblem& p, int64_t firstRow, int64_t lastRow) {
    const int64_t keys = p.keys;
    const int64_t offset = p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - int64_t{p.queryRows};
    const int64_t left = p.window.enabled != 0 ? p.window.left : -1;
    const int64_t right = p.causal != 0 ? 0 : p.window.enabled != 0 ? p.window.right : -1;
    const int64_t begin = left < 0 || left > keys ? 0 : std::max<int64_t>(firstRow + offset - left, 0);
    const int64_t end = right < 0 || right > keys ? keys : std::min(lastRow + offset + right + 1, keys);
    return {begin, end};
}

TileSums sumTiles(const VkfProblem& problem, uint32_t rows, uint32_t tileRows, uint32_t tileKeys, bool packed) {
    TileSums sums;
    for (uint64_t first = 0; first < rows; first += tileRows) {
        const uint64_t end = std::min<uint64_t>(first + tileRows, rows);
        // Packed rows of several heads may stand anywhere.
        const Reach reach = packed ? reachOf(problem, 0, int64_t{problem.queryRows} - 1)
                                   : reachOf(problem, static_cast<int64_t>(first), static_cast<int64_t>(end) - 1);
        const auto count = static_cast<double>(end - first);
        sums.rowTiles += 1;
        sums.rows += count;
        if (reach.begin >= reach.end)
            continue;
        const int64_t firstTile = reach.begin / tileKeys;
        const int64_t endTile = (reach.end + tileKeys - 1) / tileKeys;
        const double keys = static_cast<double>(std::min<int64_t>(endTile * tileKeys, problem.keys)) -
                            static_cast<double>(firstTile * tileKeys);
        sums.keys += keys;
        sums.rowVisits += count * static_cast<double>(endTile - firstTile);
        sums.scores += count * keys;
    }
    return sums;
}

// Whether a workgroup of path scalar holds all columns of its q at a time.
bool holdsQueries(const VkfProblem& problem, const VkfPlanInfo& plan) {
    constexpr std::string_view field = "chunkDim4=";
    const std::string_view tile = plan.tile;
    const size_t place = tile.find(field);
    uint32_t chunk = 0;
    if (place == std::string_view::npos ||
        std::from_chars(tile.data() + place + field.size(), tile.data() + tile.size(), chunk).ec != std::errc())
        return true;
    return (problem.headDim + 3) / 4 <= chunk;
}

} // namespace

double Traffic::read() const {
    double sum = 0;
    for (const TrafficEntry& entry : entries)
        sum += entry.read;
    return sum;
}

double Traffic::written() const {
    double sum = 0;
    for (const TrafficEntry& entry : entries)
        sum += entry.written;
    return sum;
}

TrafficShape trafficShape(const VkfProblem& problem) {
    const double element = bytesOf(problem.q.type);
    return {static_cast<double>(problem.batch) * problem.queryHeads,
            static_cast<double>(problem.queryRows),
            static_cast<double>(problem.keys),
            {problem.headDim, valueDimOf(problem)},
            element,
            element,
            4.0,
            problem.lse != 0 ? 4.0 : 0.0};
}

Traffic standardTraffic(const TrafficShape& shape) {
    const double q = shape.heads * shape.rows * shape.dims.head * shape.elementBytes;
    const double k = shape.heads * shape.keys * shape.dims.head * shape.elementBytes;
    const double v = shape.heads * shape.keys * shape.dims.value * shape.elementBytes;
    const double o = shape.heads * shape.rows * shape.dims.value * shape.elementBytes;
    const double s = shape.heads * shape.rows * shape.keys * shape.scoreBytes;
    return {{{"q", q, 0}, {"k", k, 0}, {"v", v, 0}, {"S", s, s}, {"P", s, s}, {"o", 0, o}}};
}

Traffic keyOuterTraffic(const TrafficShape& shape, TileSize tile) {
    const double steps = std::ceil(shape.keys / tile.keys);
    const double q = shape.heads * shape.rows * shape.dims.head * shape.elementBytes;
    const double k = shape.heads * shape.keys * shape.dims.head * shape.elementBytes;
    const double v = shape.heads * shape.keys * shape.dims.value * shape.elementBytes;
    const double o = shape.heads * shape.rows * shape.dims.value * shape.stateBytes;
    const double ml = 2 * shape.heads * shape.rows * shape.stateBytes;
    // The first state, empty, is written before the loop.
    return {{{"q", steps * q, 0},
             {"k", k, 0},
             {"v", v, 0},
             {"o", steps * o, (steps + 1) * o},
             {"m, l", steps * ml, (steps + 1) * ml}}};
}

Traffic queryOuterTraffic(const TrafficShape& shape, TileSize tile) {
    const double steps = std::ceil(shape.rows / tile.rows);
    const double q = shape.heads * shape.rows * shape.dims.head * shape.elementBytes;
    const double k = shape.heads * shape.keys * shape.dims.head * shape.elementBytes;
    const double v = shape.heads * shape.keys * shape.dims.value * shape.elementBytes;
    const double o = shape.heads * shape.rows * shape.dims.value * shape.elementBytes;
    const double lse = shape.heads * shape.rows * shape.lseBytes;
    return {{{"q", q, 0}, {"k", steps * k, 0}, {"v", steps * v, 0}, {"o", 0, o}, {"lse", 0, lse}}};
}

Traffic standardTraffic(const VkfProblem& problem, const VkfPlanInfo& /*plan*/) {
    TrafficShape shape = trafficShape(problem);
    shape.scoreBytes = sizeof(float);
    return standardTraffic(shape);
}

Traffic keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    return keyOuterTraffic(trafficShape(problem), {plan.tileRows, plan.tileKeys});
}

Traffic queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    Traffic traffic = queryOuterTraffic(trafficShape(problem), {plan.tileRows, plan.tileKeys});
    traffic.entries[0].read *= plan.kvSplits; // q
    const auto scratch = static_cast<double>(plan.scratchBytes);
    traffic.entries.push_back({"parts", scratch, scratch});
    return traffic;
}

double theorem2Standard(double n, double d) { return n * d + n * n; }

double theorem2Tiled(double n, double d, double onChip) { return n * n * d * d / onChip; }

Traffic planTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    if (plan.stepCount == 0)
        return {};
    // On path decode the query heads of a KV head are rows of one tile.
    const bool packed = plan.path == VKF_PATH_DECODE;
    const uint32_t group = packed ? problem.queryHeads / problem.kvHeads : 1;
    const double heads = static_cast<double>(problem.batch) * problem.queryHeads / group;
    const TileSums sums = sumTiles(problem, problem.queryRows * group, plan.tileRows, plan.tileKeys, packed);
    const double valueDim = valueDimOf(problem);

    const bool standard = plan.path == VKF_PATH_STANDARD;
    const double qVisits =
        standard || !holdsQueries(problem, plan) ? sums.rowVisits : sums.rows * std::max(plan.kvSplits, 1U);
    const double q = heads * qVisits * problem.headDim * bytesOf(problem.q.type);
    const double k = heads * sums.keys * problem.headDim * bytesOf(problem.k.type);
    const double v = heads * sums.keys * valueDim * bytesOf(problem.v.type);
    const double o = heads * sums.rows * valueDim * bytesOf(problem.o.type);
    Traffic traffic{{{"q", q, 0}, {"k", k, 0}, {"v", v, 0}}};
    if (standard) {
        // The softmax reads a row twice, for m and l and for P, which it writes in the place of S, all of it.
        const double s = 4 * heads * sums.scores;
        traffic.entries.push_back({"S", 2 * s, s});
        traffic.entries.push_back({"P", s, 4 * heads * sums.rows * problem.keys});
    } else if (plan.scratchBytes != 0) {
        const auto scratch = static_cast<double>(plan.scratchBytes);
        traffic.entries.push_back({"parts", scratch, scratch});
    }
    traffic.entries.push_back({"o", 0, o});
    if (problem.lse != 0)
        traffic.entries.push_back({"lse", 0, 4 * heads * sums.rows});
    return traffic;
}

} // namespace vkf::tools

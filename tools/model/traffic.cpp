// SPDX-License-Identifier: MIT
#include "model/traffic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vkf::tools {

namespace {

// A value dimension of 0 means the head dimension.
uint32_t valueDimOf(const VkfProblem& problem) { return problem.valueDim != 0 ? problem.valueDim : problem.headDim; }

double bytesOf(VkfType type) { return static_cast<double>(vkfTypeBytes(type)); }

// Bytes of whole tensors. dq is as large as q, and so on.
struct Sizes {
    double q, k, v, o, lse;

    explicit Sizes(const TrafficShape& s)
        : q(s.heads * s.rows * s.dims.head * s.elementBytes), k(s.heads * s.keys * s.dims.head * s.elementBytes),
          v(s.heads * s.keys * s.dims.value * s.elementBytes), o(s.heads * s.rows * s.dims.value * s.elementBytes),
          lse(s.heads * s.rows * s.stateBytes) {}
};

} // namespace

TileSize algorithm1Tile(uint64_t onChipBytes, TileDims dims, uint32_t elementBytes) {
    const uint64_t d = std::max({dims.head, dims.value, 1U});
    const uint64_t elements = onChipBytes / elementBytes;
    const uint64_t keys = (elements + 4 * d - 1) / (4 * d);
    return {static_cast<uint32_t>(std::min(keys, d)), static_cast<uint32_t>(keys)};
}

uint64_t stagedBytes(TileSize tile, TileDims dims, uint32_t elementBytes) {
    const uint64_t q = uint64_t{tile.rows} * dims.head;
    const uint64_t kv = uint64_t{tile.keys} * (uint64_t{dims.head} + dims.value);
    return (q + kv) * elementBytes;
}

uint64_t wholeTileBytes(TileSize tile, TileDims dims, uint32_t elementBytes) {
    const uint64_t s = uint64_t{tile.rows} * tile.keys;
    const uint64_t o = uint64_t{tile.rows} * dims.value;
    const uint64_t ml = uint64_t{2} * tile.rows;
    return stagedBytes(tile, dims, elementBytes) + (s + o + ml) * elementBytes;
}

std::vector<TileSize> fittingTiles(TileBytes bytes, uint64_t onChipBytes, TileDims dims, uint32_t elementBytes) {
    constexpr std::array<uint32_t, 4> usualTileExtents = {32, 64, 128, 256};
    std::vector<TileSize> tiles;
    for (const uint32_t rows : usualTileExtents)
        for (const uint32_t keys : usualTileExtents)
            if (bytes({rows, keys}, dims, elementBytes) <= onChipBytes)
                tiles.push_back({rows, keys});
    return tiles;
}

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
            element,
            4.0,
            has(problem, VKF_USE_LSE) ? 4.0 : 0.0};
}

Traffic standardTraffic(const TrafficShape& shape) {
    const Sizes size(shape);
    const double s = shape.heads * shape.rows * shape.keys * shape.scoreBytes;
    const double p = shape.heads * shape.rows * shape.keys * shape.probabilityBytes;
    return {{{"q", size.q, 0}, {"k", size.k, 0}, {"v", size.v, 0}, {"S", s, s}, {"P", p, p}, {"o", 0, size.o}}};
}

Traffic keyOuterTraffic(const TrafficShape& shape, TileSize tile) {
    const double steps = std::ceil(shape.keys / tile.keys);
    const Sizes size(shape);
    const double o = shape.heads * shape.rows * shape.dims.value * shape.stateBytes;
    const double ml = 2 * shape.heads * shape.rows * shape.stateBytes;
    // The initial empty state is written before the loop.
    return {{{"q", steps * size.q, 0},
             {"k", size.k, 0},
             {"v", size.v, 0},
             {"o", steps * o, (steps + 1) * o},
             {"m, l", steps * ml, (steps + 1) * ml}}};
}

Traffic queryOuterTraffic(const TrafficShape& shape, TileSize tile) {
    const double steps = std::ceil(shape.rows / tile.rows);
    const Sizes size(shape);
    return {{{"q", size.q, 0},
             {"k", steps * size.k, 0},
             {"v", steps * size.v, 0},
             {"o", 0, size.o},
             {"lse", 0, shape.heads * shape.rows * shape.lseBytes}}};
}

Traffic standardTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    TrafficShape shape = trafficShape(problem);
    shape.scoreBytes = sizeof(float);
    shape.probabilityBytes = bytesOf(plan.productType);
    return standardTraffic(shape);
}

Traffic keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    return keyOuterTraffic(trafficShape(problem), {plan.tileRows, plan.tileKeys});
}

Traffic queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan) {
    Traffic traffic = queryOuterTraffic(trafficShape(problem), {plan.tileRows, plan.tileKeys});
    traffic.entries[0].read *= plan.kvSplits; // q
    const auto scratch = static_cast<double>(plan.scratchBytes);
    traffic.entries.push_back({"partial results", scratch, scratch});
    return traffic;
}

double theorem2Standard(double n, double d) { return n * d + n * n; }

double theorem2Tiled(double n, double d, double onChip) { return n * n * d * d / onChip; }

Traffic storedBackwardTraffic(const TrafficShape& shape) {
    const Sizes size(shape);
    const double p = shape.heads * shape.rows * shape.keys * shape.probabilityBytes;
    const double s = shape.heads * shape.rows * shape.keys * shape.scoreBytes;
    return {{{"q", size.q, 0},
             {"k", size.k, 0},
             {"v", size.v, 0},
             {"dO", 2 * size.o, 0},
             {"P", 2 * p, 0},
             {"dP", s, s},
             {"dS", 2 * s, s},
             {"dq", 0, size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

Traffic keyOuterBackwardTraffic(const TrafficShape& shape, TileSize tile) {
    const Sizes size(shape);
    const double steps = std::ceil(shape.keys / tile.keys);
    return {{{"q", steps * size.q, 0},
             {"k", size.k, 0},
             {"v", size.v, 0},
             {"o", steps * size.o, 0},
             {"dO", steps * size.o, 0},
             {"lse", steps * size.lse, 0},
             {"dq", steps * size.q, steps * size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

Traffic ownedBackwardTraffic(const TrafficShape& shape, TileSize tile) {
    const Sizes size(shape);
    const double ofKeys = std::ceil(shape.keys / tile.keys);
    const double ofRows = std::ceil(shape.rows / tile.rows);
    return {{{"q", (ofKeys + 1) * size.q, 0},
             {"k", (1 + ofRows) * size.k, 0},
             {"v", (1 + ofRows) * size.v, 0},
             {"o", size.o, 0},
             {"dO", (1 + ofKeys + 1) * size.o, 0},
             {"lse, delta", size.lse + (ofKeys + 1) * 2 * size.lse, 2 * size.lse},
             {"dq", 0, size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

double minBackwardBytes(const TrafficShape& shape) {
    const Sizes size(shape);
    return 2 * (size.q + size.k + size.v + size.o) + size.lse;
}

} // namespace vkf::tools

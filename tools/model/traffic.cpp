// SPDX-License-Identifier: MIT
#include "model/traffic.hpp"

#include <cmath>

namespace vkf::tools {

namespace {

// A value dimension of 0 means the head dimension.
uint32_t valueDimOf(const VkfProblem& problem) { return problem.valueDim != 0 ? problem.valueDim : problem.headDim; }

double bytesOf(VkfType type) { return static_cast<double>(vkfTypeBytes(type)); }

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
            element,
            4.0,
            has(problem, VKF_USE_LSE) ? 4.0 : 0.0};
}

Traffic standardTraffic(const TrafficShape& shape) {
    const double q = shape.heads * shape.rows * shape.dims.head * shape.elementBytes;
    const double k = shape.heads * shape.keys * shape.dims.head * shape.elementBytes;
    const double v = shape.heads * shape.keys * shape.dims.value * shape.elementBytes;
    const double o = shape.heads * shape.rows * shape.dims.value * shape.elementBytes;
    const double s = shape.heads * shape.rows * shape.keys * shape.scoreBytes;
    const double p = shape.heads * shape.rows * shape.keys * shape.probabilityBytes;
    return {{{"q", q, 0}, {"k", k, 0}, {"v", v, 0}, {"S", s, s}, {"P", p, p}, {"o", 0, o}}};
}

Traffic keyOuterTraffic(const TrafficShape& shape, TileSize tile) {
    const double steps = std::ceil(shape.keys / tile.keys);
    const double q = shape.heads * shape.rows * shape.dims.head * shape.elementBytes;
    const double k = shape.heads * shape.keys * shape.dims.head * shape.elementBytes;
    const double v = shape.heads * shape.keys * shape.dims.value * shape.elementBytes;
    const double o = shape.heads * shape.rows * shape.dims.value * shape.stateBytes;
    const double ml = 2 * shape.heads * shape.rows * shape.stateBytes;
    // The initial empty state is written before the loop.
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

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
#include "benches/study_measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "measure/memory_use.hpp"
#include "model/plan_traffic.hpp"
#include "model/traffic.hpp"

namespace vkf::tools {

namespace {

constexpr std::array<StudyAlgorithm, 4> algorithms = {{
    {VKF_PATH_STANDARD, standardTraffic},
    {VKF_PATH_KEY_OUTER, keyOuterTraffic},
    {VKF_PATH_SCALAR, queryOuterTraffic},
    {VKF_PATH_COOPMAT, queryOuterTraffic},
}};

void requireMemory(const VkfPlanInfo& plan, uint64_t maxMemory) {
    const double needed = plan.minimumBytes + static_cast<double>(plan.scratchBytes);
    if (maxMemory != 0 && needed > static_cast<double>(maxMemory))
        throw host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY,
                          fmt::format("{} of tensors and {} of scratch are more than the {} of --most-memory",
                                      bytesText(plan.minimumBytes), bytesText(static_cast<double>(plan.scratchBytes)),
                                      bytesText(static_cast<double>(maxMemory))));
}

// Uses one set of tensors, as an application does. Times are taken over many sets, and their memory would hide what an
// algorithm needs.
StudyMemory measureMemory(host::Device& device, GpuClock& clock, const host::Plan& plan) {
    StudyMemory use;
    use.driverBefore = deviceMemoryInUse(device);
    const uint64_t before = device.bytesInUse();
    device.resetPeakBytes();
    {
        BenchMemory memory(device);
        memory.prepare(plan.problem(), plan.info().scratchBytes, 1);
        PlanRuns(clock, plan.handle(), plan.info().stepCount).run(memory.bindings(0));
        use.driverMost = deviceMemoryInUse(device);
    }
    use.peak = device.peakBytes() - before;
    use.driverAfter = deviceMemoryInUse(device);
    return use;
}

std::vector<float> outputOf(const VkfProblem& problem, const host::HostTensors& tensors) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_O);
    std::vector<float> o(layout.elements);
    for (uint64_t i = 0; i < layout.elements; ++i)
        o[i] = static_cast<float>(vkfLoadElement(layout.type, tensors.o, i));
    return o;
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
        if (std::isnan(difference))
            return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
    }
    return largest;
}

} // namespace

std::span<const StudyAlgorithm> studyAlgorithms() { return algorithms; }

bool isInStudy(VkfPath path) {
    return std::any_of(algorithms.begin(), algorithms.end(), [&](const auto& a) { return a.path == path; });
}

std::string studyNames() {
    std::string names;
    for (const StudyAlgorithm& algorithm : algorithms)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", vkfPathName(algorithm.path));
    return names;
}

StudyResult measureAlgorithm(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                             const StudyAlgorithm& algorithm, uint64_t maxMemory, const MeasureOptions& options,
                             const std::function<void()>& afterRun) {
    StudyResult result;
    {
        const host::Plan plan(device, problem);
        requireMemory(plan.info(), maxMemory);
        result.memory = measureMemory(device, clock, plan);
        result.predictedBytes = algorithm.traffic(problem, plan.info()).total();
        result.planBytes = planTraffic(problem, plan.info()).total();
    }
    BenchMemory memory(device);
    result.timed = measureProblem(device, clock, memory, problem, options, afterRun);
    // Every set has the same inputs. The first run wrote this set.
    result.o = outputOf(problem, memory.download(0));
    return result;
}

bool hasBackward(VkfPath path) { return path == VKF_PATH_SCALAR || path == VKF_PATH_COOPMAT; }

StudyBackward measureBackward(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                              const MeasureOptions& options, const std::function<void()>& afterRun) {
    StudyBackward result;
    BackwardMemory memory(device);
    result.timed = measureBackward(device, clock, memory, problem, options, afterRun);
    const TrafficShape shape = trafficShape(problem);
    const auto elementBytes = static_cast<uint32_t>(vkfTypeBytes(problem.q.type));
    const TileSize tile = algorithm1Tile(device.summary().sharedMemoryBytes, shape.dims, elementBytes);
    result.storedBytes = storedBackwardTraffic(shape).total();
    result.recomputedBytes = ownedBackwardTraffic(shape, tile).total();
    return result;
}

const StudyResult* standardOf(std::span<const StudyResult> results) {
    const auto found = std::find_if(results.begin(), results.end(),
                                    [](const auto& r) { return r.timed.plan.path == VKF_PATH_STANDARD; });
    return found == results.end() ? nullptr : &*found;
}

Difference differenceToOthers(std::span<const StudyResult> results, size_t one) {
    Difference largest;
    const StudyResult& a = results[one];
    for (size_t i = 0; i < results.size(); ++i) {
        if (i == one)
            continue;
        const StudyResult& b = results[i];
        largest =
            std::max(largest, Difference{largestDifference(a.o, b.o), a.timed.verdict.oBound + b.timed.verdict.oBound,
                                         a.timed.plan.path, b.timed.plan.path});
    }
    return largest;
}

} // namespace vkf::tools

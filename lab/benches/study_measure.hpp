// SPDX-License-Identifier: MIT
//
// Measures one algorithm of the study on one shape: memory, time and output. The output is for the comparison with the
// other algorithms.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/backward_measure.hpp"
#include "measure/problem_measure.hpp"
#include "model/traffic.hpp"

namespace vkf::tools {

struct StudyAlgorithm {
    VkfPath path;
    TrafficOrder traffic;
};

// The algorithms of the study. The baseline is the first.
std::span<const StudyAlgorithm> studyAlgorithms();
bool isInStudy(VkfPath path);
std::string studyNames(); // "standard, key_outer, scalar, coopmat"

// Memory of one set of tensors with its scratch. The driver counts the whole process. A count is empty where the driver
// does not report it.
struct StudyMemory {
    uint64_t peak = 0; // peak of the allocator
    std::optional<uint64_t> driverBefore, driverMost, driverAfter;
};

struct StudyResult {
    BenchResult timed;
    StudyMemory memory;
    double predictedBytes = 0; // from the papers' formula
    double planBytes = 0;      // from what the plan's kernels do
    std::vector<float> o;

    double bytesPerSecond() const { return predictedBytes / timed.timing.median; }
    double fasterThan(const StudyResult& other) const { return other.timed.timing.median / timed.timing.median; }
    double memorySaved(const StudyResult& other) const { // per cent
        return 100 * (1 - static_cast<double>(memory.peak) / static_cast<double>(other.memory.peak));
    }
};

// Throws what measureProblem throws.
// Throws host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY) too if tensors and scratch need more than maxMemory. 0 = no
// limit.
StudyResult measureAlgorithm(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                             const StudyAlgorithm& algorithm, uint64_t maxMemory, const MeasureOptions& options,
                             const std::function<void()>& afterRun);

// The backward pass of an algorithm, and the bytes that the papers count for the two ways to get P. Stored: the forward
// pass kept P. Recomputed: kernels of this library, with the tile of algorithm 1.
struct StudyBackward {
    BackwardResult timed;
    double storedBytes = 0;
    double recomputedBytes = 0;

    double recomputedBytesPerSecond() const { return recomputedBytes / timed.timing.median; }
    double storedBytesPerSecond() const { return storedBytes / timed.timing.median; }
};

// Whether the algorithm has a backward pass.
bool hasBackward(VkfPath path);

// Throws what measureBackward throws.
StudyBackward measureBackward(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                              const MeasureOptions& options, const std::function<void()>& afterRun);

// The result of path standard, or null if there is none.
const StudyResult* standardOf(std::span<const StudyResult> results);

// The difference between the outputs of two algorithms. Each output may be off by its own bound.
struct Difference {
    double largest = -1; // infinite if an output has a NaN
    double bound = 0;
    VkfPath one = VKF_PATH_AUTO, other = VKF_PATH_AUTO;

    bool known() const { return largest >= 0; }
    bool agrees() const { return largest <= bound; }
    bool operator<(const Difference& that) const { return largest < that.largest; }
};

// The largest difference between one result and any other result of the same shape. known() is false if there is no
// other.
Difference differenceToOthers(std::span<const StudyResult> results, size_t one);

} // namespace vkf::tools

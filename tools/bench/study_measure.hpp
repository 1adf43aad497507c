// SPDX-License-Identifier: MIT
//
// One algorithm of the study on one shape: what it takes on the device, how long, and what it gave, to be compared
// with what the others gave.
#ifndef VKFLASH_TOOLS_STUDY_MEASURE_HPP
#define VKFLASH_TOOLS_STUDY_MEASURE_HPP

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/problem_measure.hpp"
#include "model/traffic.hpp"

namespace vkf::tools {

struct StudyAlgorithm {
    VkfPath path;
    TrafficOrder traffic;
};

// The baseline first.
std::span<const StudyAlgorithm> studyAlgorithms();
bool isInStudy(VkfPath path);
std::string studyNames(); // "standard, key_outer, scalar, coopmat"

// Of one set of tensors with its scratch. The driver's counts are of the whole process, nothing where it does not tell.
struct StudyMemory {
    uint64_t peak = 0; // of the allocator
    std::optional<uint64_t> driverBefore, driverMost, driverAfter;
};

struct StudyResult {
    BenchResult timed;
    StudyMemory memory;
    double predictedBytes = 0; // by the papers' formula
    double planBytes = 0;      // by what the plan's kernels do
    std::vector<float> o;

    double bytesPerSecond() const { return predictedBytes / timed.timing.median; }
    double fasterThan(const StudyResult& other) const { return other.timed.timing.median / timed.timing.median; }
    double memorySaved(const StudyResult& other) const { // per cent
        return 100 * (1 - static_cast<double>(memory.peak) / static_cast<double>(other.memory.peak));
    }
};

// Throws what measureProblem throws; host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY) too where tensors and scratch are
// more than mostMemory, if that is not 0.
StudyResult measureAlgorithm(host::Device& device, GpuClock& clock, const VkfProblem& problem,
                             const StudyAlgorithm& algorithm, uint64_t mostMemory, const MeasureOptions& options,
                             const std::function<void()>& afterRun);

// The result on path standard; null if there is none.
const StudyResult* standardOf(std::span<const StudyResult> results);

// Between outputs of two algorithms. Each may be off by its own bound.
struct Difference {
    double largest = -1; // infinite where one is NaN
    double bound = 0;
    VkfPath one = VKF_PATH_AUTO, other = VKF_PATH_AUTO;

    bool known() const { return largest >= 0; }
    bool agrees() const { return largest <= bound; }
    bool operator<(const Difference& that) const { return largest < that.largest; }
};

// The largest between one result and any other of the same shape; not known if it is alone.
Difference differenceToOthers(std::span<const StudyResult> results, size_t one);

} // namespace vkf::tools

#endif

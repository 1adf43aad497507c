// SPDX-License-Identifier: MIT
//
// One row of `vkflash bench variants`: a call timed in turn with the one that it is compared with, and checked.
#ifndef VKFLASH_TOOLS_VARIANT_MEASURE_HPP
#define VKFLASH_TOOLS_VARIANT_MEASURE_HPP

#include <functional>
#include <optional>

#include "bench/variant_table.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

struct VariantResult {
    BenchResult result;
    size_t calls = 1;             // in a submission
    std::optional<Timing> base{}; // of the call that it took turns with
    double baseOperations = 0;

    // Over the base's.
    double timeRatio() const { return result.timing.median / base->median; }
    double rateRatio() const { return result.operations / baseOperations / timeRatio(); }
};

// What rows are measured with. The two of a row have buffers of their own.
class VariantMeasure {
public:
    VariantMeasure(host::Device& device, const MeasureOptions& options)
        : device_(device), options_(options), clock_(device), memory_(device), baseMemory_(device) {}

    // `plain` is the problem that the variant, and its base, change. afterRun is called after each of many runs. Throws
    // what planning and running throw; the verdict is the caller's to judge.
    VariantResult measure(const Variant& variant, const VkfProblem& plain, const std::function<void()>& afterRun);

private:
    host::Device& device_;
    MeasureOptions options_;
    GpuClock clock_;
    BenchMemory memory_;
    BenchMemory baseMemory_;
};

} // namespace vkf::tools

#endif

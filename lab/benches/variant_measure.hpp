// SPDX-License-Identifier: MIT
//
// Measures one row of `vkflash_lab variants`. The call and its base alternate, and the call is verified.
#pragma once

#include <functional>
#include <optional>

#include "benches/variant_table.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

struct VariantResult {
    BenchResult result;
    size_t calls = 1;             // calls in one submission
    std::optional<Timing> base{}; // the base call that took turns with this one
    double baseOperations = 0;

    // Relative to the base.
    double timeRatio() const { return result.timing.median / base->median; }
    double rateRatio() const { return result.operations / baseOperations / timeRatio(); }
};

// Device state for measuring rows. The call and its base have separate buffers.
class VariantMeasure {
public:
    VariantMeasure(host::Device& device, const MeasureOptions& options)
        : device_(device), options_(options), clock_(device), memory_(device), baseMemory_(device) {}

    // The variant and its base change the problem `plain`. Calls afterRun after each of many runs.
    // Throws what planning and running throw. The caller judges the verdict.
    VariantResult measure(const Variant& variant, const VkfProblem& plain, const std::function<void()>& afterRun);

private:
    host::Device& device_;
    MeasureOptions options_;
    GpuClock clock_;
    BenchMemory memory_;
    BenchMemory baseMemory_;
};

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
//
// Measures one row of `vkflash bench functions`. The calls that are compared take turns.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench/function_table.hpp"
#include "measure/backward_measure.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

// Another way to compute what the functions compute.
struct ComparedCall {
    VkfPath path{};
    Timing timing;
};

struct FunctionBackward {
    BackwardResult result; // of the call with functions
    std::optional<ComparedCall> builtIn{};
    std::optional<ComparedCall> mask{};
};

struct FunctionResult {
    BenchResult result;                        // the call with functions, which makes its map of tiles
    std::optional<Timing> keptMap{};           // the call with a map that was made before (VKF_USE_TILE_MAP)
    std::optional<ClockSample> makeMap{};      // vkfCmdMapTiles alone
    std::optional<ComparedCall> builtIn{};     // on the path of the call with functions
    std::optional<ComparedCall> builtInAuto{}; // on the path that the library chooses, if it is another one
    std::optional<ComparedCall> mask{};        // a dense boolean mask
    std::string compiledKernel;                // a kernel of the path
    double compileSeconds = 0;                 // wall time from GLSL to the SPIR-V of that kernel
    double planSeconds = 0;                    // wall time to create the plan, which compiles the kernels of the call
    std::optional<FunctionBackward> backward{};
};

class FunctionMeasure {
public:
    FunctionMeasure(host::Device& device, GpuClock& clock, const MeasureOptions& options)
        : device_(device), clock_(clock), options_(options), memory_(device), backwardMemory_(device) {}

    // `plain` is the call without functions. Calls afterRun after each of many runs. Throws what compiling, planning
    // and running throw. The caller judges the verdicts.
    FunctionResult measure(const BenchFunction& function, const VkfProblem& plain, bool backward,
                           const std::function<void()>& afterRun);

private:
    FunctionBackward measureBackwardOf(const BenchFunction& function, FunctionNumbers& numbers, VkfProblem plain,
                                       VkfFunctions handle, const std::function<void()>& afterRun);

    host::Device& device_;
    GpuClock& clock_;
    MeasureOptions options_;
    BenchMemory memory_; // of all calls of a row, which have the same tensors
    BackwardMemory backwardMemory_;
};

} // namespace vkf::tools

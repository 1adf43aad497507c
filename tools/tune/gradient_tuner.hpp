// SPDX-License-Identifier: MIT
//
// Looks for tiles of the backward pass that are faster than the library's own choice, for one kernel after the other.
#ifndef VKFLASH_TOOLS_GRADIENT_TUNER_HPP
#define VKFLASH_TOOLS_GRADIENT_TUNER_HPP

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/gradient/gradient_memory.hpp"
#include "measure/own_context.hpp"
#include "measure/problem_measure.hpp"
#include "tune/candidates.hpp"
#include "tune/contest.hpp"
#include "tune/tuning_text.hpp"

namespace vkf::tools {

// The library's own choice, and the best other tile, for the kernels that write some of the gradients.
struct GradientTuneResult {
    VkfProblem problem{}; // of the forward pass
    VkfGradients gradients = 0;
    VkfBackwardInfo builtIn{};
    // The best candidate, or the built-in choice if there is no candidate.
    VkfBackwardInfo best{};
    double builtInSeconds = 0;
    double bestSeconds = 0;
    bool taken = false; // the best is faster by the margin
    // The best is also not slower for the class of similar problems. The entries then cover the class.
    bool alike = false;
    // Lines for a tuning file. Empty if the built-in choice stays.
    std::vector<std::string> entries;

    double ratio() const { return builtInSeconds / bestSeconds; }
};

class GradientTuner {
public:
    // Calls afterRun after each of many runs.
    GradientTuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun);

    // Tunes the kernel of dq, or the kernels of dk and dv: `gradients` is VKF_GRADIENT_Q, or VKF_GRADIENT_K and
    // VKF_GRADIENT_V. Throws what creating and running throw, and host::Error if the path has no tuning data. Checks
    // results as Tuner does.
    GradientTuneResult tune(const VkfProblem& forward, VkfGradients gradients);

private:
    struct GradientContestant : Contestant {
        std::vector<KernelTileText> tiles; // empty for the built-in choice
        Context context;
        vkf::Backward gradient;
        VkfBackwardInfo info{};
        std::optional<StepRuns> runs;
    };

    // `tuning` is tuning data with the tiles. The built-in contestant has neither.
    GradientContestant contestant(const VkfProblem& forward, std::vector<KernelTileText> tiles,
                                  const std::string& tuning);
    void plan(const VkfProblem& forward, GradientContestant& contestant);
    std::vector<GradientContestant> contestants(const VkfProblem& forward, const ProblemClass& like,
                                                const VkfBackwardInfo& builtIn);
    void prepare(const VkfProblem& forward, const std::vector<const GradientContestant*>& contestants);
    ClockSample runOnce(GradientContestant& contestant);
    bool isFasterAlike(const ProblemClass& like, GradientContestant& candidate, GradientContestant& builtIn);
    void checkResult(const VkfProblem& forward, GradientContestant& contestant);

    host::Device& device_;
    TunerOptions options_;
    std::function<void()> afterRun_;
    GpuClock clock_;
    PipelineCache cache_;
    GradientMemory memory_;
    Contest contest_;
    VkfGradients gradients_ = 0; // that are tuned
    size_t set_ = 0;             // the set of buffers of the last run
};

} // namespace vkf::tools

#endif

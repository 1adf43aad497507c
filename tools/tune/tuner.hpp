// SPDX-License-Identifier: MIT
//
// Looks for a tile that runs a problem, and problems like it, faster than the library's own choice.
#ifndef VKFLASH_TOOLS_TUNER_HPP
#define VKFLASH_TOOLS_TUNER_HPP

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/own_context.hpp"
#include "measure/problem_measure.hpp"
#include "tune/contest.hpp"
#include "tune/tuning_text.hpp"

namespace vkf::tools {

// The plan of the library's own choice, and the plan of the best other tile.
struct TuneResult {
    VkfProblem problem{};
    VkfPlanInfo builtIn{};
    // The best candidate, or the built-in plan if there is no candidate.
    VkfPlanInfo best{};
    double builtInSeconds = 0;
    double bestSeconds = 0;
    bool taken = false; // the best is faster by the margin
    // The best is also not slower for the class of similar problems. The entry then covers the class.
    bool alike = false;
    // Line for a tuning file. Empty if the built-in choice stays.
    std::string entry;

    double ratio() const { return builtInSeconds / bestSeconds; }
};

class Tuner {
public:
    // Calls afterRun after each of many runs.
    Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun);

    // Throws what planning and running throw. Checks the results of the built-in plan and of a tile that would be
    // taken, and throws ProgramError if one is wrong.
    TuneResult tune(const VkfProblem& problem);

private:
    // One way to compute a problem.
    struct PlanContestant : Contestant {
        Context context;
        Plan plan;
        VkfPlanInfo info{};
        std::optional<PlanRuns> runs;
    };

    PlanContestant contestant(const VkfProblem& problem, const std::string& tuning);
    std::vector<PlanContestant> contestants(const VkfProblem& problem, const std::vector<std::string>& tiles,
                                            const ProblemClass& like, const VkfPlanInfo& builtIn);
    void prepare(const VkfProblem& problem, const std::vector<PlanContestant*>& contestants);
    ClockSample runOnce(PlanContestant& contestant);
    void rank(const VkfProblem& problem, PlanContestant& builtIn, std::vector<PlanContestant>& candidates);
    std::vector<PlanContestant> rankedCandidates(const VkfProblem& problem, const ProblemClass& like,
                                                 PlanContestant& builtIn);
    bool isFasterAlike(const ProblemClass& like, const PlanContestant& candidate, const PlanContestant& builtIn);
    void checkResult(const VkfProblem& problem, PlanContestant& contestant);

    host::Device& device_;
    TunerOptions options_;
    std::function<void()> afterRun_;
    GpuClock clock_;
    PipelineCache cache_;
    BenchMemory memory_;
    Contest contest_;
    // The set of buffers of the last run.
    size_t set_ = 0;
};

} // namespace vkf::tools

#endif

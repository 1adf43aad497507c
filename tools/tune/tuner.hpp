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
#include "tune/tuning_text.hpp"

namespace vkf::tools {

struct TunerOptions {
    // Wall time of runs before each comparison, because clocks rise slowly.
    double warmSeconds = 0.05;
    double seconds = 0.15; // wall time of each comparison
    size_t maxRuns = 21;   // runs of each tile in a comparison
    // Share by which a tile must be faster to be taken. The tuner measures it twice.
    double margin = 0.03;
    uint32_t sampleRows = 4; // number of rows of each head to check
};

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
    struct Contestant {
        Context context;
        Plan plan;
        VkfPlanInfo info{};
        std::optional<PlanRuns> runs;
        std::vector<ClockSample> times;
    };

    Contestant contestant(const VkfProblem& problem, const std::string& tuning);
    std::vector<Contestant> contestants(const VkfProblem& problem, const std::vector<std::string>& tiles,
                                        const ProblemClass& like, const VkfPlanInfo& builtIn);
    void prepare(const VkfProblem& problem, const std::vector<Contestant*>& contestants);
    ClockSample runOnce(Contestant& contestant);
    double medianOf(const std::vector<ClockSample>& samples) const; // median of the samples at full clock
    bool enoughOf(const std::vector<Contestant*>& contestants) const;
    void warmUp(Contestant& contestant);
    void compare(const std::vector<Contestant*>& contestants);
    void rank(const VkfProblem& problem, Contestant& builtIn, std::vector<Contestant>& candidates);
    std::vector<Contestant> rankedCandidates(const VkfProblem& problem, const ProblemClass& like, Contestant& builtIn);
    bool isFaster(Contestant& candidate, Contestant& builtIn, double margin);
    bool isFasterAlike(const ProblemClass& like, const Contestant& candidate, const Contestant& builtIn);
    void checkResult(const VkfProblem& problem, Contestant& contestant);

    host::Device& device_;
    TunerOptions options_;
    std::function<void()> afterRun_;
    GpuClock clock_;
    PipelineCache cache_;
    BenchMemory memory_;
    // The set of buffers of the last run.
    size_t set_ = 0;
};

} // namespace vkf::tools

#endif

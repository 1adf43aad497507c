// SPDX-License-Identifier: MIT
//
// Looks for a tile that serves a problem, and those like it, better than the library's own choice.
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
    double warmSeconds = 0.05; // wall time of runs before each comparison: clocks rise slowly
    double seconds = 0.15;     // wall time of each comparison
    size_t maxRuns = 21;       // of each tile in a comparison
    double margin = 0.03;      // by which another tile must be faster, twice, to be taken
    uint32_t sampleRows = 4;   // of each head, to check
};

// Plans as the library makes them on its own, and with a tile of one's own.
struct TuneResult {
    VkfProblem problem{};
    VkfPlanInfo builtIn{};
    VkfPlanInfo best{}; // of the candidates; the built-in plan if there are none
    double builtInSeconds = 0;
    double bestSeconds = 0;
    bool taken = false; // whether the best is better enough
    bool alike = false; // and no worse in problems alike, so that the entry is for these too
    std::string entry;  // for a tuning file; empty if the built-in choice stays

    double ratio() const { return builtInSeconds / bestSeconds; }
};

class Tuner {
public:
    // afterRun is called after each of many runs.
    Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun);

    // Throws what planning and running throw, and ProgramError where a result is wrong: the built-in plan's and that
    // of a tile that would be taken are checked.
    TuneResult tune(const VkfProblem& problem);

private:
    // A way to compute a problem.
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
    double medianOf(const std::vector<ClockSample>& samples) const; // of those at full clock
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
    size_t set_ = 0; // of buffers, of the last run
};

} // namespace vkf::tools

#endif

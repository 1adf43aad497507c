// SPDX-License-Identifier: MIT
//
// The results of a bench over many problems. A bench may leave out some of the problems.
#ifndef VKFLASH_TOOLS_BENCH_RESULTS_HPP
#define VKFLASH_TOOLS_BENCH_RESULTS_HPP

#include <optional>
#include <string>

#include "bench/bench_report.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"

namespace vkf::tools {

class BenchResults {
public:
    void add(Json result) { results_.push_back(std::move(result)); }
    // Records a problem that was not measured. `more` has further members for its entry in the report.
    void leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more = Json::object());
    size_t size() const { return results_.size(); } // number of measured problems

    // Call it for each result. After a wrong result the bench still measures the other problems.
    void judge(const VkfVerdict& verdict, const VkfPlanInfo& plan);
    void judge(const VkfGradientVerdict& verdict, const VkfGradientInfo& info);

    // Throws ProgramError for the first wrong result, if there is one.
    void requireRight() const;

    // Call it at the end. Writes the report, with the members of `head` before the results.
    // Throws ProgramError if there is no result, or if the validation layer reported something.
    void write(const ReportOptions& report, const char* bench, const host::Device& device, const DeviceFlags& flags,
               Json head);

private:
    Json results_ = Json::array();
    Json leftOut_ = Json::array();
    std::optional<ProgramError> wrong_; // about the first wrong result
};

} // namespace vkf::tools

#endif

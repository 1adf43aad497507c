// SPDX-License-Identifier: MIT
//
// The results of a bench over many problems. Nothing that was measured is lost: what ends the bench early, and a wrong
// result, come back only after the report is written.
#ifndef VKFLASH_TOOLS_BENCH_RESULTS_HPP
#define VKFLASH_TOOLS_BENCH_RESULTS_HPP

#include <exception>
#include <functional>
#include <string>

#include "bench/bench_report.hpp"
#include "cli/error.hpp"
#include "cli/options.hpp"

namespace vkf::tools {

class BenchResults {
public:
    // Does a part of the work. Returns false if it throws. write() throws the first of these exceptions.
    bool keepFailure(const std::function<void()>& work);

    // Adds the result of a measured problem. A wrong one becomes an entry of the problems that were left out, and the
    // bench goes on.
    void add(Json result, const VkfVerdict& verdict, const VkfPlanInfo& plan);
    void add(Json result, const VkfBackwardVerdict& verdict, const VkfBackwardInfo& info);
    // Records a problem that was not measured. `more` has further members for its entry in the report.
    void leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more = Json::object());
    size_t size() const { return results_.size(); } // number of measured problems

    // Call it at the end. Writes the report, with the members of `head` before the results. Then throws the failure
    // that was kept, if there is one.
    // Throws ProgramError without a report if there is no result, and after it if the validation layer reported
    // something.
    void write(const ReportOptions& report, const char* bench, const host::Device& device, const DeviceFlags& flags,
               Json head);

private:
    void addJudged(Json result, const std::string& fault);

    Json results_ = Json::array();
    Json leftOut_ = Json::array();
    std::exception_ptr failure_;
};

} // namespace vkf::tools

#endif

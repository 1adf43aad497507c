// SPDX-License-Identifier: MIT
//
// The results of a bench over many problems, of which some may be left out.
#ifndef VKFLASH_TOOLS_BENCH_RESULTS_HPP
#define VKFLASH_TOOLS_BENCH_RESULTS_HPP

#include <optional>
#include <string>

#include "bench/bench_report.hpp"
#include "cli/options.hpp"

namespace vkf::tools {

class BenchResults {
public:
    void add(Json result) { results_.push_back(std::move(result)); }
    // `more` are further members of what stands for the problem in the file.
    void leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more = Json::object());
    size_t size() const { return results_.size(); } // of those that were measured

    // To be asked of each result. A wrong one does not keep the others from being measured.
    void judge(const VkfVerdict& verdict, const VkfPlanInfo& plan);

    // ProgramError if a result was wrong, about the first.
    void requireRight() const;

    // At the end: the file, with the members of `head` in front of the results. ProgramError if there is not one result
    // or the layers found something.
    void write(const ReportOptions& report, const char* bench, const host::Device& device, const DeviceFlags& flags,
               Json head);

private:
    struct Wrong {
        VkfVerdict verdict;
        std::string plan;
    };

    Json results_ = Json::array();
    Json leftOut_ = Json::array();
    std::optional<Wrong> wrong_; // the first
};

} // namespace vkf::tools

#endif

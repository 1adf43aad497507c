// SPDX-License-Identifier: MIT
#include "bench/bench_results.hpp"

#include "cli/verdict.hpp"

namespace vkf::tools {

void BenchResults::leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more) {
    leftOut_.push_back(leftOutJson(problem, reason));
    leftOut_.back().update(more);
}

void BenchResults::judge(const VkfVerdict& verdict, const VkfPlanInfo& plan) {
    if (!verdict.passed && !wrong_)
        wrong_ = {verdict, plan.description};
}

void BenchResults::requireRight() const {
    if (wrong_)
        requirePassed(wrong_->verdict, wrong_->plan);
}

void BenchResults::write(const ReportOptions& report, const char* bench, const host::Device& device,
                         const DeviceFlags& flags, Json head) {
    requireResults(results_, leftOut_);
    if (flags.validation)
        checkValidation(device);
    head.update({{"results", std::move(results_)}, {"leftOut", std::move(leftOut_)}});
    writeReport(report, bench, device.summary(), std::move(head));
}

} // namespace vkf::tools

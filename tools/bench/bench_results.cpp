// SPDX-License-Identifier: MIT
#include "bench/bench_results.hpp"

#include "cli/verdict.hpp"

namespace vkf::tools {

namespace {

// Keeps the first error.
template <typename Verdict>
void judgeAny(const Verdict& verdict, const char* description, std::optional<ProgramError>& wrong) {
    try {
        requirePassed(verdict, description);
    } catch (const ProgramError& error) {
        wrong = wrong ? wrong : error;
    }
}

} // namespace

void BenchResults::leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more) {
    leftOut_.push_back(leftOutJson(problem, reason));
    leftOut_.back().update(more);
}

void BenchResults::judge(const VkfVerdict& verdict, const VkfPlanInfo& plan) {
    judgeAny(verdict, plan.description, wrong_);
}

void BenchResults::judge(const VkfGradientVerdict& verdict, const VkfGradientInfo& info) {
    judgeAny(verdict, info.description, wrong_);
}

void BenchResults::requireRight() const {
    if (wrong_)
        throw ProgramError(*wrong_);
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

// SPDX-License-Identifier: MIT
#include "bench/bench_results.hpp"

#include "cli/verdict.hpp"

namespace vkf::tools {

namespace {

// The message of requirePassed. "" if the result is right.
template <typename Verdict> std::string faultOf(const Verdict& verdict, const char* description) {
    try {
        requirePassed(verdict, description);
        return "";
    } catch (const ProgramError& error) {
        return error.what();
    }
}

} // namespace

bool BenchResults::keepFailure(const std::function<void()>& work) {
    try {
        work();
        return true;
    } catch (...) {
        failure_ = failure_ ? failure_ : std::current_exception();
        return false;
    }
}

void BenchResults::leaveOut(const VkfProblem& problem, const std::string& reason, const Json& more) {
    leftOut_.push_back(leftOutJson(problem, reason));
    leftOut_.back().update(more);
}

void BenchResults::add(Json result, const VkfVerdict& verdict, const VkfPlanInfo& plan) {
    addJudged(std::move(result), faultOf(verdict, plan.description));
}

void BenchResults::add(Json result, const VkfBackwardVerdict& verdict, const VkfBackwardInfo& info) {
    addJudged(std::move(result), faultOf(verdict, info.description));
}

void BenchResults::addJudged(Json result, const std::string& fault) {
    if (fault.empty()) {
        results_.push_back(std::move(result));
        return;
    }
    result["reason"] = fault;
    leftOut_.push_back(std::move(result));
    keepFailure([&] { fail("{}", fault); });
}

void BenchResults::write(const ReportOptions& report, const char* bench, const host::Device& device,
                         const DeviceFlags& flags, Json head) {
    if (!failure_)
        requireResults(results_, leftOut_);
    if (!results_.empty() || !leftOut_.empty()) {
        head.update({{"results", std::move(results_)}, {"leftOut", std::move(leftOut_)}});
        writeReport(report, bench, device.summary(), std::move(head));
    }
    if (failure_)
        std::rethrow_exception(failure_);
    if (flags.validation)
        checkValidation(device);
}

} // namespace vkf::tools

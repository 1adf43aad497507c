// SPDX-License-Identifier: MIT
#include "bench/shape_bench.hpp"

#include <cstdio>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "measure/problem_measure.hpp"

namespace vkf::tools {

namespace {

// Checks the flags before the device is opened.
const ReportOptions& checked(const TimingOptions& timing, const std::vector<std::string>& compare,
                             const DeviceFlags& flags, const ReportOptions& report) {
    checkReport(report);
    for (const std::string& file : compare)
        if (!report.json.empty() && sameFile(report.json, file))
            failInput("--json {}: is the file of --compare", report.json);
    if (!report.json.empty() && !flags.tuning.empty() && sameFile(report.json, flags.tuning))
        failInput("--json {}: is the file of --tuning", report.json);
    checkTiming(timing.maxRuns, timing.seconds);
    return report;
}

} // namespace

ShapeBench::ShapeBench(std::string name, std::vector<VkfProblem> problems, const TimingOptions& timing,
                       const std::vector<std::string>& compare, const DeviceFlags& flags, const ReportOptions& report)
    : name_(std::move(name)), problems_(std::move(problems)), comparisons_(loadComparisons(compare)), flags_(flags),
      report_(checked(timing, compare, flags, report)), device_(openDevice(flags)), clock_(device_),
      progress_("bench " + name_) {}

void ShapeBench::run(Json head) {
    head_ = std::move(head);
    fmt::print("device  {}, {}\n", device_.summary().name, device_.summary().driver);
    printHeading();
    for (const VkfProblem& problem : problems_) {
        measureUnlessFailed(problem);
        ++done_;
    }
    progress_.hide();
    finish();
    printComparisons(comparisons_, results_.size());
    head_["comparisons"] = comparisonsJson(comparisons_);
    results_.write(report_, name_.c_str(), device_, flags_, std::move(head_));
}

void ShapeBench::measureUnlessFailed(const VkfProblem& problem) {
    if (!ended_.empty())
        return results_.leaveOut(problem, ended_);
    try {
        measureOrSkip(problem);
    } catch (const std::exception& error) { // a lost device, for instance
        ended_ = fmt::format("the bench ended here: {}", error.what());
        results_.leaveOut(problem, ended_);
        results_.keepFailure([] { throw; });
    }
}

void ShapeBench::measureOrSkip(const VkfProblem& problem) {
    const double share = static_cast<double>(done_) / static_cast<double>(problems_.size());
    try {
        measure(problem, [&] { progress_.update(share); });
    } catch (const host::Error& error) {
        if (!isOfOneShape(error.result()))
            throw;
        progress_.hide();
        printShape(problem);
        fmt::print("  left out: {}\n", error.what());
        std::fflush(stdout);
        results_.leaveOut(problem, error.what(), skipped(problem));
    }
}

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
//
// The driver of all benches over shapes: it measures one problem after another, leaves out what a path or the device
// cannot do, compares results with the times of other implementations, and writes the report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/bench_report.hpp"
#include "bench/comparisons.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "measure/gpu_clock.hpp"
#include "measure/timing.hpp"

namespace vkf::tools {

// The problems of subjects, which say more about what is measured. `problem` is a member.
template <typename Subject>
std::vector<VkfProblem> problemsOfSubjects(const std::vector<Subject>& subjects, VkfProblem Subject::*problem) {
    std::vector<VkfProblem> problems;
    problems.reserve(subjects.size());
    for (const Subject& subject : subjects)
        problems.push_back(subject.*problem);
    return problems;
}

class ShapeBench {
public:
    // `name` is that of the bench in the report. Throws ProgramError if a flag of the measurement or of the report
    // makes no sense.
    ShapeBench(std::string name, std::vector<VkfProblem> problems, const TimingOptions& timing,
               const std::vector<std::string>& compare, const DeviceFlags& flags, const ReportOptions& report);
    virtual ~ShapeBench() = default;
    ShapeBench(const ShapeBench&) = delete;
    ShapeBench& operator=(const ShapeBench&) = delete;

    // Measures all problems and writes the report, with the members of `head` before the comparisons and the results.
    void run(Json head = Json::object());

protected:
    host::Device& device() { return device_; }
    GpuClock& clock() { return clock_; }
    std::vector<Comparison>& comparisons() { return comparisons_; }
    BenchResults& results() { return results_; }
    Json& head() { return head_; }         // members of the report before the comparisons and the results
    size_t index() const { return done_; } // of the problem that is measured
    void hideProgress() { progress_.hide(); }

private:
    // What stands between the line of the device and the first result.
    virtual void printHeading() const = 0;
    // The columns of a problem, without the end of the line.
    virtual void printShape(const VkfProblem& problem) const = 0;
    // Measures a problem, prints the result and adds it to results(). Calls afterRun after each run.
    virtual void measure(const VkfProblem& problem, const std::function<void()>& afterRun) = 0;
    // Comes after the reason why a problem was not measured, which is printed and will be in the report with these
    // members.
    virtual Json skipped(const VkfProblem& /*problem*/) { return Json::object(); }
    // Comes after the last problem, before the report.
    virtual void finish() {}

    void measureUnlessFailed(const VkfProblem& problem);
    void measureOrSkip(const VkfProblem& problem);

    std::string name_;
    std::vector<VkfProblem> problems_;
    std::vector<Comparison> comparisons_;
    const DeviceFlags& flags_;
    const ReportOptions& report_;
    host::Device device_;
    GpuClock clock_;
    Progress progress_;
    size_t done_ = 0;
    Json head_;
    std::string ended_; // why the bench measures no further problem; empty = it goes on
    BenchResults results_;
};

} // namespace vkf::tools

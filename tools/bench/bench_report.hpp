// SPDX-License-Identifier: MIT
//
// The JSON report of the bench commands. A head names program, device, date and command line; the results follow.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "measure/problem_measure.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

using Json = nlohmann::ordered_json; // keeps the order in which the members were added

struct ReportOptions {
    std::string json; // empty = no file
    std::string commit = "unknown";
};

void addReportOptions(CLI::App& command, ReportOptions& options);
// Adds the flags of every bench that times whole calls: device, tuning, measurement and report.
void addTimedBenchOptions(CLI::App& command, DeviceFlags& device, MeasureOptions& measure, ReportOptions& report);

// Call it before the measurements. Throws ProgramError if the report file cannot be written.
void checkReport(const ReportOptions& options);

// Writes the head of the report and then the members of `body`. Does nothing without a report file.
void writeReport(const ReportOptions& options, const char* bench, const host::DeviceSummary& summary, Json body);

// Shape, types and masks of a problem.
Json problemJson(const VkfProblem& problem);
Json resultJson(const BenchResult& result);
// Times and the number of runs.
Json timesJson(const Timing& timing);
// What a run of so many steps was: submissions and memory.
Json runJson(const TimedResult& result, uint32_t steps);
// Clock of the runs, and how many runs were left out. An empty object where the clock is not known.
Json clockJson(const Timing& timing);
// The number, or null where the number of bytes is not known.
Json bytesJson(const std::optional<uint64_t>& bytes);

// Throws ProgramError if there is no result at all. The message has the reason of the first problem that was left out.
void requireResults(const Json& results, const Json& leftOut);

// The results of a bench over many problems. Nothing that was measured is lost: what ends the bench early, and a wrong
// result, come back only after the report is written.
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

// SPDX-License-Identifier: MIT
//
// The JSON report of the bench commands. A head names program, device, date and command line; the results follow.
#ifndef VKFLASH_TOOLS_BENCH_REPORT_HPP
#define VKFLASH_TOOLS_BENCH_REPORT_HPP

#include <cstdint>
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
    std::string commandLine;
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
// Clock of the runs, and how many runs were left out. An empty object where the clock is not known.
Json clockJson(const Timing& timing);
// The number, or null where the number of bytes is not known.
Json bytesJson(const std::optional<uint64_t>& bytes);

// Describes a problem that was not measured, with the reason.
Json leftOutJson(const VkfProblem& problem, const std::string& reason);

// Throws ProgramError if there is no result at all. The message has the reason of the first problem that was left out.
void requireResults(const Json& results, const Json& leftOut);

} // namespace vkf::tools

#endif

// SPDX-License-Identifier: MIT
//
// What the bench commands write to a file: who measured what, where and when, then the results.
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

using Json = nlohmann::ordered_json; // keys in the order in which people read them

struct ReportOptions {
    std::string json; // empty = no file
    std::string commit = "unknown";
    std::string commandLine;
};

void addReportOptions(CLI::App& command, ReportOptions& options);
// All that the benches that time whole calls have in common: device and tuning, how to measure, the report.
void addTimedBenchOptions(CLI::App& command, DeviceFlags& device, MeasureOptions& measure, ReportOptions& report);

// Before the work: ProgramError if the file could not be written.
void checkReport(const ReportOptions& options);

// The head of the file with the members of `body` after it. Does nothing if no file was asked for.
void writeReport(const ReportOptions& options, const char* bench, const host::DeviceSummary& summary, Json body);

// Shape, types and masks.
Json problemJson(const VkfProblem& problem);
Json resultJson(const BenchResult& result);
// The clock and the runs that did not count, or that all did; empty where the clock is not known.
Json clockJson(const Timing& timing);
// null where the number of bytes is not known.
Json bytesJson(const std::optional<uint64_t>& bytes);

// A problem that was not measured, and why.
Json leftOutJson(const VkfProblem& problem, const std::string& reason);

// ProgramError with the reason of the first problem left out if there is not one result.
void requireResults(const Json& results, const Json& leftOut);

} // namespace vkf::tools

#endif

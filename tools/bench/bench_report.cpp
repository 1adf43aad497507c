// SPDX-License-Identifier: MIT
#include "bench/bench_report.hpp"

#include <ctime>
#include <vector>

#include "cli/device_text.hpp"
#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/program/help.hpp"
#include "cli/program/program.hpp"
#include "cli/verdict.hpp"

namespace vkf::tools {

namespace {

std::string utcDate() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
#if defined(_WIN32)
    gmtime_s(&utc, &now);
#else
    gmtime_r(&now, &utc);
#endif
    char text[sizeof("2000-01-01T00:00:00Z")];
    return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// Names of files and flags need not be UTF-8.
std::string textOf(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// One result a line: files stay short, and a result that changes is one line of a diff.
std::string reportText(const Json& document) {
    std::string text = "{";
    for (const auto& [name, value] : document.items()) {
        text += fmt::format("{}\n  {}: ", text.size() > 1 ? "," : "", textOf(name));
        if (!value.is_array() || value.empty()) {
            text += textOf(value);
            continue;
        }
        const char* separator = "[";
        for (const Json& element : value) {
            text += fmt::format("{}\n    {}", separator, textOf(element));
            separator = ",";
        }
        text += "\n  ]";
    }
    return text + "\n}\n";
}

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

void addReportOptions(CLI::App& command, ReportOptions& options) {
    const HelpGroup group(command, measureGroup);
    command.add_option("--json", options.json, "write the results to this JSON file too")->type_name("FILE");
    command.add_option("--commit", options.commit, "commit hash to record in the JSON file")->type_name("HASH");
}

void addTimedBenchOptions(CLI::App& command, DeviceFlags& device, MeasureOptions& measure, ReportOptions& report) {
    addDeviceOptions(command, device);
    addTuningOption(command, device.tuning);
    addMeasureOptions(command, measure);
    addReportOptions(command, report);
}

void checkReport(const ReportOptions& options) {
    if (!options.json.empty())
        checkOutputFile("--json", options.json);
}

void writeReport(const ReportOptions& options, const char* bench, const host::DeviceSummary& summary, Json body) {
    if (options.json.empty())
        return;
    Json document = {{"program", versionText()},
                     {"bench", bench},
                     {"commit", options.commit},
                     {"date", utcDate()},
                     {"device", summary.name},
                     {"driver", summary.driver},
                     {"apiVersion", apiVersionText(summary.apiVersion)},
                     {"commandLine", commandLine()}};
    document.update(body);
    writeOutputFile("--json", options.json, reportText(document));
}

Json problemJson(const VkfProblem& problem) {
    Json json = {{"batch", problem.batch},
                 {"queryHeads", problem.queryHeads},
                 {"kvHeads", problem.kvHeads},
                 {"queryRows", problem.queryRows},
                 {"keys", problem.keys},
                 {"headDim", problem.headDim},
                 {"valueDim", problem.valueDim != 0 ? problem.valueDim : problem.headDim},
                 {"type", vkfTypeName(problem.q.type)},
                 {"causal", has(problem, VKF_USE_CAUSAL)},
                 {"precision", precisionName(problem.precision)}};
    if (problem.k.type != problem.q.type)
        json["kvType"] = vkfTypeName(problem.k.type);
    if (problem.v.type != problem.k.type)
        json["vType"] = vkfTypeName(problem.v.type);
    if (vkf::has(problem, VKF_USE_WINDOW))
        json["window"] = fmt::format("{},{}", problem.window.left, problem.window.right);
    if (problem.window.firstKeys != 0)
        json["firstKeys"] = problem.window.firstKeys;
    if (problem.softcap != 0)
        json["softcap"] = problem.softcap;
    if (vkf::has(problem, VKF_USE_ALIBI))
        json["alibi"] = true;
    if (has(problem, VKF_USE_LSE))
        json["lse"] = true;
    if (has(problem, VKF_USE_BLOCK_TABLE))
        json["pageSize"] = problem.paging.pageSize;
    if (has(problem, VKF_USE_CHOSEN_KEYS))
        json["chosenCount"] = problem.chosenKeys.count;
    if (has(problem, VKF_USE_BLOCK_MASK))
        json["maskBlock"] = problem.blockMask.blockSize;
    return json;
}

Json resultJson(const BenchResult& result) {
    Json json = problemJson(result.problem);
    json.update({{"path", vkfPathName(result.plan.path)}, {"plan", result.plan.description}});
    json.update(timesJson(result.timing));
    json.update(runJson(result, result.plan.stepCount));
    json.update({{"scratchBytes", result.plan.scratchBytes},
                 {"operations", result.operations},
                 {"teraflops", result.teraflops()},
                 {"error", result.verdict.oError},
                 {"bound", result.verdict.oBound}});
    if (has(result.problem, VKF_USE_BLOCK_MASK))
        json["blockDensity"] = result.blockDensity;
    json.update(clockJson(result.timing));
    return json;
}

Json timesJson(const Timing& timing) {
    return {{"medianSeconds", timing.median},
            {"leastSeconds", timing.least},
            {"mostSeconds", timing.most},
            {"spread", timing.spread},
            {"runs", timing.runs}};
}

Json runJson(const TimedResult& result, uint32_t steps) {
    return {{"steps", steps},
            {"submissions", result.oneSubmission ? 1 : steps},
            {"bufferSets", result.sets},
            {"tensorBytes", result.tensorBytes}};
}

Json bytesJson(const std::optional<uint64_t>& bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

Json clockJson(const Timing& timing) {
    if (timing.clock <= 0)
        return Json::object();
    return {
        {"clock_mhz", timing.clock * 1e-6}, {"runs_left_out", timing.leftOut}, {"clock_unsteady", !timing.fullClock}};
}

void requireResults(const Json& results, const Json& leftOut) {
    if (results.empty())
        failInput("nothing was measured: {}", leftOut.front()["reason"].get<std::string>());
}

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
    Json json = problemJson(problem);
    json.update({{"path", vkfPathName(problem.path)}, {"reason", reason}});
    json.update(more);
    leftOut_.push_back(std::move(json));
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

// SPDX-License-Identifier: MIT
#include "report/result_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "report/html.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

// The last columns of every bench that times whole calls.
constexpr auto lastColumns = std::to_array<Column>({
    {"clock, MHz", "clock_mhz", CellKind::clock},
    {"runs left out", "runs_left_out", CellKind::number},
    {"error", "error", CellKind::error},
    {"bound", "bound", CellKind::error},
});

// The columns of all lists, in order.
template <typename... Lists> constexpr auto joined(const Lists&... lists) {
    std::array<Column, (std::tuple_size_v<Lists> + ...)> all{};
    auto to = all.begin();
    ((to = std::ranges::copy(lists, to).out), ...);
    return all;
}

template <size_t count> constexpr auto timedColumns(const Column (&columns)[count]) {
    return joined(std::to_array(columns), lastColumns);
}

// What a problem of a grid of shapes is, and how long it takes.
constexpr auto gridProblem = std::to_array<Column>({
    {"type", "type"},
    {"D", "headDim"},
    {"N", "queryRows"},
    {"keys", "keys"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"KV heads", "kvHeads"},
    {"causal", "causal"},
    {"path", "path"},
});
constexpr auto gridTimes = std::to_array<Column>({
    {"median", "medianSeconds", CellKind::time},
    {"spread", "spread", CellKind::share},
    {"TFLOP/s", "teraflops", CellKind::number},
    {"others: TFLOP/s (ratio)", "peers", CellKind::peers},
    {"scratch", "scratchBytes", CellKind::bytes},
});

constexpr auto gridColumns = joined(gridProblem, gridTimes, lastColumns);

constexpr auto gradientTiles = std::to_array<Column>({
    {"tile of dq", "rowTile"},
    {"tile of dk, dv", "keyTile"},
});
constexpr auto storedP = std::to_array<Column>({
    {"stored P would move", "storedBytes", CellKind::bytes},
    {"in this time", "storedBytesPerSecond", CellKind::bytesPerSecond},
});
constexpr auto backwardColumns = joined(gridProblem, gradientTiles, gridTimes, storedP, lastColumns);

constexpr auto studyColumns = timedColumns({
    {"type", "type"},
    {"D", "headDim"},
    {"N", "queryRows"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"path", "path"},
    {"median", "medianSeconds", CellKind::time},
    {"faster", "fasterThanStandard", CellKind::ratio},
    {"TFLOP/s", "teraflops", CellKind::number},
    {"memory", "peakBytes", CellKind::bytes},
    {"saved", "memorySavedPercent", CellKind::percent},
    {"predicted traffic", "predictedBytes", CellKind::bytes},
    {"traffic of the plan", "planBytes", CellKind::bytes},
    {"implied", "bytesPerSecond", CellKind::bytesPerSecond},
    {"largest difference", "largestDifference", CellKind::error},
    {"backward", "backwardSeconds", CellKind::time},
    {"its TFLOP/s", "backwardTeraflops", CellKind::number},
    {"its predicted traffic", "backwardRecomputedBytes", CellKind::bytes},
    {"with P stored", "backwardStoredBytes", CellKind::bytes},
});

constexpr auto decodeColumns = timedColumns({
    {"type", "type"},
    {"D", "headDim"},
    {"rows", "queryRows"},
    {"keys", "keys"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"KV heads", "kvHeads"},
    {"causal", "causal"},
    {"path", "path"},
    {"splits", "splits"},
    {"median", "medianSeconds", CellKind::time},
    {"spread", "spread", CellKind::share},
    {"reading alone", "readSeconds", CellKind::time},
    {"GB/s", "gigabytesPerSecond", CellKind::number},
    {"share of reading", "shareOfRead", CellKind::share},
    {"others (ratio)", "peers", CellKind::peers},
    {"scratch", "scratchBytes", CellKind::bytes},
});

constexpr auto variantColumns = timedColumns({
    {"variant", "variant"},
    {"type", "type"},
    {"D", "headDim"},
    {"N", "queryRows"},
    {"keys", "keys"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"KV heads", "kvHeads"},
    {"path", "path"},
    {"median", "medianSeconds", CellKind::time},
    {"spread", "spread", CellKind::share},
    {"base", "base"},
    {"its median", "baseSeconds", CellKind::time},
    {"time", "timeRatio", CellKind::ratio},
    {"rate", "rateRatio", CellKind::ratio},
    {"aim of", "aim"},
    {"aim", "aimLimit", CellKind::ratio},
    {"met", "met"},
    {"TFLOP/s", "teraflops", CellKind::number},
});

constexpr Column longColumns[] = {
    {"type", "type"},
    {"D", "headDim"},
    {"N", "queryRows"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"causal", "causal"},
    {"path", "path"},
    {"steps", "steps"},
    {"longest step", "longestStepSeconds", CellKind::time},
    {"on the device", "deviceSeconds", CellKind::time},
    {"in all", "wallSeconds", CellKind::time},
    {"TFLOP/s", "teraflops", CellKind::number},
    {"tensors", "tensorBytes", CellKind::bytes},
    {"scratch", "scratchBytes", CellKind::bytes},
    {"driver, most", "driverBytesMost", CellKind::bytes},
    {"error", "error", CellKind::error},
    {"bound", "bound", CellKind::error},
};

constexpr Column stepColumns[] = {
    {"k, v", "kvType"},
    {"page", "pageSize"},
    {"B", "batch"},
    {"layers", "layers"},
    {"keys", "keysBefore"},
    {"a step", "stepSeconds", CellKind::time},
    {"an append", "appendSeconds", CellKind::time},
    {"attention", "attentionSeconds", CellKind::time},
    {"recording", "recordSeconds", CellKind::time},
    {"submission", "submissionSeconds", CellKind::time},
};

constexpr Column hostColumns[] = {
    {"type", "type"},
    {"D", "headDim"},
    {"path", "path"},
    {"steps", "steps"},
    {"record, median", "recordNanoseconds", CellKind::nanoseconds},
    {"least", "recordLeastNanoseconds", CellKind::nanoseconds},
    {"plan, cold", "coldPlanSeconds", CellKind::time},
    {"filled cache", "filledCachePlanSeconds", CellKind::time},
    {"same context", "sameContextPlanSeconds", CellKind::time},
};

std::string peersText(const Json& peers) {
    std::string html;
    for (const Json& peer : peers) {
        if (!peer.is_object() || !peer.contains("name") || !peer["name"].is_string())
            continue;
        html += html.empty() ? "" : ", ";
        html += escapeHtml(peer["name"].get<std::string>());
        if (peer.contains("teraflops") && peer["teraflops"].is_number())
            html += fmt::format(" {:.4g}", peer["teraflops"].get<double>());
        if (peer.contains("ratio") && peer["ratio"].is_number())
            html += fmt::format(" ({:.2f}×)", peer["ratio"].get<double>());
    }
    return html.empty() ? "–" : html;
}

std::string numberText(double value, CellKind kind) {
    switch (kind) {
    case CellKind::time:
        return timeText(value);
    case CellKind::nanoseconds:
        return timeText(value * 1e-9);
    case CellKind::bytes:
        return bytesText(value);
    case CellKind::bytesPerSecond:
        return fmt::format("{:.4g} GB/s", value * 1e-9);
    case CellKind::error:
        return fmt::format("{:.2g}", value);
    case CellKind::share:
        return fmt::format("{:.1f} %", value * 100);
    case CellKind::percent:
        return fmt::format("{:.1f} %", value);
    case CellKind::ratio:
        return fmt::format("{:.2f}×", value);
    case CellKind::number:
    case CellKind::clock:
        return fmt::format("{:.4g}", value);
    default:
        return fmt::format("{:.10g}", value);
    }
}

const Json& fieldOf(const Json& result, const char* field) {
    static const Json absent;
    const auto found = result.find(field);
    return found == result.end() ? absent : *found;
}

HtmlCell cellOf(const Json& value, CellKind kind) {
    if (kind == CellKind::peers && value.is_array())
        return {peersText(value), false};
    if (value.is_number())
        return {numberText(value.get<double>(), kind), true};
    if (value.is_boolean())
        return {value.get<bool>() ? "yes" : "no", false};
    if (value.is_string())
        return {escapeHtml(value.get<std::string>()), false};
    return {"–", false};
}

bool isAtLowClock(const Json& result) { return fieldOf(result, "clock_unsteady") == true; }

// A cell of one result. Marks times that were measured at a low clock.
HtmlCell cellOf(const Json& result, const Column& column) {
    HtmlCell cell = cellOf(fieldOf(result, column.field), column.kind);
    if (column.kind == CellKind::clock && isAtLowClock(result))
        cell.html += " low";
    return cell;
}

// True if all results have the same value. The column is then not needed.
bool isCommon(const Json& results, const Column& column) {
    const Json& first = fieldOf(results[0], column.field);
    return results.size() > 1 && std::all_of(results.begin(), results.end(), [&](const Json& result) {
               return fieldOf(result, column.field) == first &&
                      (column.kind != CellKind::clock || isAtLowClock(result) == isAtLowClock(results[0]));
           });
}

std::string lowClockNote(const Json& results) {
    if (std::none_of(results.begin(), results.end(), isAtLowClock))
        return "";
    return "<p>Low: too few runs were near the highest clock of the GPU. All runs count there, and the time may be too "
           "long.</p>\n";
}

// Leaves out lists and objects, because they do not fit in a cell.
std::vector<Column> plainFields(const Json& results) {
    std::vector<Column> columns;
    for (const auto& [field, value] : results[0].items())
        if (!value.is_structured())
            columns.push_back({field.c_str(), field.c_str()});
    return columns;
}

} // namespace

std::span<const Column> columnsOf(const std::string& bench) {
    static const std::map<std::string, std::span<const Column>> columns = {
        {"grid", gridColumns},     {"prefill", gridColumns}, {"backward", backwardColumns},
        {"decode", decodeColumns}, {"study", studyColumns},  {"variants", variantColumns},
        {"long", longColumns},     {"step", stepColumns},    {"host", hostColumns}};
    const auto found = columns.find(bench);
    return found == columns.end() ? std::span<const Column>() : found->second;
}

std::string resultTable(const Json& results, std::span<const Column> columns) {
    if (results.empty())
        return "<p>No results.</p>\n";
    const std::vector<Column> all =
        columns.empty() ? plainFields(results) : std::vector<Column>(columns.begin(), columns.end());
    std::string common;
    std::vector<Column> shown;
    for (const Column& column : all) {
        if (!isCommon(results, column)) {
            shown.push_back(column);
            continue;
        }
        const HtmlCell cell = cellOf(results[0], column);
        if (cell.html != "–")
            common += fmt::format("{}{} {}", common.empty() ? "" : ", ", escapeHtml(column.heading), cell.html);
    }
    std::vector<HtmlCell> heading;
    heading.reserve(shown.size());
    for (const Column& column : shown)
        heading.push_back({escapeHtml(column.heading), fieldOf(results[0], column.field).is_number()});
    std::vector<std::vector<HtmlCell>> rows;
    for (const Json& result : results) {
        rows.emplace_back();
        for (const Column& column : shown)
            rows.back().push_back(cellOf(result, column));
    }
    return (common.empty() ? "" : "<p class=\"common\">In every row: " + common + "</p>\n") + htmlTable(heading, rows) +
           lowClockNote(results);
}

std::string peerTable(const Json& results) {
    std::map<std::string, std::vector<double>> ratios;
    for (const Json& result : results) {
        const Json& peers = fieldOf(result, "peers");
        if (!peers.is_array())
            continue;
        for (const Json& peer : peers)
            if (peer.is_object() && fieldOf(peer, "name").is_string() && fieldOf(peer, "ratio").is_number())
                ratios[peer["name"].get<std::string>()].push_back(peer["ratio"].get<double>());
    }
    if (ratios.empty())
        return "";
    std::vector<std::vector<HtmlCell>> rows;
    for (auto& [name, list] : ratios) {
        std::sort(list.begin(), list.end());
        const double median = (list[(list.size() - 1) / 2] + list[list.size() / 2]) / 2;
        rows.push_back({{escapeHtml(name), false}, {fmt::format("{}", list.size()), true}});
        for (const double ratio : {list.front(), median, list.back()})
            rows.back().push_back({fmt::format("{:.2f}×", ratio), true});
    }
    return "<h4>Compared with others</h4>\n<p>Our rate divided by theirs on the same shape. Above 1, vkflash is "
           "faster.</p>\n" +
           htmlTable({{"other", false}, {"shapes", true}, {"least", true}, {"median", true}, {"most", true}}, rows);
}

} // namespace vkf::tools

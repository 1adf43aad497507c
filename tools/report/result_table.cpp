// SPDX-License-Identifier: MIT
#include "report/result_table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/text.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

// The columns of every bench, in order. A table has those of its results' fields.
constexpr Column benchColumns[] = {
    {"variant", "variant"},
    {"type", "type"},
    {"D", "headDim"},
    {"N", "queryRows"},
    {"keys", "keys", CellKind::plain, "queryRows"},
    {"B", "batch"},
    {"heads", "queryHeads"},
    {"KV heads", "kvHeads", CellKind::plain, "queryHeads"},
    {"causal", "causal"},
    {"k, v", "kvType"},
    {"v", "vType"},
    {"Dv", "valueDim", CellKind::plain, "headDim"},
    {"precision", "precision"},
    {"pages of", "pageSize"},
    {"window", "window"},
    {"softcap", "softcap"},
    {"ALiBi", "alibi"},
    {"blocks of", "maskBlock"},
    {"open blocks", "blockDensity"},
    {"path", "path"},
    {"splits", "splits"},
    {"steps", "steps"},
    {"tile of dq", "rowTile"},
    {"tile of dk, dv", "keyTile"},
    {"median", "medianSeconds", CellKind::time},
    {"spread", "spread", CellKind::share},
    {"base", "base"},
    {"its median", "baseSeconds", CellKind::time},
    {"time", "timeRatio", CellKind::ratio},
    {"rate", "rateRatio", CellKind::ratio},
    {"aim of", "aim"},
    {"aim", "aimLimit", CellKind::ratio},
    {"met", "met"},
    {"reading alone", "readSeconds", CellKind::time},
    {"GB/s", "gigabytesPerSecond", CellKind::number},
    {"share of reading", "shareOfRead", CellKind::share},
    {"faster", "fasterThanStandard", CellKind::ratio},
    {"longest step", "longestStepSeconds", CellKind::time},
    {"on the device", "deviceSeconds", CellKind::time},
    {"in all", "wallSeconds", CellKind::time},
    {"record, median", "recordNanoseconds", CellKind::nanoseconds},
    {"least", "recordLeastNanoseconds", CellKind::nanoseconds},
    {"plan, cold", "coldPlanSeconds", CellKind::time},
    {"filled cache", "filledCachePlanSeconds", CellKind::time},
    {"same context", "sameContextPlanSeconds", CellKind::time},
    {"TFLOP/s", "teraflops", CellKind::number},
    {"others (ratio)", "peers", CellKind::peers},
    {"memory", "peakBytes", CellKind::bytes},
    {"saved", "memorySavedPercent", CellKind::percent},
    {"tensors", "tensorBytes", CellKind::bytes},
    {"scratch", "scratchBytes", CellKind::bytes},
    {"driver, most", "driverBytesMost", CellKind::bytes},
    {"predicted traffic", "predictedBytes", CellKind::bytes},
    {"traffic of the plan", "planBytes", CellKind::bytes},
    {"implied", "bytesPerSecond", CellKind::bytesPerSecond},
    {"stored P would move", "storedBytes", CellKind::bytes},
    {"in this time", "storedBytesPerSecond", CellKind::bytesPerSecond},
    {"largest difference", "largestDifference", CellKind::error},
    {"backward", "backwardSeconds", CellKind::time},
    {"its TFLOP/s", "backwardTeraflops", CellKind::number},
    {"its predicted traffic", "backwardRecomputedBytes", CellKind::bytes},
    {"with P stored", "backwardStoredBytes", CellKind::bytes},
    {"clock, MHz", "clock_mhz", CellKind::clock},
    {"runs left out", "runs_left_out", CellKind::number},
    {"error", "error", CellKind::error},
    {"bound", "bound", CellKind::error},
};

constexpr std::array<std::string_view, 9> knownBenches = {"grid",     "prefill", "backward", "decode", "study",
                                                          "variants", "long",    "step",     "host"};

struct HtmlCell {
    std::string html;
    bool number = false; // aligned to the right
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

// True if no result has the field, or if all have its usual value.
bool saysNothing(const Json& results, const Column& column) {
    return std::all_of(results.begin(), results.end(), [&](const Json& result) {
        const Json& value = fieldOf(result, column.field);
        return value.is_null() || (value.is_array() && value.empty()) ||
               (column.usual != nullptr && value == fieldOf(result, column.usual));
    });
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

std::string row(const std::vector<HtmlCell>& cells, const char* tag) {
    std::string html = "<tr>";
    for (const HtmlCell& cell : cells)
        html += fmt::format("<{0}{1}>{2}</{0}>", tag, cell.number ? " class=\"number\"" : "", cell.html);
    return html + "</tr>\n";
}

// A table that scrolls inside itself if the page is narrower.
std::string htmlTable(const std::vector<HtmlCell>& heading, const std::vector<std::vector<HtmlCell>>& rows) {
    // The tab stop lets the keyboard scroll the table.
    std::string html =
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>" + row(heading, "th") + "</thead>\n<tbody>\n";
    for (const auto& cells : rows)
        html += row(cells, "td");
    return html + "</tbody></table></div>\n";
}

} // namespace

std::string escapeHtml(std::string_view text) {
    std::string html;
    html.reserve(text.size());
    for (const char c : text) {
        switch (c) {
        case '&':
            html += "&amp;";
            break;
        case '<':
            html += "&lt;";
            break;
        case '>':
            html += "&gt;";
            break;
        case '"':
            html += "&quot;";
            break;
        case '\'':
            html += "&#39;";
            break;
        case '\n':
        case '\t':
            html += c;
            break;
        case '\r':
            break;
        default:
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                html += "\xef\xbf\xbd";
            else
                html += c;
        }
    }
    return html;
}

std::span<const Column> columnsOf(const std::string& bench) {
    const bool known = std::find(knownBenches.begin(), knownBenches.end(), bench) != knownBenches.end();
    return known ? std::span<const Column>(benchColumns) : std::span<const Column>();
}

std::string resultTable(const Json& results, std::span<const Column> columns) {
    if (results.empty())
        return "<p>No results.</p>\n";
    const std::vector<Column> all =
        columns.empty() ? plainFields(results) : std::vector<Column>(columns.begin(), columns.end());
    std::string common;
    std::vector<Column> shown;
    for (const Column& column : all) {
        if (saysNothing(results, column))
            continue;
        if (isCommon(results, column))
            common += fmt::format("{}{} {}", common.empty() ? "" : ", ", escapeHtml(column.heading),
                                  cellOf(results[0], column).html);
        else
            shown.push_back(column);
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

// SPDX-License-Identifier: MIT
#include "report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "report/html.hpp"
#include "report/svg_plot.hpp"

namespace vkf::tools {

namespace {

using Json = nlohmann::ordered_json;

// Fields of a result. A result without one of them is not drawn.
struct Point {
    std::string type, path;
    std::string series; // name of the line: the path, and what else differs
    bool causal;
    double batch, dim, rows;
    const Json* result;
};

double numberOf(const Json& result, const char* field) {
    const auto found = result.find(field);
    return found != result.end() && found->is_number() ? found->get<double>() : NAN;
}

std::string stringOf(const Json& result, const char* field) {
    const auto found = result.find(field);
    return found != result.end() && found->is_string() ? found->get<std::string>() : "";
}

struct SeriesField {
    const char* field;
    const char* label;
};

// What may differ between two results of one type, path, mask, length and D.
constexpr SeriesField seriesFields[] = {{"kvType", "k, v"},
                                        {"vType", "v"},
                                        {"queryHeads", "heads"},
                                        {"kvHeads", "KV heads"},
                                        {"keys", "keys"},
                                        {"valueDim", "Dv"},
                                        {"precision", "precision"},
                                        {"pageSize", "pages of"},
                                        {"window", "window"},
                                        {"softcap", "softcap"},
                                        {"alibi", "ALiBi"},
                                        {"maskBlock", "blocks of"},
                                        {"blockDensity", "open blocks"}};

Json memberOf(const Json& result, const char* field) {
    const auto found = result.find(field);
    return found == result.end() ? Json() : *found;
}

// Fields in which results differ that would otherwise be the same point of the same line.
std::set<size_t> differingFields(const std::vector<Point>& points) {
    using Place = std::tuple<std::string, std::string, bool, double, double, double>;
    std::map<Place, const Json*> first;
    std::set<size_t> fields;
    for (const Point& p : points) {
        const Json* other =
            first.try_emplace({p.type, p.path, p.causal, p.batch, p.dim, p.rows}, p.result).first->second;
        for (size_t i = 0; i < std::size(seriesFields); ++i)
            if (memberOf(*p.result, seriesFields[i].field) != memberOf(*other, seriesFields[i].field))
                fields.insert(i);
    }
    return fields;
}

void nameSeries(std::vector<Point>& points) {
    const std::set<size_t> fields = differingFields(points);
    for (Point& point : points) {
        point.series = point.path;
        for (const size_t i : fields)
            if (const Json value = memberOf(*point.result, seriesFields[i].field); !value.is_null())
                point.series += fmt::format(", {} {}", seriesFields[i].label,
                                            value.is_string() ? value.get<std::string>() : value.dump());
    }
}

// "" or a mark of a time that was measured at a low clock.
std::string clockMark(const Json& result) { return memberOf(result, "clock_unsteady") == true ? ", low clock" : ""; }

std::vector<Point> pointsOf(const Json& results) {
    std::vector<Point> points;
    for (const Json& result : results) {
        const Point point{stringOf(result, "type"),
                          stringOf(result, "path"),
                          "",
                          result.value("causal", Json()) == true,
                          numberOf(result, "batch"),
                          numberOf(result, "headDim"),
                          numberOf(result, "queryRows"),
                          &result};
        if (point.rows > 0 && point.dim > 0 && point.batch > 0)
            points.push_back(point);
    }
    nameSeries(points);
    return points;
}

// Collects the lines of one plot by name. A name has the same style in all plots of a bench.
class Lines {
public:
    explicit Lines(std::vector<std::string> names) : names_(std::move(names)) {}

    void add(const std::string& name, bool ours, double x, double y, const std::string& text) {
        if (!(y > 0))
            return;
        PlotLine& line = lines_[name];
        line.name = name;
        line.ours = ours;
        line.style = static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
        line.points.push_back({x, y, text});
    }

    std::vector<PlotLine> take() {
        std::vector<PlotLine> list;
        for (const std::string& name : names_)
            if (lines_.contains(name)) {
                list.push_back(lines_[name]);
                std::stable_sort(list.back().points.begin(), list.back().points.end(),
                                 [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
            }
        return list;
    }

private:
    std::vector<std::string> names_;
    std::map<std::string, PlotLine> lines_;
};

std::vector<Json> peersOf(const Json& result) {
    std::vector<Json> peers;
    if (const auto found = result.find("peers"); found != result.end() && found->is_array())
        for (const Json& peer : *found)
            if (peer.is_object() && !stringOf(peer, "name").empty() && numberOf(peer, "teraflops") > 0)
                peers.push_back(peer);
    return peers;
}

// Names of the lines, ours first.
std::vector<std::string> namesOf(const std::vector<Point>& points) {
    std::set<std::string> ours, others;
    for (const Point& point : points) {
        ours.insert(point.series);
        for (const Json& peer : peersOf(*point.result))
            others.insert(stringOf(peer, "name"));
    }
    std::vector<std::string> names(ours.begin(), ours.end());
    for (const std::string& name : others)
        if (!ours.contains(name))
            names.push_back(name);
    return names;
}

size_t lengths(const std::vector<Point>& points) {
    std::set<double> rows;
    for (const Point& point : points)
        rows.insert(point.rows);
    return rows.size();
}

std::string figure(const std::vector<Plot>& plots) {
    std::map<size_t, PlotLine> lines; // lines of all plots, by style
    std::string svg;
    for (const Plot& plot : plots) {
        svg += "<div>" + svgPlot(plot) + "</div>\n";
        for (const PlotLine& line : plot.lines)
            lines[line.style] = line;
    }
    std::vector<PlotLine> legend;
    legend.reserve(lines.size());
    for (const auto& [style, line] : lines)
        legend.push_back(line);
    return "<figure>\n" + svgLegend(legend) + "<div class=\"plots\">\n" + svg + "</div>\n</figure>\n";
}

std::string rateText(double teraflops) { return fmt::format("{:.4g} TFLOP/s", teraflops); }

// TFLOP/s over N. One plot for each D, mask and rule for the number of sequences.
std::string rateFigures(const BenchFile& file) {
    const std::vector<Point> points = pointsOf(file.content["results"]);
    const std::vector<std::string> names = namesOf(points);
    const double tokens = numberOf(file.content, "tokens");
    // A bench of one rule alone has no plots of its longest N, which has one sequence by both rules.
    const bool oneSequence =
        std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.batch == 1 && 2 * p.rows <= tokens; });
    const bool severalTypes =
        std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.type != points[0].type; });
    using Key = std::tuple<bool, bool, std::string, double>; // one sequence, causal, type, D
    std::map<Key, Lines> panels;
    for (const Point& point : points)
        for (const bool one : {false, true}) {
            if (point.batch != (one ? 1 : std::max(1.0, std::floor(tokens / point.rows))))
                continue;
            Lines& lines = panels.try_emplace(Key{one, point.causal, point.type, point.dim}, names).first->second;
            const double rate = numberOf(*point.result, "teraflops");
            lines.add(point.series, true, point.rows, rate, rateText(rate) + clockMark(*point.result));
            for (const Json& peer : peersOf(*point.result))
                lines.add(stringOf(peer, "name"), false, point.rows, numberOf(peer, "teraflops"),
                          rateText(numberOf(peer, "teraflops")));
        }
    std::string html;
    for (const bool one : {false, true}) {
        std::vector<Plot> plots;
        for (auto& [key, lines] : panels)
            if (const auto& [alone, causal, type, dim] = key; alone == one)
                plots.push_back({fmt::format("{}D = {}, {}", severalTypes ? type + ", " : "", dim,
                                             causal ? "causal" : "not causal"),
                                 "N, rows and keys", "TFLOP/s", PlotScale::linear, lines.take()});
        if (!plots.empty() && (!one || oneSequence))
            html += fmt::format("<h4>{}</h4>\n", one ? "One sequence" : fmt::format("{} rows in all", tokens)) +
                    figure(plots);
    }
    return html;
}

double memoryOf(const Json& result) {
    const double peak = numberOf(result, "peakBytes");
    return peak > 0 ? peak : numberOf(result, "tensorBytes") + numberOf(result, "scratchBytes");
}

// Time and memory over N. Two plots for each type, D and mask.
std::string studyFigures(const std::vector<Point>& points) {
    const std::vector<std::string> names = namesOf(points);
    using Key = std::tuple<std::string, double, bool>; // type, D, causal
    std::map<Key, std::pair<Lines, Lines>> panels;
    for (const Point& point : points) {
        auto& [times, memory] =
            panels.try_emplace(Key{point.type, point.dim, point.causal}, Lines(names), Lines(names)).first->second;
        const double seconds = numberOf(*point.result, "medianSeconds"), bytes = memoryOf(*point.result);
        times.add(point.series, true, point.rows, seconds, timeText(seconds) + clockMark(*point.result));
        memory.add(point.series, true, point.rows, bytes, bytesText(bytes));
    }
    std::vector<Plot> times, memories;
    for (auto& [key, pair] : panels) {
        const auto& [type, dim, causal] = key;
        const std::string shape = fmt::format("{}, D = {}{}", type, dim, causal ? ", causal" : "");
        times.push_back({shape, "N, rows and keys", "median time", PlotScale::logSeconds, pair.first.take()});
        memories.push_back({shape, "N, rows and keys", "tensors and scratch", PlotScale::logBytes, pair.second.take()});
    }
    return "<h4>Time</h4>\n" + figure(times) + "<h4>Memory</h4>\n" + figure(memories);
}

// Predicted bytes of each algorithm as bars, at the largest N that the most algorithms of a type and D reached.
std::string ledger(const std::vector<Point>& points) {
    using Key = std::tuple<std::string, double>;                  // type, D
    std::map<Key, std::map<double, std::vector<Point>>> byLength; // N to results
    for (const Point& point : points)
        if (numberOf(*point.result, "predictedBytes") > 0)
            byLength[{point.type, point.dim}][point.rows].push_back(point);
    std::string html;
    for (const auto& [key, lengths] : byLength) {
        html += "<div>";
        size_t most = 0;
        for (const auto& [rows, list] : lengths)
            most = std::max(most, list.size());
        const auto last =
            std::find_if(lengths.rbegin(), lengths.rend(), [&](const auto& l) { return l.second.size() == most; });
        double longest = 0;
        for (const Point& point : last->second)
            longest = std::max(longest, numberOf(*point.result, "predictedBytes"));
        html += fmt::format("<h5>{}, D = {}, N = {}</h5>\n<ul class=\"bars\">\n", escapeHtml(std::get<0>(key)),
                            std::get<1>(key), last->first);
        for (const Point& point : last->second) {
            const double bytes = numberOf(*point.result, "predictedBytes");
            const double planned = numberOf(*point.result, "planBytes");
            html += fmt::format(
                "<li><span class=\"bar\" style=\"width:{:.2f}%\"></span><span>{}: {} in {}, {:.4g} GB/s{}"
                "</span></li>\n",
                std::max(0.3, bytes / longest * 100), escapeHtml(point.series), bytesText(bytes),
                timeText(numberOf(*point.result, "medianSeconds")), numberOf(*point.result, "bytesPerSecond") * 1e-9,
                planned > 0 ? fmt::format("; its kernels ask for {}", bytesText(planned)) : "");
        }
        html += "</ul></div>\n";
    }
    if (html.empty())
        return "";
    return "<h4>Traffic ledger</h4>\n<p>Bytes between chip and memory, predicted from the order of the loops and the "
           "tile, without caches. The measured time and the bytes give the bandwidth.</p>\n"
           "<div class=\"plots\">\n" +
           html + "</div>\n";
}

} // namespace

std::string figuresOf(const BenchFile& file) {
    const std::string bench = file.head("bench");
    const std::vector<Point> points = pointsOf(file.content["results"]);
    const bool overLength = lengths(points) > 1;
    if (bench == "prefill" || bench == "backward")
        return overLength ? rateFigures(file) : "";
    if (bench == "study" || bench == "grid")
        return (overLength ? studyFigures(points) : "") + ledger(points);
    return "";
}

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
#include "report/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "cli/text.hpp"
#include "report/html.hpp"

namespace vkf::tools {

namespace {

// The frame of the curves within the picture, in units of the view box.
constexpr double width = 400, height = 280;
constexpr double left = 58, right = 388, top = 32, bottom = 234;

struct Tick {
    double at; // value on the axis, or its logarithm
    std::string text;
};

struct Axis {
    double from = 0, to = 1;
    std::vector<Tick> ticks;
};

// 1, 2 or 5 times a power of ten, so that about five steps reach `most`.
double niceStep(double most) {
    const double power = std::pow(10.0, std::floor(std::log10(most / 5)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (most / (factor * power) <= 6)
            return factor * power;
    return 10 * power;
}

Axis linearAxis(double most) {
    Axis axis;
    const double step = niceStep(most);
    for (int i = 0; i * step < most + step; ++i)
        axis.ticks.push_back({i * step, fmt::format("{:.6g}", i * step)});
    axis.to = axis.ticks.back().at;
    return axis;
}

// Ticks at powers of `base`. Leaves out ticks until the labels do not touch.
Axis logAxis(double least, double most, double base, std::string (*text)(double)) {
    Axis axis;
    const auto power = [&](double value) { return std::log(value) / std::log(base); };
    const int first = static_cast<int>(std::floor(power(least) + 1e-9));
    const int last = std::max(first + 1, static_cast<int>(std::ceil(power(most) - 1e-9)));
    axis.from = std::log(base) * first;
    axis.to = std::log(base) * last;
    const int step = (last - first + 6) / 7;
    for (int i = first; i <= last; i += step)
        axis.ticks.push_back({std::log(base) * i, text(std::pow(base, i))});
    return axis;
}

std::string shortTime(double seconds) {
    if (seconds >= 0.999)
        return fmt::format("{:.4g} s", seconds);
    if (seconds >= 0.999e-3)
        return fmt::format("{:.4g} ms", seconds * 1e3);
    return seconds >= 0.999e-6 ? fmt::format("{:.4g} us", seconds * 1e6) : fmt::format("{:.4g} ns", seconds * 1e9);
}

std::string shortBytes(double bytes) {
    constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
        bytes /= 1024;
    return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string shortCount(double count) {
    if (count >= 1024 && std::fmod(count, 1024) == 0)
        return count >= 1048576 ? fmt::format("{:.4g}M", count / 1048576) : fmt::format("{:.4g}K", count / 1024);
    return fmt::format("{:.6g}", count);
}

// The ticks are the lengths themselves, as far as there is room.
Axis lengthAxis(const std::set<double>& lengths) {
    Axis axis{std::log(*lengths.begin()), std::log(*lengths.rbegin()), {}};
    if (axis.from == axis.to) {
        axis.from -= 1;
        axis.to += 1;
    }
    const double room = (axis.to - axis.from) / 8;
    double last = -1e9;
    for (const double length : lengths)
        if (std::log(length) - last >= room) {
            last = std::log(length);
            axis.ticks.push_back({last, shortCount(length)});
        }
    return axis;
}

double xOf(const Axis& axis, double at) {
    return left + 8 + (at - axis.from) / (axis.to - axis.from) * (right - left - 16);
}
double yOf(const Axis& axis, double at) { return bottom - (at - axis.from) / (axis.to - axis.from) * (bottom - top); }

constexpr size_t styles = 6;

// A marker at a point. The style of the line gives colour and dash.
std::string marker(size_t style, double x, double y, const std::string& inside) {
    const auto polygon = [&](const char* points) {
        return fmt::format(
            "<polygon class=\"marker\" transform=\"translate({:.1f} {:.1f})\" points=\"{}\">{}</polygon>", x, y, points,
            inside);
    };
    switch (style % styles) {
    case 0:
        return fmt::format("<circle class=\"marker\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.6\">{}</circle>", x, y, inside);
    case 1:
        return polygon("-3.4,-3.4 3.4,-3.4 3.4,3.4 -3.4,3.4");
    case 2:
        return polygon("0,-4.6 4.2,3.2 -4.2,3.2");
    case 3:
        return polygon("0,-4.8 4.8,0 0,4.8 -4.8,0");
    case 4:
        return polygon("0,4.6 4.2,-3.2 -4.2,-3.2");
    default:
        return polygon("-1.4,-4.6 1.4,-4.6 1.4,-1.4 4.6,-1.4 4.6,1.4 1.4,1.4 1.4,4.6 -1.4,4.6 -1.4,1.4 -4.6,1.4 "
                       "-4.6,-1.4 -1.4,-1.4");
    }
}

std::string groupStart(const PlotLine& line) {
    return fmt::format("<g class=\"line style{}{}\">", line.style % styles, line.ours ? "" : " other");
}

double scaled(const Plot& plot, double y) { return plot.scale == PlotScale::linear ? y : std::log(y); }

Axis valueAxis(const Plot& plot, double least, double most) {
    switch (plot.scale) {
    case PlotScale::linear:
        return linearAxis(most);
    case PlotScale::logSeconds:
        return logAxis(least, most, 10, shortTime);
    case PlotScale::logBytes:
        return logAxis(least, most, 4, shortBytes);
    }
    return {};
}

std::string grid(const Axis& x, const Axis& y) {
    std::string svg;
    for (const Tick& tick : y.ticks) {
        const double at = yOf(y, tick.at);
        svg +=
            fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left, right, at, at);
        svg += fmt::format("<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", left - 6,
                           at + 4, tick.text);
    }
    for (const Tick& tick : x.ticks) {
        const double at = xOf(x, tick.at);
        svg +=
            fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, top, bottom);
        svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", at,
                           bottom + 17, tick.text);
    }
    return svg;
}

std::string curve(const Plot& plot, const PlotLine& line, const Axis& x, const Axis& y) {
    std::string path, markers;
    for (const PlotPoint& point : line.points) {
        const double px = xOf(x, std::log(point.x)), py = yOf(y, scaled(plot, point.y));
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", px, py);
        markers +=
            marker(line.style, px, py,
                   "<title>" + escapeHtml(fmt::format("{}, N = {}: {}", line.name, point.x, point.text)) + "</title>");
    }
    return groupStart(line) + "<polyline points=\"" + path + "\"/>" + markers + "</g>\n";
}

} // namespace

std::string svgPlot(const Plot& plot) {
    std::set<double> lengths;
    double least = INFINITY, most = 0;
    for (const PlotLine& line : plot.lines)
        for (const PlotPoint& point : line.points) {
            lengths.insert(point.x);
            least = std::min(least, point.y);
            most = std::max(most, point.y);
        }
    if (lengths.empty())
        return "";
    const Axis x = lengthAxis(lengths), y = valueAxis(plot, least, most);
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                                  escapeHtml(plot.title + ": " + plot.yLabel));
    svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"19\">{}<tspan class=\"label\" dx=\"8\">{}</tspan></text>\n",
                       left, escapeHtml(plot.title), escapeHtml(plot.yLabel));
    svg += grid(x, y);
    svg += fmt::format("<text class=\"label\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n", (left + right) / 2,
                       height - 10, escapeHtml(plot.xLabel));
    for (const PlotLine& line : plot.lines)
        if (!line.points.empty())
            svg += curve(plot, line, x, y);
    return svg + "</svg>\n";
}

std::string svgLegend(const std::vector<PlotLine>& lines) {
    std::string html = "<ul class=\"legend\">";
    for (const PlotLine& line : lines)
        html += "<li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\">" + groupStart(line) +
                "<polyline points=\"1,7 35,7\"/>" + marker(line.style, 18, 7, "") + "</g></svg>" +
                escapeHtml(line.name) + "</li>";
    return html + "</ul>\n";
}

} // namespace vkf::tools

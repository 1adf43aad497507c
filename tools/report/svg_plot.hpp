// SPDX-License-Identifier: MIT
//
// Line plots as SVG inside an HTML page. The page's style gives the colours, so they follow dark and light mode. Every
// line also has its own marker and dash, for readers and printers without colours.
#ifndef VKFLASH_TOOLS_REPORT_SVG_PLOT_HPP
#define VKFLASH_TOOLS_REPORT_SVG_PLOT_HPP

#include <string>
#include <vector>

namespace vkf::tools {

struct PlotPoint {
    double x, y;      // coordinates; above 0
    std::string text; // tooltip of the point
};

struct PlotLine {
    std::string name;
    size_t style = 0; // equal in every plot of a page for the same name
    bool ours = true; // ours = solid and strong, else dashed
    std::vector<PlotPoint> points;
};

enum class PlotScale { linear, logSeconds, logBytes };

// x is the length of a sequence, on a logarithmic scale.
struct Plot {
    std::string title;
    std::string xLabel;
    std::string yLabel;
    PlotScale scale = PlotScale::linear;
    std::vector<PlotLine> lines;
};

// An <svg> element. "" if there is no point.
std::string svgPlot(const Plot& plot);

// A list of the names, each with a sample of its line.
std::string svgLegend(const std::vector<PlotLine>& lines);

} // namespace vkf::tools

#endif

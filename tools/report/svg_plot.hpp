// SPDX-License-Identifier: MIT
//
// Line plots as SVG that stands inside an HTML page: colours come from the page's style, so that they follow dark and
// light; every line has a marker and a dash of its own as well, for readers and printers without colours.
#ifndef VKFLASH_TOOLS_REPORT_SVG_PLOT_HPP
#define VKFLASH_TOOLS_REPORT_SVG_PLOT_HPP

#include <string>
#include <vector>

namespace vkf::tools {

struct PlotPoint {
    double x, y;      // above 0
    std::string text; // shown on the point
};

struct PlotLine {
    std::string name;
    size_t style = 0; // the same in every plot of a page for the same name
    bool ours = true; // solid and strong, else dashed
    std::vector<PlotPoint> points;
};

enum class PlotScale { linear, logSeconds, logBytes };

// x is the length of a sequence, on a scale of powers of two.
struct Plot {
    std::string title;
    std::string xLabel;
    std::string yLabel;
    PlotScale scale = PlotScale::linear;
    std::vector<PlotLine> lines;
};

// An <svg> element; "" if there is no point.
std::string svgPlot(const Plot& plot);

// A list of the names with a piece of each line.
std::string svgLegend(const std::vector<PlotLine>& lines);

} // namespace vkf::tools

#endif

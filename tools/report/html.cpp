// SPDX-License-Identifier: MIT
#include "report/html.hpp"

#include <fmt/format.h>

namespace vkf::tools {

namespace {

std::string row(const std::vector<HtmlCell>& cells, const char* tag) {
    std::string html = "<tr>";
    for (const HtmlCell& cell : cells)
        html += fmt::format("<{0}{1}>{2}</{0}>", tag, cell.number ? " class=\"number\"" : "", cell.html);
    return html + "</tr>\n";
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

std::string htmlTable(const std::vector<HtmlCell>& heading, const std::vector<std::vector<HtmlCell>>& rows) {
    // The tab stop lets the keyboard scroll the table.
    std::string html =
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>" + row(heading, "th") + "</thead>\n<tbody>\n";
    for (const auto& cells : rows)
        html += row(cells, "td");
    return html + "</tbody></table></div>\n";
}

} // namespace vkf::tools

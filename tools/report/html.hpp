// SPDX-License-Identifier: MIT
#ifndef VKFLASH_TOOLS_REPORT_HTML_HPP
#define VKFLASH_TOOLS_REPORT_HTML_HPP

#include <string>
#include <string_view>
#include <vector>

namespace vkf::tools {

// Escapes text for use between tags and in quoted attributes. HTML forbids control characters; they become U+FFFD.
std::string escapeHtml(std::string_view text);

struct HtmlCell {
    std::string html;
    bool number = false; // aligned to the right
};

// A table that scrolls inside itself if the page is narrower.
std::string htmlTable(const std::vector<HtmlCell>& heading, const std::vector<std::vector<HtmlCell>>& rows);

} // namespace vkf::tools

#endif

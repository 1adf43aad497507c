// SPDX-License-Identifier: MIT
#include "planning/path_decision.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace vkf {

std::string inWords(const char* format, ...) {
    VkfMessage text{};
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text.text, sizeof text.text, format, arguments);
    va_end(arguments);
    return text.text;
}

PathDecisions askedFor(VkfPath asked, std::span<const VkfPath> paths) {
    PathDecisions decisions;
    for (const VkfPath path : paths) {
        decisions.push_back({path, VKF_RULE_ASKED_FOR, inWords("the problem asks for path %s", vkfPathName(asked))});
    }
    return decisions;
}

const PathDecision* decisionOn(const PathDecisions& decisions, VkfPath path) {
    const auto found =
        std::find_if(decisions.begin(), decisions.end(), [path](const PathDecision& one) { return one.path == path; });
    return found == decisions.end() ? nullptr : &*found;
}

} // namespace vkf

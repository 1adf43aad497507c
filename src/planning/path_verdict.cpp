// SPDX-License-Identifier: MIT
#include "planning/path_verdict.hpp"

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

PathVerdicts askedFor(VkfPath asked, std::span<const VkfPath> paths) {
    PathVerdicts verdicts;
    for (const VkfPath path : paths) {
        verdicts.push_back({path, VKF_RULE_ASKED_FOR, inWords("the problem asks for path %s", vkfPathName(asked))});
    }
    return verdicts;
}

const PathVerdict* verdictOn(const PathVerdicts& verdicts, VkfPath path) {
    const auto found =
        std::find_if(verdicts.begin(), verdicts.end(), [path](const PathVerdict& one) { return one.path == path; });
    return found == verdicts.end() ? nullptr : &*found;
}

} // namespace vkf

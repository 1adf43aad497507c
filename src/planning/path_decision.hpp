// SPDX-License-Identifier: MIT
//
// Why a plan has its path and not another one. The decision of the path writes its reasons down where it makes it, so
// that the explanation (vkfGetPlanPath, vkfGetBackwardPath) is what happened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <vkflash/inspect.h>

#include "base/message.hpp"

namespace vkf {

struct PathDecision {
    VkfPath path{};
    VkfPathRule rule{}; // that decided about the path
    std::string reason; // the rule in words, with its thresholds and the numbers of the problem
};

// One of each path that the decision chose from, the taken path too.
using PathDecisions = std::vector<PathDecision>;

// The reason of a decision, formatted like printf and cut off at VKF_MESSAGE_CAPACITY.
std::string inWords(const char* format, ...) VKF_PRINTF_FORMAT(1, 2);

// The decisions where the problem names its path.
PathDecisions askedFor(VkfPath asked, std::span<const VkfPath> paths);

// The decision on a path, or null.
const PathDecision* decisionOn(const PathDecisions& decisions, VkfPath path);

} // namespace vkf

// SPDX-License-Identifier: MIT
#include "problem/window_place.hpp"

#include <algorithm>
#include <array>

#include "problem/dropout.hpp"
#include "shared/attention_params.h"

namespace vkf {

uint32_t windowPlace(const VkfProblem& problem) {
    const std::array brings = {problem.maskBlock != 0, problem.paging.enabled != 0, problem.sinks != 0,
                               problem.alibi != 0 && problem.alibiCustom != 0};
    if (problem.bias.enabled != 0 || problem.mask.enabled != 0 || problem.documents != 0 || problem.packed != 0 ||
        hasDropout(problem)) {
        return VKF_PLACE_TABLE; // these inputs need strides, lengths, a map or a seed besides their address
    }
    const auto count = std::count(brings.begin(), brings.end(), true);
    return count == 0 ? VKF_PLACE_WINDOW : count == 1 ? VKF_PLACE_ADDRESS : VKF_PLACE_TABLE;
}

} // namespace vkf

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>

#include <vkflash/problem.hpp>

#include "support/call.hpp"

namespace vkf::test {

bool isVisible(const VkfProblem& problem, int64_t keys, int64_t row, int64_t key, int64_t rowOffset) {
    int64_t diagonal = row + (problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - problem.queryRows);
    int64_t position = key;
    if (has(problem, VKF_USE_POSITIONS)) {
        const VkfPositions& at = problem.positions;
        diagonal = at.firstRow + row * std::max<int64_t>(at.rowStride, 1) + rowOffset;
        position = at.firstKey + key * std::max<int64_t>(at.keyStride, 1);
    }
    if (key >= keys || (vkf::has(problem, VKF_USE_CAUSAL) && position > diagonal)) {
        return false;
    }
    if (!vkf::has(problem, VKF_USE_WINDOW)) {
        return true;
    }
    return key < problem.window.firstKeys ||
           ((problem.window.left < 0 || position >= diagonal - problem.window.left) &&
            (problem.window.right < 0 || position <= diagonal + problem.window.right));
}

} // namespace vkf::test

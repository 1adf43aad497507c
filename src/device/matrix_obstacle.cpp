// SPDX-License-Identifier: MIT
#include "device/matrix_obstacle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vkf {
namespace {

struct Obstacle {
    bool applies;
    const char* reason;
};

template <size_t count> const char* firstOf(const std::array<Obstacle, count>& obstacles) {
    const auto found = std::find_if(obstacles.begin(), obstacles.end(), [](const Obstacle& o) { return o.applies; });
    return found == obstacles.end() ? nullptr : found->reason;
}

} // namespace

const char* matrixObstacle(const Caps& caps, VkfType type) {
    return firstOf(std::array{
        Obstacle{(caps.features & VKF_FEATURE_COOPERATIVE_MATRIX) == 0,
                 "cooperative matrices are not enabled on this device"},
        Obstacle{type == VKF_TYPE_BF16 && (caps.features & VKF_FEATURE_BFLOAT16_MATRIX) == 0,
                 "cooperative matrices of bf16 are not enabled on this device"},
        Obstacle{!caps.subgroupReductions(), "full subgroups of a known size with shuffles are needed"},
        Obstacle{caps.matrixOf(type).rows == 0, "the device multiplies no matrices of a shape that the kernel can use"},
    });
}

const char* matrixObstacle(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const auto fitsMatrices = [&p](const VkfTensor& tensor) {
        return tensor.type == p.q.type || isBlockType(tensor.type);
    };
    const char* const ofProblem = firstOf(std::array{
        Obstacle{p.precision == VKF_PRECISION_FP32, "precision fp32 excludes products of 16-bit types"},
        Obstacle{p.q.type == VKF_TYPE_F32 || !fitsMatrices(p.k) || !fitsMatrices(p.v),
                 "q, k and v must all be f16 or all be bf16, or k and v of block types"},
    });
    return ofProblem != nullptr ? ofProblem : matrixObstacle(caps, p.q.type);
}

} // namespace vkf

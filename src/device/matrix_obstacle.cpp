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

VkfType matrixType(const VkfProblem& problem) {
    return static_cast<VkfType>(VKF_MATRIX_TYPE(static_cast<int>(problem.q.type), static_cast<int>(problem.k.type),
                                                static_cast<int>(problem.v.type)));
}

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
    const VkfType type = matrixType(p);
    const auto fitsMatrices = [type](const VkfTensor& tensor) {
        return tensor.type == type || isBlockType(tensor.type);
    };
    const char* const ofProblem = firstOf(std::array{
        Obstacle{p.precision == VKF_PRECISION_FP32, "precision fp32 excludes products of 16-bit types"},
        Obstacle{!fitsMatrices(p.k) || !fitsMatrices(p.v),
                 "k and v must both be f16 or both be bf16, as q unless q is f32; or they must be of block types"},
    });
    return ofProblem != nullptr ? ofProblem : matrixObstacle(caps, type);
}

} // namespace vkf

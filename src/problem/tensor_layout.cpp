// SPDX-License-Identifier: MIT
#include "problem/tensor_layout.hpp"

#include <algorithm>
#include <array>

namespace vkf {

void setStrides(const VkfTensor& tensor, VkfTensorLayout* layout) {
    layout->type = tensor.type;
    layout->batchStride = tensor.batchStride;
    layout->headStride = tensor.headStride;
    layout->rowStride = tensor.rowStride;
    if (tensor.batchStride == 0 && tensor.headStride == 0 && tensor.rowStride == 0) {
        layout->rowStride = layout->dim;
        layout->headStride = uint64_t{layout->rows} * layout->dim;
        layout->batchStride = layout->headStride * layout->heads;
    }
}

bool reach(const VkfTensorLayout& layout, uint64_t* elements) {
    constexpr uint64_t most = (uint64_t{1} << 62) - 1;
    *elements = 0;
    if (layout.batch == 0 || layout.heads == 0 || layout.rows == 0 || layout.dim == 0) {
        return true;
    }
    uint64_t total = layout.dim;
    const uint64_t steps[3][2] = {{layout.batch - 1, layout.batchStride},
                                  {layout.heads - 1, layout.headStride},
                                  {layout.rows - 1, layout.rowStride}};
    for (const auto& step : steps) {
        if (step[0] != 0 && step[1] > (most - total) / step[0]) {
            return false;
        }
        total += step[0] * step[1];
    }
    *elements = total;
    return true;
}

bool isInjective(const VkfTensorLayout& layout) {
    // In the order of the strides, each dimension must step over all elements that the dimensions before it reach.
    std::array<std::array<uint64_t, 2>, 3> dimensions = {
        {{layout.batchStride, layout.batch}, {layout.headStride, layout.heads}, {layout.rowStride, layout.rows}}};
    std::sort(dimensions.begin(), dimensions.end());
    uint64_t covered = layout.dim;
    for (const auto& [stride, size] : dimensions) {
        if (size <= 1) {
            continue;
        }
        if (stride < covered) {
            return false;
        }
        covered += stride * (size - 1);
    }
    return true;
}

} // namespace vkf

// SPDX-License-Identifier: MIT
#include "planning/decide/storage16.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "problem/strides.hpp"

namespace vkf {
namespace {

constexpr uint32_t quadBytes = 8; // four 16-bit elements

// Whether all rows begin and end at a multiple of four elements. Kernels load rows that lie far apart one element at a
// time: see rowsOf in shaders/cache/tensor_rows.glsl.
bool movesInQuads(const VkfTensorLayout& layout) {
    constexpr uint32_t maxTileRows = 1024; // no tile has more rows or keys
    return inWholeWords(layout, quadBytes) &&
           byteStrides(layout).row <= max32 / maxTileRows - 4 * uint64_t{VKF_MAX_DIM};
}

// What needs 16-bit storage, as requireStorage16 takes it, or "".
std::string needy(const CheckedProblem& problem, VkfPath path) {
    if (path != VKF_PATH_SCALAR && path != VKF_PATH_KEY_OUTER) {
        return std::string("path ") + vkfPathName(path) + " needs";
    }
    constexpr std::array names = {"q", "k", "v", "o"};
    for (size_t i = 0; i < names.size(); i++) {
        const VkfTensorLayout& layout = problem.layouts[i];
        if (isBlockType(layout.type)) {
            return "block types need";
        }
        if (layout.type != VKF_TYPE_F32 && !movesInQuads(layout)) {
            return std::string("16-bit rows of ") + names[i] +
                   " whose size or stride is not a multiple of 8 bytes, or whose stride exceeds 4 MiB, need";
        }
    }
    const VkfProblem& p = problem.fields;
    return p.splitKeys != 0 && !neverSplits(p) ? "splitKeys needs" : p.kvSplits > 1 ? "kvSplits over 1 needs" : "";
}

bool is16Bit(const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; }

} // namespace

VkfResult checkStorage16(const Caps& caps, const CheckedProblem& problem, VkfPath path, VkfMessage* message) {
    if (caps.storage16()) {
        return VKF_SUCCESS;
    }
    const std::string what = needy(problem, path);
    return what.empty() ? VKF_SUCCESS : requireStorage16(caps, what.c_str(), message);
}

uint32_t storage16InputAlignment(const Caps& caps, const CheckedProblem& problem) {
    const bool any = std::any_of(problem.layouts.begin(), problem.layouts.begin() + VKF_TENSOR_O, is16Bit);
    return any && !caps.storage16() ? quadBytes : 1;
}

uint32_t storage16OutputAlignment(const Caps& caps, const CheckedProblem& problem) {
    return is16Bit(problem.layout(VKF_TENSOR_O)) && !caps.storage16() ? quadBytes : 1;
}

} // namespace vkf

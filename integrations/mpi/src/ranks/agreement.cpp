// SPDX-License-Identifier: MIT
#include "ranks/agreement.hpp"

#include <array>
#include <cstdio>

namespace vkf::mpi {
namespace {

// All digits, so that equal text means equal numbers.
std::string exact(float value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));
    return text.data();
}

std::string listed(const int32_t* numbers, uint64_t count) {
    if (numbers == nullptr) {
        return "null";
    }
    std::string text;
    for (uint64_t i = 0; i < count; ++i) {
        text += (i == 0 ? "" : " ") + std::to_string(numbers[i]);
    }
    return text;
}

std::string usedBits(VkfUse use) {
    std::string text;
    for (uint32_t bit = 0; bit < 31; ++bit) {
        if ((use >> bit & 1) != 0) {
            text += (text.empty() ? "" : " | ") + std::string(vkfUseString(static_cast<VkfUseBits>(1U << bit)));
        }
    }
    return text.empty() ? "0" : text;
}

} // namespace

Agreement versionAgreement() {
    return {{"version", std::to_string(VKF_VERSION_MAJOR) + "." + std::to_string(VKF_VERSION_MINOR) + "." +
                            std::to_string(VKF_VERSION_PATCH)},
            {"vkfVersion", std::to_string(vkfVersion())}};
}

Agreement agreementOf(const VkfProblem& whole, const Split& split, const Lengths& lengths) {
    const auto text = [](auto value) { return std::to_string(value); };
    const uint64_t sequences = has(whole, VKF_USE_CU_SEQLENS) ? uint64_t{whole.batch} + 1 : 0;
    return {{"batch", text(whole.batch)},
            {"queryHeads", text(whole.queryHeads)},
            {"kvHeads", text(whole.kvHeads)},
            {"queryRows", text(whole.queryRows)},
            {"keys", text(whole.keys)},
            {"headDim", text(whole.headDim)},
            {"valueDim", text(whole.valueDim)},
            {"path", vkfPathName(whole.path)},
            {"kvSplits", text(whole.kvSplits)},
            {"precision", vkfPrecisionString(whole.precision)},
            {"use", usedBits(whole.use)},
            {"q.type", vkfTypeName(whole.q.type)},
            {"k.type", vkfTypeName(whole.k.type)},
            {"v.type", vkfTypeName(whole.v.type)},
            {"o.type", vkfTypeName(whole.o.type)},
            {"scale", exact(whole.scale)},
            {"softcap", exact(whole.softcap)},
            {"alignment", vkfAlignmentString(whole.alignment)},
            {"window.left", text(whole.window.left)},
            {"window.right", text(whole.window.right)},
            {"distribution", distributionName(split.distribution)},
            {"method", methodName(split.method)},
            {"transport", text(static_cast<int>(split.transport))},
            {"headGroups", text(split.headGroups)},
            {"keyLengths", listed(lengths.keyLengths, has(whole, VKF_USE_KEY_LENGTHS) ? whole.batch : 0)},
            {"cuSeqlensQ", listed(lengths.cuSeqlensQ, sequences)},
            {"cuSeqlensK", listed(lengths.cuSeqlensK, sequences)}};
}

} // namespace vkf::mpi

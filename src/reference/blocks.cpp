// SPDX-License-Identifier: MIT
//
// Block types: how 32 values become a scale, a minimum in some types, and codes; and back. All operations are in fp32
// and in the order of ggml, so that the bytes are the same. vkfQuantizeBlocks lists the exceptions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include <vkflash/reference.h>

#include "problem/problem.hpp"
#include "reference/element.hpp"

namespace vkf::reference {
namespace {

constexpr size_t size = VKF_BLOCK_ELEMENTS;
using Values = std::array<float, size>;
using Codes = std::array<int, size>; // as stored: signed in q8_0, else not negative

constexpr size_t minimumAt = 2; // bytes; the scale comes before the minimum

int bitsOf(VkfType type) {
    if (type == VKF_TYPE_Q8_0) {
        return 8;
    }
    return VKF_BLOCK_HAS_FIFTH_BITS(type) ? 5 : 4;
}

constexpr std::array iq4nlNumbers = {VKF_IQ4_NL_NUMBERS};

// The number that a code stands for before it is scaled. In types without a minimum, codes of 4 and 5 bits stand for
// numbers around 0.
int numberOf(VkfType type, int code) {
    if (type == VKF_TYPE_IQ4_NL) {
        return iq4nlNumbers[static_cast<size_t>(code)];
    }
    return type == VKF_TYPE_Q8_0 || VKF_BLOCK_HAS_MINIMUM(type) ? code : code - (1 << (bitsOf(type) - 1));
}

float loadF16(const unsigned char* from) { return static_cast<float>(vkfLoadElement(VKF_TYPE_F16, from, 0)); }

void storeF16(unsigned char* to, float x) { vkfStoreElement(VKF_TYPE_F16, to, 0, static_cast<double>(x)); }

void storeCodes(VkfType type, const Codes& codes, unsigned char* block) {
    unsigned char* to = block + VKF_BLOCK_CODES_AT(type);
    if (type == VKF_TYPE_Q8_0) {
        std::transform(codes.begin(), codes.end(), to, [](int code) { return static_cast<unsigned char>(code); });
        return;
    }
    std::array<unsigned char, 4> fifthBits{};
    for (size_t e = 0; e < size; e++) {
        const auto code = static_cast<unsigned>(codes[e]);
        unsigned char& byte = to[e % (size / 2)];
        byte = static_cast<unsigned char>(e < size / 2 ? code & 15U : byte | (code & 15U) << 4);
        fifthBits[e / 8] = static_cast<unsigned char>(fifthBits[e / 8] | (code >> 4) << e % 8);
    }
    if (VKF_BLOCK_HAS_FIFTH_BITS(type)) {
        std::copy(fifthBits.begin(), fifthBits.end(), block + VKF_BLOCK_FIFTH_BITS_AT(type));
    }
}

Codes loadCodes(VkfType type, const unsigned char* block) {
    const unsigned char* from = block + VKF_BLOCK_CODES_AT(type);
    Codes codes{};
    for (size_t e = 0; e < size; e++) {
        if (type == VKF_TYPE_Q8_0) {
            codes[e] = from[e] < 128 ? from[e] : from[e] - 256;
            continue;
        }
        codes[e] = e < size / 2 ? from[e] & 15 : from[e - size / 2] >> 4;
        if (VKF_BLOCK_HAS_FIFTH_BITS(type)) {
            codes[e] |= (block[VKF_BLOCK_FIFTH_BITS_AT(type) + e / 8] >> e % 8 & 1) << 4;
        }
    }
    return codes;
}

// How values map to codes: (x - minimum) / scale.
struct Scaling {
    float scale;
    float minimum; // 0 if the type has none
};

Scaling scalingOf(VkfType type, const Values& values) {
    const auto steps = static_cast<float>((1 << bitsOf(type)) - 1);
    if (VKF_BLOCK_HAS_MINIMUM(type)) {
        const float least = *std::min_element(values.begin(), values.end()); // the first of equals, of zeros too
        const float most = *std::max_element(values.begin(), values.end());
        return {(most - least) / steps, least};
    }
    float largest = 0.0F;
    for (const float x : values) {
        largest = std::abs(x) > std::abs(largest) ? x : largest;
    }
    return {type == VKF_TYPE_Q8_0 ? std::abs(largest) / 127.0F : largest / static_cast<float>(numberOf(type, 0)), 0.0F};
}

// The code of the number that is nearest to `steps`, of two the larger.
int nearestNumber(float steps) {
    int code = 0;
    while (code < 15 &&
           steps >= 0.5F * static_cast<float>(numberOf(VKF_TYPE_IQ4_NL, code) + numberOf(VKF_TYPE_IQ4_NL, code + 1))) {
        code++;
    }
    return code;
}

int codeOf(VkfType type, float steps) {
    if (type == VKF_TYPE_Q8_0) {
        return static_cast<int>(std::round(steps));
    }
    if (type == VKF_TYPE_IQ4_NL) {
        return nearestNumber(steps);
    }
    const int most = (1 << bitsOf(type)) - 1;
    return std::min(most, static_cast<int>(steps + (0.5F - static_cast<float>(numberOf(type, 0)))));
}

void quantizeBlock(VkfType type, const Values& values, unsigned char* block) {
    std::memset(block, 0, VKF_BLOCK_BYTES(type));
    const bool finite = std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
    const Scaling scaling = finite ? scalingOf(type, values) : Scaling{};
    if (!finite || !std::isfinite(scaling.scale)) {
        storeF16(block, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    storeF16(block, scaling.scale);
    if (VKF_BLOCK_HAS_MINIMUM(type)) {
        storeF16(block + minimumAt, scaling.minimum);
    }
    const float inverse = std::abs(scaling.scale) < std::numeric_limits<float>::min() ? 0.0F : 1.0F / scaling.scale;
    Codes codes{};
    for (size_t e = 0; e < size; e++) {
        const float steps = (values[e] - scaling.minimum) * inverse;
        codes[e] = codeOf(type, steps);
    }
    storeCodes(type, codes, block);
}

} // namespace

void dequantizeBlock(VkfType type, const void* from, float* values, ProductRounding rounding) {
    const auto* block = static_cast<const unsigned char*>(from);
    const bool twice = rounding.twice && rounding.type == VKF_TYPE_F16 && VKF_BLOCK_HAS_MINIMUM(type);
    const float scale = loadF16(block);
    const float minimum = VKF_BLOCK_HAS_MINIMUM(type) ? loadF16(block + minimumAt) : 0.0F;
    const Codes codes = loadCodes(type, block);
    for (size_t e = 0; e < size; e++) {
        const float exact = scale * static_cast<float>(numberOf(type, codes[e]));
        const float x = twice ? roundForProduct(rounding, static_cast<double>(exact)) : exact;
        values[e] = VKF_BLOCK_HAS_MINIMUM(type) ? x + minimum : x;
        values[e] = roundForProduct(rounding, static_cast<double>(values[e]));
    }
}

} // namespace vkf::reference

void vkfQuantizeBlocks(VkfType type, const float* values, uint64_t count, void* blocks) {
    using namespace vkf::reference;
    if (!vkf::isBlockType(type)) {
        return;
    }
    if (vkf::isFp8(type)) {
        std::transform(values, values + count * VKF_FP8_BLOCK_ELEMENTS, static_cast<uint8_t*>(blocks),
                       [type](float x) { return encodeFp8(type, x); });
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        Values block{};
        std::copy_n(values + i * size, size, block.begin());
        quantizeBlock(type, block, static_cast<unsigned char*>(blocks) + i * VKF_BLOCK_BYTES(type));
    }
}

void vkfDequantizeBlocks(VkfType type, const void* blocks, uint64_t count, float* values) {
    using namespace vkf::reference;
    if (!vkf::isBlockType(type)) {
        std::fill_n(values, count * size, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    if (vkf::isFp8(type)) {
        loadElements(type, blocks, 0, static_cast<uint32_t>(count * VKF_FP8_BLOCK_ELEMENTS), values, 1);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        dequantizeBlock(type, static_cast<const unsigned char*>(blocks) + i * VKF_BLOCK_BYTES(type), values + i * size);
    }
}

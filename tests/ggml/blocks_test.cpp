// SPDX-License-Identifier: MIT
//
// vkfQuantizeBlocks against ggml's reference quantizers, bit for bit. Where the two differ by contract (reference.h),
// the test says by what.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <ggml.h>
#include <vkflash/reference.h>

namespace {

constexpr size_t size = 32;
using Values = std::array<float, size>;
using Block = std::vector<unsigned char>;

struct Type {
    ggml_type theirs;
    VkfType ours;
    float steps; // the scale is the largest value, or the range, divided by it
    bool hasMinimum;
};
constexpr Type types[] = {{GGML_TYPE_Q8_0, VKF_TYPE_Q8_0, 127.0F, false},
                          {GGML_TYPE_Q4_0, VKF_TYPE_Q4_0, 8.0F, false},
                          {GGML_TYPE_Q4_1, VKF_TYPE_Q4_1, 15.0F, true},
                          {GGML_TYPE_Q5_0, VKF_TYPE_Q5_0, 16.0F, false},
                          {GGML_TYPE_Q5_1, VKF_TYPE_Q5_1, 31.0F, true}};

Block theirBlock(const Type& type, const Values& values) {
    Block block(vkfStoredBytes(type.ours, size));
    ggml_get_type_traits(type.theirs)->from_float_ref(values.data(), block.data(), size);
    return block;
}

Block ourBlock(const Type& type, const Values& values) {
    Block block(vkfStoredBytes(type.ours, size));
    vkfQuantizeBlocks(type.ours, values.data(), 1, block.data());
    return block;
}

uint16_t half(const Block& block, size_t at) {
    uint16_t bits = 0;
    std::memcpy(&bits, &block[at], sizeof bits);
    return bits;
}

Values randomValues(std::mt19937_64& random, int exponent, float offset) {
    std::normal_distribution<float> normal;
    Values values{};
    std::ranges::generate(values, [&] { return std::ldexp(normal(random) + offset, exponent); });
    return values;
}

} // namespace

TEST_CASE("blocks have ggml's bits, from the least scale to the largest", "[ggml]") {
    std::mt19937_64 random(1);
    for (const Type& type : types) {
        int wrong = 0;
        for (int i = 0; i < 20000; i++) {
            // Scales of 2^-120 to 2^13. Offsets make all values positive or negative, far from 0 or near.
            const int exponent = static_cast<int>(random() % 131) - 117;
            const float offsets[] = {0.0F, 5.5F, -5.5F, 1000.0F};
            const Values values = randomValues(random, exponent, offsets[random() % 4]);
            float largest = 0.0F;
            for (const float x : values) {
                largest = std::max(largest, std::abs(x));
            }
            if (largest < 65504.0F) {
                wrong += ourBlock(type, values) != theirBlock(type, values) ? 1 : 0;
            }
        }
        INFO(vkfTypeName(type.ours));
        CHECK(wrong == 0);
        const Values zeros{};
        CHECK(ourBlock(type, zeros) == theirBlock(type, zeros));
    }
}

// ggml stores an infinity, and all elements of the block become infinite or NaN.
TEST_CASE("a huge value in a block gets the largest scale of fp16, where ggml stores an infinity", "[ggml]") {
    std::mt19937_64 random(2);
    for (const Type& type : types) {
        for (const float sign : {1.0F, -1.0F}) {
            INFO(vkfTypeName(type.ours) << ", sign " << sign);
            Values values = randomValues(random, 0, 0.0F);
            values[7] = sign * 65536.0F * type.steps;
            Block ours = ourBlock(type, values);
            const Block theirs = theirBlock(type, values);
            const auto differs = [&](size_t at) { // the largest finite number is just before infinity
                return (half(theirs, at) & 0x7fff) == 0x7c00 && half(ours, at) == half(theirs, at) - 1;
            };
            CHECK(differs(0));
            CHECK((!type.hasMinimum || sign > 0.0F || differs(2)));
            std::copy_n(theirs.begin(), type.hasMinimum ? 4 : 2, ours.begin());
            CHECK(ours == theirs); // codes are the same
            Values back{};
            vkfDequantizeBlocks(type.ours, ourBlock(type, values).data(), 1, back.data());
            CHECK(std::ranges::all_of(back, [](float x) { return std::isfinite(x); }));
        }
    }
}

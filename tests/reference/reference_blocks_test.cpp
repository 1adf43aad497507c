// SPDX-License-Identifier: MIT
//
// Block types and pages in the reference: blocks computed by hand, and caches. A cache must give the results of the
// same keys and values in plain fp32.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "reference/element.hpp"
#include "shared/stored_types.h"
#include "support/reference.hpp"

namespace {

using vkf::test::Inputs;

constexpr std::array blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1,
                                   VKF_TYPE_Q5_0, VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL};
// Written out again, not taken from the library.
constexpr std::array iq4nlNumbers = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
using Values = std::array<float, 32>;
using Block = std::vector<unsigned char>;

Block quantized(VkfType type, const Values& values) {
    Block block(vkfStoredBytes(type, 32), 0xee);
    vkfQuantizeBlocks(type, values.data(), 1, block.data());
    return block;
}

Values dequantized(VkfType type, const Block& block) {
    Values values{};
    vkfDequantizeBlocks(type, block.data(), 1, values.data());
    return values;
}

unsigned half(const Block& block, size_t at) { return block[at] | static_cast<unsigned>(block[at + 1]) << 8; }

// Element e by the words of the format.
float element(VkfType type, const Block& block, size_t e) {
    const auto f16 = [&](size_t at) {
        const auto bits = static_cast<uint16_t>(half(block, at));
        return static_cast<float>(vkfLoadElement(VKF_TYPE_F16, &bits, 0));
    };
    const auto nibble = [&](size_t at) { return e < 16 ? block[at + e] & 15 : block[at + e - 16] >> 4; };
    const auto fifth = [&](size_t at) { return (block[at + e / 8] >> e % 8 & 1) * 16; };
    const auto real = [](int x) { return static_cast<float>(x); };
    switch (type) {
    case VKF_TYPE_Q8_0:
        return f16(0) * real(static_cast<signed char>(block[2 + e]));
    case VKF_TYPE_Q4_0:
        return f16(0) * real(nibble(2) - 8);
    case VKF_TYPE_Q4_1:
        return f16(0) * real(nibble(4)) + f16(2);
    case VKF_TYPE_Q5_0:
        return f16(0) * real(nibble(6) + fifth(2) - 16);
    case VKF_TYPE_IQ4_NL:
        return f16(0) * real(iq4nlNumbers[static_cast<size_t>(nibble(2))]);
    default:
        return f16(0) * real(nibble(8) + fifth(4)) + f16(2);
    }
}

bool sameFloat(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// The call with dense K and V in fp32, without pages.
std::pair<VkfProblem, Inputs> plainCall(const VkfProblem& problem, const Inputs& inputs) {
    VkfProblem plain = problem;
    plain.paging = {};
    vkf::enable(plain, VKF_USE_BLOCK_TABLE, false);
    vkf::enable(plain, VKF_USE_BLOCK_TABLE, false);
    plain.k = plain.v = VkfTensor{};
    Inputs to = inputs;
    to.blockTable.clear();
    for (const VkfTensorRole role : {VKF_TENSOR_K, VKF_TENSOR_V}) {
        const VkfTensorLayout from = vkf::layoutOf(problem, role);
        const VkfTensorLayout layout = vkf::layoutOf(plain, role);
        const std::vector<std::byte>& bytes = role == VKF_TENSOR_K ? inputs.k : inputs.v;
        std::vector<std::byte>& plainBytes = role == VKF_TENSOR_K ? to.k : to.v;
        plainBytes.assign(layout.elements * sizeof(float), std::byte{0xff});
        for (uint64_t b = 0; b < problem.batch; b++) {
            const int64_t keys = inputs.keyLengths.empty() ? problem.keys : inputs.keyLengths[b];
            for (uint64_t j = 0; j < static_cast<uint64_t>(keys); j++) {
                for (uint64_t h = 0; h < layout.heads; h++) {
                    const auto [page, row] = inputs.placeOf(problem, b, j);
                    const uint64_t first = page * from.batchStride + h * from.headStride + row * from.rowStride;
                    for (uint64_t d = 0; d < layout.dim; d++) {
                        vkfStoreElement(VKF_TYPE_F32, plainBytes.data(),
                                        ((b * layout.heads + h) * problem.keys + j) * layout.dim + d,
                                        vkfLoadElement(from.type, bytes.data(), first + d));
                    }
                }
            }
        }
    }
    return {plain, to};
}

bool agrees(const VkfProblem& problem, const Inputs& inputs) {
    const auto [plain, plainInputs] = plainCall(problem, inputs);
    const VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    const vkf::test::Result a = vkf::test::reference(problem, inputs, options);
    const vkf::test::Result b = vkf::test::reference(plain, plainInputs, options);
    return a.o == b.o && a.lse == b.lse && std::none_of(a.o.begin(), a.o.end(), [](double x) { return std::isnan(x); });
}

} // namespace

TEST_CASE("blocks have the sizes of their formats", "[reference]") {
    constexpr std::array<uint64_t, 6> bytes = {34, 18, 20, 22, 24, 18};
    for (size_t i = 0; i < blockTypes.size(); i++) {
        CHECK(vkfStoredBytes(blockTypes[i], 32) == bytes[i]);
        CHECK(vkfStoredBytes(blockTypes[i], 320) == 10 * bytes[i]);
        CHECK(vkfBlockElements(blockTypes[i]) == 32);
        CHECK(vkfTypeBytes(blockTypes[i]) == 0);
    }
    CHECK(vkfBlockElements(VKF_TYPE_F16) == 1);
    CHECK(vkfStoredBytes(VKF_TYPE_BF16, 7) == 14);
    CHECK(vkfBlockElements(VKF_TYPE_BOOL8) == 0);
    CHECK(vkfStoredBytes(VKF_TYPE_BOOL8, 7) == 0);
}

TEST_CASE("a block of zeros has the code of zero", "[reference]") {
    const Values zeros{};
    CHECK(quantized(VKF_TYPE_Q8_0, zeros) == Block(34, 0));
    CHECK(quantized(VKF_TYPE_Q4_1, zeros) == Block(20, 0));
    CHECK(quantized(VKF_TYPE_Q5_1, zeros) == Block(24, 0));
    Block q4(18, 0x88); // code 8 is zero, and 0 / -8 is -0
    q4[0] = 0x00;
    q4[1] = 0x80;
    CHECK(quantized(VKF_TYPE_Q4_0, zeros) == q4);
    Block q5(22, 0x00); // code 16 has its fifth bit alone
    q5[1] = 0x80;
    std::fill_n(q5.begin() + 2, 4, static_cast<unsigned char>(0xff));
    CHECK(quantized(VKF_TYPE_Q5_0, zeros) == q5);
    Block iq4(18, 0x88); // 1 is the number nearest to zero, and 0 / -127 is -0
    iq4[0] = 0x00;
    iq4[1] = 0x80;
    CHECK(quantized(VKF_TYPE_IQ4_NL, zeros) == iq4);
    for (const VkfType type : blockTypes) {
        CHECK(dequantized(type, quantized(type, zeros)) == zeros);
    }
    Values signedZeros{}; // the first is the minimum, and their difference is +0
    signedZeros[31] = -0.0F;
    CHECK(quantized(VKF_TYPE_Q4_1, signedZeros) == Block(20, 0));
    signedZeros[0] = -0.0F;
    CHECK(half(quantized(VKF_TYPE_Q5_1, signedZeros), 0) == 0x0000);
    CHECK(half(quantized(VKF_TYPE_Q5_1, signedZeros), 2) == 0x8000);
}

TEST_CASE("the value of largest magnitude sets scale and sign", "[reference]") {
    Values values{};
    values[0] = -8.0F;
    values[1] = 7.0F;
    values[17] = 3.0F;
    Block block = quantized(VKF_TYPE_Q4_0, values);
    CHECK(half(block, 0) == 0x3c00); // -8 / -8
    CHECK(block[2] == 0x80);         // codes of elements 0 and 16: 0 and 8
    CHECK(block[3] == 0xbf);         // 1 and 17: 15 and 11
    CHECK(dequantized(VKF_TYPE_Q4_0, block) == values);

    values[0] = 8.0F; // its code is 0 again, and no code is 8 above zero
    values[1] = -8.0F;
    block = quantized(VKF_TYPE_Q4_0, values);
    CHECK(half(block, 0) == 0xbc00);
    CHECK(block[2] == 0x80);
    CHECK(block[3] == 0x5f); // -8 needs code 16 and gets 15; 3 has 5
    CHECK(dequantized(VKF_TYPE_Q4_0, block)[0] == 8.0F);
    CHECK(dequantized(VKF_TYPE_Q4_0, block)[1] == -7.0F);

    values[0] = -16.0F;
    values[1] = 16.0F; // equally large, but not the first
    values[31] = 1.0F;
    block = quantized(VKF_TYPE_Q5_0, values);
    CHECK(half(block, 0) == 0x3c00);
    CHECK(block[2] == 0xfe); // fifth bits: element 0 has code 0
    CHECK(block[5] == 0xff);
    CHECK(block[6] == 0x00);
    CHECK(block[7] == 0x3f);  // 31 for 16, 19 for 3
    CHECK(block[21] == 0x10); // 17 for 1
    CHECK(dequantized(VKF_TYPE_Q5_0, block)[1] == 15.0F);

    std::fill(values.begin(), values.end(), 0.0F);
    values[5] = -127.0F;
    block = quantized(VKF_TYPE_Q8_0, values);
    CHECK(half(block, 0) == 0x3c00); // a magnitude has no sign
    CHECK(block[2 + 5] == 0x81);
}

TEST_CASE("codes round as their types say", "[reference]") {
    Values values{};
    values[0] = 127.0F;
    values[1] = 2.5F;
    values[2] = -2.5F;
    values[3] = 0.49F;
    const Block q8 = quantized(VKF_TYPE_Q8_0, values);
    CHECK(q8[2] == 127);
    CHECK(q8[3] == 3); // halves away from zero
    CHECK(q8[4] == 0xfd);
    CHECK(q8[5] == 0);

    values.fill(0.0F);
    values[0] = -8.0F; // scale 1
    values[1] = 1.5F;
    values[2] = -1.5F;
    const Block q4 = quantized(VKF_TYPE_Q4_0, values);
    CHECK((q4[3] & 15) == 10); // 1.5 + 8.5, cut off
    CHECK((q4[4] & 15) == 7);  // -1.5 + 8.5: halves go up

    values.fill(0.0F);
    values[0] = -1.0F;
    values[1] = 14.0F; // scale 1, minimum -1
    values[2] = 0.5F;
    values[3] = 0.25F;
    values[16] = 14.0F;
    const Block q41 = quantized(VKF_TYPE_Q4_1, values);
    CHECK(half(q41, 0) == 0x3c00);
    CHECK(half(q41, 2) == 0xbc00);
    CHECK(q41[4] == 0xf0);
    CHECK(q41[5] == 0x1f);
    CHECK((q41[6] & 15) == 2);
    CHECK((q41[7] & 15) == 1);

    std::iota(values.begin(), values.end(), 0.0F); // scale 1, minimum 0, code e
    const Block q51 = quantized(VKF_TYPE_Q5_1, values);
    CHECK(half(q51, 0) == 0x3c00);
    CHECK(half(q51, 2) == 0x0000);
    CHECK(q51[4] == 0x00);
    CHECK(q51[6] == 0xff);
    CHECK(q51[8 + 1] == 0x11); // 1 and 17
    CHECK(q51[8 + 15] == 0xff);
    CHECK(dequantized(VKF_TYPE_Q5_1, q51) == values);
}

TEST_CASE("values of iq4_nl take the nearest number, and the larger of two", "[reference]") {
    Values values{};
    for (size_t e = 0; e < 16; e++) {
        const auto number = static_cast<float>(iq4nlNumbers[e]);
        const auto next = static_cast<float>(iq4nlNumbers[std::min<size_t>(e + 1, 15)]);
        values[e] = number / 4;
        values[e + 16] = (number + next) / 8; // the middle belongs to the larger
    }
    const Block block = quantized(VKF_TYPE_IQ4_NL, values);
    CHECK(half(block, 0) == 0x3400); // 1 / 4: -127 is the largest
    Values flipped{};
    for (size_t e = 0; e < 16; e++) {
        INFO(e);
        CHECK(block[2 + e] == (e | std::min<size_t>(e + 1, 15) << 4));
        values[e + 16] = std::nextafter(values[e + 16], -100.0F); // below the middle; 113 stays the nearest
        flipped[e] = -values[e];
    }
    const Block below = quantized(VKF_TYPE_IQ4_NL, values);
    const Block negative = quantized(VKF_TYPE_IQ4_NL, flipped);
    CHECK(half(negative, 0) == 0xb400);
    for (size_t e = 0; e < 16; e++) {
        INFO(e);
        CHECK(below[2 + e] == (e | e << 4));
        CHECK((negative[2 + e] & 15U) == e);
    }
    values.fill(0.0F);
    values[0] = 1.0F;
    values[1] = -1.0F; // 127 has no code, and 113 is the nearest
    CHECK((quantized(VKF_TYPE_IQ4_NL, values)[3] & 15U) == 15);
}

TEST_CASE("scales are rounded to fp16 after codes were made with fp32 ones", "[reference]") {
    Values values{};
    values[0] = 127.0F * (1.0F + 0x1p-11F); // between 1 and the next fp16, and 1 is even
    values[1] = 100.5F;                     // over the fp32 scale 100.45, over the stored one 100.5
    Block block = quantized(VKF_TYPE_Q8_0, values);
    CHECK(half(block, 0) == 0x3c00);
    CHECK(block[2] == 127);
    CHECK(block[3] == 100);
    values[0] = 127.0F * (1.0F + 0x3p-11F);
    CHECK(half(quantized(VKF_TYPE_Q8_0, values), 0) == 0x3c02);
    values[0] = 127.0F * 70000.0F;
    CHECK(half(quantized(VKF_TYPE_Q8_0, values), 0) == 0x7bff); // saturated

    values.fill(127.0F * 0x1p-127F); // a scale that a device may take for 0
    CHECK(quantized(VKF_TYPE_Q8_0, values) == Block(34, 0));
}

TEST_CASE("a value that is not finite makes its block NaN, and no other", "[reference]") {
    for (const VkfType type : blockTypes) {
        for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
            std::vector<float> values(96, 1.0F);
            values[40] = x;
            Block blocks(vkfStoredBytes(type, values.size()));
            vkfQuantizeBlocks(type, values.data(), 3, blocks.data());
            std::vector<float> back(96);
            vkfDequantizeBlocks(type, blocks.data(), 3, back.data());
            int wrong = 0;
            for (size_t i = 0; i < back.size(); i++) {
                wrong += std::isnan(back[i]) != (i / 32 == 1);
            }
            CHECK(wrong == 0);
        }
        Values extremes{};
        extremes[0] = std::numeric_limits<float>::max();
        extremes[1] = -extremes[0]; // their difference is over fp32
        Block lost(vkfStoredBytes(type, 32), 0x00);
        lost[1] = 0x7e;
        CHECK((quantized(type, extremes) == lost) == (type == VKF_TYPE_Q4_1 || type == VKF_TYPE_Q5_1));
    }
}

TEST_CASE("any bytes of a block mean what the format says", "[reference]") {
    std::mt19937_64 random(11);
    for (const VkfType type : blockTypes) {
        int wrong = 0;
        for (int i = 0; i < 500; i++) {
            Block block(vkfStoredBytes(type, 32));
            std::generate(block.begin(), block.end(), [&] { return static_cast<unsigned char>(random()); });
            block[1] &= 0xbf; // finite numbers
            block[3] &= 0xbf;
            const Values values = dequantized(type, block);
            for (size_t e = 0; e < values.size(); e++) {
                wrong += !sameFloat(values[e], element(type, block, e));
                wrong += !sameFloat(values[e], static_cast<float>(vkfLoadElement(type, block.data(), e)));
            }
        }
        INFO(vkfTypeName(type));
        CHECK(wrong == 0);
    }
}

TEST_CASE("values come back within half a step of their blocks", "[reference]") {
    std::mt19937_64 random(12);
    std::normal_distribution<float> normal;
    for (const VkfType type : blockTypes) {
        const float steps = type == VKF_TYPE_Q8_0                              ? 127.0F
                            : (type == VKF_TYPE_Q4_0 || type == VKF_TYPE_Q4_1) ? 7.5F
                            : type == VKF_TYPE_IQ4_NL                          ? 127.0F / 14 // 127 takes 113
                                                                               : 15.5F;
        int wrong = 0;
        for (int i = 0; i < 500; i++) {
            Values values{};
            std::generate(values.begin(), values.end(), [&] { return normal(random); });
            const Values back = dequantized(type, quantized(type, values));
            float largest = 0.0F;
            for (const float x : values) {
                largest = std::max(largest, std::abs(x));
            }
            // Half a step and the rounding of the scale to fp16. A whole step for a value as large as the signed
            // largest one but of the other sign.
            const float allowed =
                largest / steps * (type == VKF_TYPE_Q8_0 || VKF_BLOCK_HAS_MINIMUM(type) ? 0.57F : 1.0F);
            for (size_t e = 0; e < values.size(); e++) {
                wrong += std::abs(back[e] - values[e]) > allowed;
            }
        }
        INFO(vkfTypeName(type));
        CHECK(wrong == 0);
    }
}

TEST_CASE("keys and values of block types are those that their blocks hold", "[reference]") {
    for (const VkfType type : blockTypes) {
        VkfProblem problem = vkf::test::problemOf({2, 4, 2, 3, 21, 64, 32});
        problem.k.type = type;
        problem.v.type = type == VKF_TYPE_Q8_0 ? VKF_TYPE_Q4_1 : VKF_TYPE_Q8_0;
        CHECK(agrees(problem, vkf::test::makeInputs(problem, {.absentPages = false})));
        problem.k.rowStride = 2 * 96; // [batch, keys, heads, dim], blocks between heads left out
        problem.k.headStride = 96;
        problem.k.batchStride = 21 * 2 * 96 + 32;
        CHECK(agrees(problem, vkf::test::makeInputs(problem, {.absentPages = false})));
    }
}

TEST_CASE("pages in any order are the keys that the block table says", "[reference]") {
    for (const uint32_t pageSize : {1U, 2U, 16U, 256U}) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q5_0}) {
            VkfProblem problem = vkf::test::problemOf({3, 2, 2, 4, 37, 32});
            problem.k.type = type;
            problem.use |= VKF_USE_CAUSAL;
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            vkf::test::setPages(problem, pageSize, 5);
            CHECK(agrees(problem, vkf::test::makeInputs(problem, {.keyLengths = {37, 0, 18}, .absentPages = false})));
            problem.v.rowStride = 64; // [pages, pageSize, heads, dim]
            problem.v.headStride = 32;
            problem.v.batchStride = uint64_t{pageSize} * 64;
            CHECK(agrees(problem, vkf::test::makeInputs(problem, {.keyLengths = {20, 37, 1}, .absentPages = false})));
        }
    }
}

TEST_CASE("for the reference, keys whose pages do not exist are absent", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({2, 1, 1, 1, 8, 32});
    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    vkf::test::setPages(problem, 4, 0);
    Inputs inputs = vkf::test::makeInputs(problem, {.keyLengths = {8, 4}, .absentPages = false});
    VkfReferenceInputs memory = inputs.reference();
    VkfMessage message{};
    const auto run = [&] {
        std::vector<double> results(66); // o, then lse
        CHECK(vkfReferenceAttention(&problem, &memory, nullptr, results.data(), &results[64], &message) == VKF_SUCCESS);
        return results;
    };
    const std::vector<double> all = run();
    inputs.blockTable[1] = static_cast<int32_t>(problem.paging.pages);
    const std::vector<double> absent = run();
    inputs.keyLengths[0] = 4; // as if the sequence ended before the page
    CHECK(run() == absent);
    CHECK(absent != all);
    inputs.blockTable[0] = -1;
    const std::vector<double> none = run();
    CHECK(std::all_of(none.begin(), none.begin() + 32, [](double x) { return x == 0.0; }));
    CHECK(none[64] == -std::numeric_limits<double>::infinity());
    CHECK(none[65] == all[65]); // the other sequence
    std::vector<double> o(64);
    memory.blockTable = nullptr;
    CHECK(vkfReferenceAttention(&problem, &memory, nullptr, o.data(), nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) == "inputs.blockTable is null");
}

TEST_CASE("in products of 16-bit types elements of blocks are rounded first", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 2, 40, 64});
    problem.k.type = VKF_TYPE_Q5_1;
    problem.v.type = VKF_TYPE_Q4_1;
    const Inputs inputs = vkf::test::makeInputs(problem, {});
    auto [plain, rounded] = plainCall(problem, inputs);
    for (std::vector<std::byte>* tensor : {&rounded.k, &rounded.v}) {
        for (uint64_t i = 0; i < tensor->size() / sizeof(float); i++) {
            const double x = vkfLoadElement(VKF_TYPE_F32, tensor->data(), i);
            vkfStoreElement(VKF_TYPE_F32, tensor->data(), i, vkf::reference::roundElement(VKF_TYPE_F16, x));
        }
    }
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32);
    options.productType = VKF_TYPE_F16;
    const vkf::test::Result a = vkf::test::reference(problem, inputs, options);
    CHECK(a.o == vkf::test::reference(plain, rounded, options).o);
    options.productType = VKF_TYPE_F32;
    CHECK(a.o != vkf::test::reference(problem, inputs, options).o);
}

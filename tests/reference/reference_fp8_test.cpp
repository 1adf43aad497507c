// SPDX-License-Identifier: MIT
//
// fp8 types in the reference: every code against its definition, roundings, and scales, which must do what multiplied
// keys and values do.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "support/reference.hpp"

namespace {

constexpr std::array fp8Types = {VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
using Codes = std::array<uint8_t, 16>;

Codes codesOf(VkfType type, const std::array<float, 16>& values) {
    Codes codes{};
    vkfQuantizeBlocks(type, values.data(), 1, codes.data());
    return codes;
}

} // namespace

TEST_CASE("the codes of e4m3 and e5m2 are the numbers of their definitions", "[reference]") {
    for (uint32_t code = 0; code < 256; code++) {
        const auto bits = static_cast<uint8_t>(code);
        const double sign = code < 128 ? 1.0 : -1.0;
        const int size = static_cast<int>(code % 128);
        const double e4m3 = size / 8 == 0 ? std::ldexp(size, -9) : std::ldexp(8 + size % 8, size / 8 - 10);
        const double e5m2 = size / 4 == 0 ? std::ldexp(size, -16) : std::ldexp(4 + size % 4, size / 4 - 17);
        const double ofE4m3 = vkfLoadElement(VKF_TYPE_F8_E4M3, &bits, 0);
        const double ofE5m2 = vkfLoadElement(VKF_TYPE_F8_E5M2, &bits, 0);
        CAPTURE(code);
        CHECK((size == 127 ? std::isnan(ofE4m3) : ofE4m3 == sign * e4m3));
        CHECK((size > 124    ? std::isnan(ofE5m2)
               : size == 124 ? ofE5m2 == sign * std::numeric_limits<double>::infinity()
                             : ofE5m2 == sign * e5m2));
        CHECK(std::signbit(ofE4m3) == (code >= 128));
        if (size < 124) { // back
            for (const VkfType type : fp8Types) {
                std::array<float, 16> values{};
                values[5] = static_cast<float>(type == VKF_TYPE_F8_E4M3 ? ofE4m3 : ofE5m2);
                CHECK(codesOf(type, values)[5] == bits);
            }
        }
    }
    CHECK(vkfBlockElements(VKF_TYPE_F8_E4M3) == 16);
    CHECK(vkfStoredBytes(VKF_TYPE_F8_E5M2, 48) == 48);
}

TEST_CASE("fp8 numbers are rounded to the even one of two, saturate, and keep NaN", "[reference]") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Codes e4m3 = codesOf(VKF_TYPE_F8_E4M3, {1.0625F, 1.1875F, 448.0F, 464.0F, 1e9F, -infinity, nan, 0x1p-10F,
                                                  0x3p-10F, 0x1.8p-10F, -0.0F, 0x1.ep-7F, 240.0F, 248.0F, -1.0F, 0.0F});
    CHECK(e4m3 ==
          Codes{0x38, 0x3a, 0x7e, 0x7e, 0x7e, 0xfe, 0x7f, 0x00, 0x02, 0x01, 0x80, 0x08, 0x77, 0x78, 0xb8, 0x00});
    const Codes e5m2 = codesOf(VKF_TYPE_F8_E5M2, {1.125F, 1.375F, 57344.0F, 61440.0F, 1e9F, -infinity, nan, 0x1p-17F,
                                                  0x3p-17F, 0x1.8p-17F, -0.0F, 0x1.cp-15F, 3.0F, 3.25F, -1.0F, 0.0F});
    CHECK(e5m2 ==
          Codes{0x3c, 0x3e, 0x7b, 0x7b, 0x7b, 0xfc, 0x7e, 0x00, 0x02, 0x01, 0x80, 0x04, 0x42, 0x42, 0xbc, 0x00});
}

TEST_CASE("scales multiply keys and values of their heads", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({2, 4, 2, 3, 21, 16, 32});
    problem.k.type = VKF_TYPE_F8_E4M3;
    problem.v.type = VKF_TYPE_F8_E5M2;
    vkf::test::setScales(problem, 2, 1);
    vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
    inputs.kvScales = {0.5F, 4.0F, 2.0F}; // powers of two, so that fp32 has the products

    VkfProblem plain = problem;
    plain.k = plain.v = VkfTensor{};
    vkf::enable(plain, VKF_USE_KV_SCALES, false);
    vkf::test::Inputs multiplied = inputs;
    for (const auto& [from, to, dim] :
         {std::tuple{&inputs.k, &multiplied.k, 16U}, std::tuple{&inputs.v, &multiplied.v, 32U}}) {
        const bool ofK = from == &inputs.k;
        const uint64_t count = from->size();
        to->assign(count * sizeof(float), std::byte{});
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t head = i / (uint64_t{dim} * problem.keys) % 2;
            const double scale = static_cast<double>(ofK ? inputs.kvScales[head] : inputs.kvScales[2]);
            vkfStoreElement(VKF_TYPE_F32, to->data(), i,
                            scale * vkfLoadElement(ofK ? problem.k.type : problem.v.type, from->data(), i));
        }
    }
    for (const VkfReferenceAlgorithm algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_ONLINE, VKF_REFERENCE_TILED,
                                                  VKF_REFERENCE_STANDARD, VKF_REFERENCE_TILED_KEYS_OUTER}) {
        const VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        const vkf::test::Result a = vkf::test::reference(problem, inputs, options);
        const vkf::test::Result b = vkf::test::reference(plain, multiplied, options);
        INFO(vkfReferenceAlgorithmString(algorithm));
        CHECK(a.o == b.o);
        CHECK(a.lse == b.lse);
    }
}

// SPDX-License-Identifier: MIT
//
// k and v of fp8 types: each code on every path, scales, NaN behind lengths, and what appends write.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/append_runs.hpp"
#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::Variation;

constexpr std::array fp8Types = {VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
// A path each, and each kernel of path decode for few columns.
constexpr std::array<size_t, 5> paths = {0, 4, 5, 6, 7};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// The number of a code, by the definition of its format.
double numberOf(VkfType type, uint32_t code) {
    const bool e4m3 = type == VKF_TYPE_F8_E4M3;
    const int mantissaBits = e4m3 ? 3 : 2;
    const int bias = e4m3 ? 7 : 15;
    const int mantissa = static_cast<int>(code) & ((1 << mantissaBits) - 1);
    const int exponent = static_cast<int>(code & 0x7fU) >> mantissaBits;
    const double sign = (code & 0x80U) != 0 ? -1.0 : 1.0;
    if (e4m3 && (code & 0x7fU) == 0x7fU) {
        return nan;
    }
    if (!e4m3 && exponent == 31) {
        return mantissa == 0 ? sign * infinity : nan;
    }
    return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias - mantissaBits)
                         : sign * std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
}

// Four sequences of one key, whose 64 elements are the 256 codes. With one key o is v. Query row e has a 1 in column e
// alone, so that its lse is element e of k. A number that is not finite would reach every row, so k has 0 instead. p
// may be rounded to fp16.
void checkCodes(VkfType type, const Variation& variation, double scaleOfK, double scaleOfV) {
    constexpr uint32_t dim = 64;
    VkfProblem problem = vkf::test::problemOf({4, 4, 1, 16, 1, dim, 0, VKF_TYPE_F16});
    problem.k.type = problem.v.type = type;
    problem.o.type = VKF_TYPE_F32;
    problem.scale = 1.0F;
    vkf::test::setScales(problem, scaleOfK != 1.0 ? 1 : 0, scaleOfV != 1.0 ? 1 : 0);
    Data data;
    data.edit = [&](std::vector<std::byte>& q, std::vector<std::byte>& k, std::vector<std::byte>& v) {
        for (uint32_t i = 0; i < 4 * dim; i++) {
            v[i] = static_cast<std::byte>(i);
            k[i] = std::isfinite(numberOf(type, i)) ? v[i] : std::byte{0};
        }
        for (size_t i = 0; i < 4 * dim * dim; i++) {
            vkfStoreElement(VKF_TYPE_F16, q.data(), i, i / dim % dim == i % dim ? 1.0 : 0.0);
        }
    };
    Inputs inputs = vkf::test::makeInputs(problem, data);
    inputs.kvScales.clear();
    for (const double scale : {scaleOfK, scaleOfV}) {
        if (scale != 1.0) {
            inputs.kvScales.push_back(static_cast<float>(scale));
        }
    }
    apply(variation, problem);
    INFO(variation.name << ", " << vkfTypeName(type));
    const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
    INFO(outcome.text());
    CHECK(outcome.passed());
    for (uint32_t code = 0; code < 4 * dim; code++) {
        const double v = scaleOfV * numberOf(type, code);
        const size_t row = code / dim * dim + code % dim;
        const double o = vkfLoadElement(VKF_TYPE_F32, outcome.o.data(), row * dim + code % dim);
        CAPTURE(code, v, o);
        CHECK((std::isfinite(v) ? std::abs(o - v) <= std::abs(v) * 0x1p-10 : std::isnan(v) ? std::isnan(o) : o == v));
        if (std::isfinite(v)) {
            const double k = scaleOfK * numberOf(type, code);
            CHECK(std::abs(static_cast<double>(outcome.lse[row]) - k) <= 1e-6 * (1.0 + std::abs(k)));
        }
    }
}

VkfProblem problemOf(const vkf::test::Shape& shape, VkfType type, uint32_t ofK, uint32_t ofV) {
    VkfProblem problem = vkf::test::problemOf(shape);
    problem.k.type = problem.v.type = type;
    vkf::test::setScales(problem, ofK, ofV);
    return problem;
}

void checkOn(const Variation& variation, VkfProblem problem, const Data& data = {}) {
    apply(variation, problem);
    INFO(variation.name << ": " << vkf::test::describe(problem));
    const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// The number nearest to x, by looking at all of them; of two the one with an even code.
uint8_t nearestCode(VkfType type, double x) {
    const uint32_t largest = type == VKF_TYPE_F8_E4M3 ? 0x7e : 0x7b;
    const uint32_t sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) {
        return static_cast<uint8_t>(sign | (type == VKF_TYPE_F8_E4M3 ? 0x7f : 0x7e));
    }
    if (std::isinf(x)) {
        return static_cast<uint8_t>(sign | (type == VKF_TYPE_F8_E4M3 ? largest : 0x7c));
    }
    const double size = std::min(std::abs(x), numberOf(type, largest));
    uint32_t best = 0;
    for (uint32_t code = 1; code <= largest; code++) {
        const double distance = std::abs(size - numberOf(type, code));
        const double least = std::abs(size - numberOf(type, best));
        best = distance < least || (distance == least && code % 2 == 0) ? code : best;
    }
    return static_cast<uint8_t>(sign | best);
}

// Each number, the middle between it and the next one, and the floats around these; overflow and what is not finite.
std::vector<float> hardNumbers(VkfType type) {
    constexpr float huge = std::numeric_limits<float>::max();
    std::vector<float> numbers = {std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  huge,
                                  1e30F,
                                  65504.0F,
                                  470.0F,
                                  60000.0F,
                                  std::numeric_limits<float>::min(),
                                  std::numeric_limits<float>::denorm_min()};
    const uint32_t largest = type == VKF_TYPE_F8_E4M3 ? 0x7e : 0x7b;
    for (uint32_t code = 0; code <= largest; code++) {
        const auto number = static_cast<float>(numberOf(type, code));
        const float next = code < largest ? static_cast<float>(numberOf(type, code + 1)) : 1.125F * number;
        for (const float x : {number, (number + next) / 2}) {
            numbers.insert(numbers.end(), {std::nextafter(x, 0.0F), x, std::nextafter(x, huge)});
        }
    }
    const size_t count = numbers.size();
    for (size_t i = 0; i < count; i++) {
        numbers.push_back(-numbers[i]);
    }
    numbers.resize((numbers.size() + 15) / 16 * 16, 0.0F);
    return numbers;
}

} // namespace

TEST_CASE("each code of the fp8 types is its number on every path", "[fp8]") {
    for (const VkfType type : fp8Types) {
        for (const size_t path : paths) {
            checkCodes(type, vkf::test::variations[path], 1.0, 1.0);
        }
    }
    checkCodes(VKF_TYPE_F8_E4M3, vkf::test::variations[6], 0.375, 3.0);
    checkCodes(VKF_TYPE_F8_E5M2, vkf::test::variations[4], 0.375, 3.0);
}

TEST_CASE("scales are absent, one, or one for each KV head, beside other inputs too", "[fp8]") {
    constexpr std::array<std::array<uint32_t, 2>, 4> scales = {{{0, 3}, {1, 0}, {3, 1}, {1, 3}}};
    for (size_t i = 0; i < scales.size(); i++) {
        for (const size_t path : paths) {
            if (path % scales.size() != i && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({2, 6, 3, path >= 6 ? 3U : 20U, 131, 64, 0, VKF_TYPE_F16},
                                           fp8Types[(i + path) % 2], scales[i][0], scales[i][1]);
            vkf::enable(problem, VKF_USE_SINKS, i % 2 != 0); // two optional inputs share a table
            problem.softcap = i == 2 ? 10.0F : 0.0F;
            problem.scale = i == 1 ? -0.2F : 0.0F;
            vkf::enable(problem, VKF_USE_ALIBI, i == 3);
            problem.kvSplits = i == 0 ? 3 : 0;
            vkf::enable(problem, VKF_USE_PROBABILITIES, i == 1);
            checkOn(vkf::test::variations[path], problem);
        }
    }
}

TEST_CASE("a NaN of an fp8 type behind a length, or in an unused page, reaches nothing", "[fp8]") {
    for (const VkfType type : fp8Types) {
        for (const size_t path : paths) {
            if (type != fp8Types[path % 2] && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({3, 4, 2, 5, 150, 128, 64, VKF_TYPE_F16}, type, 1, 2);
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            vkf::test::setPages(problem, 20, 3);
            Data data;
            data.keyLengths = {0, 77, 150};
            checkOn(vkf::test::variations[path], problem, data);
        }
    }
}

TEST_CASE("a visible NaN of an fp8 type makes its rows NaN, in full tiles and in others", "[fp8]") {
    for (const VkfType type : fp8Types) {
        for (const size_t path : paths) {
            for (const uint32_t key : {3U, 149U}) {
                if (type != fp8Types[(path + 1) % 2] && !vkf::test::wholeSweeps()) {
                    continue;
                }
                VkfProblem problem = problemOf({1, 4, 1, 2, 150, 128, 64, VKF_TYPE_F16}, type, 0, 0);
                problem.use |= VKF_USE_CAUSAL; // the first row does not see the last key
                Data data;
                data.edit = [&](std::vector<std::byte>&, std::vector<std::byte>& k, std::vector<std::byte>& v) {
                    (key == 3 ? k[key * 128 + 17] : v[key * 64 + 17]) = std::byte{0xff};
                };
                checkOn(vkf::test::variations[path], problem, data);
            }
        }
    }
}

TEST_CASE("an append rounds to the nearest fp8 number, of two to the even one, and saturates", "[fp8]") {
    vkf::test::needStorage16(vkf::test::testDevice(), "an append to fp8 types");
    for (const VkfType type : fp8Types) {
        const std::vector<float> values = hardNumbers(type);
        const auto rows = static_cast<uint32_t>(values.size() / 16);
        VkfAppendProblem p = vkf::test::appendOf({.batch = 1, .kvHeads = 1, .rows = rows, .keys = rows, .headDim = 16});
        p.k.type = p.v.type = type;
        vkf::test::AppendInputs inputs;
        inputs.lengths = {0};
        inputs.newK = inputs.newV = vkf::test::bytesOf(values);
        const vkf::test::AppendResults results = vkf::test::runDevice(p, inputs);
        const vkf::test::AppendResults reference = vkf::test::runReference(p, inputs, std::byte{});
        INFO(vkfTypeName(type));
        for (size_t i = 0; i < values.size(); i++) {
            CAPTURE(values[i]);
            CHECK(static_cast<uint8_t>(results.k[i]) == nearestCode(type, static_cast<double>(values[i])));
            CHECK(reference.k[i] == results.k[i]);
        }
        CHECK((results.v == results.k));
    }
}

TEST_CASE("an append divides by the scales of k and of v, and keeps pages, packed rows and rotation", "[fp8]") {
    vkf::test::needStorage16(vkf::test::testDevice(), "an append to fp8 types");
    std::mt19937_64 random(5);
    for (const uint32_t kind : {0U, 1U, 2U, 3U}) {
        VkfAppendProblem p = vkf::test::appendOf({.batch = 3, .kvHeads = 2, .rows = 6, .keys = 40, .headDim = 64});
        p.k.type = fp8Types[kind % 2];
        p.v.type = kind == 3 ? VKF_TYPE_Q8_0 : fp8Types[1 - kind % 2];
        p.newK.type = VKF_TYPE_BF16;
        p.k.scales = kind == 1 ? 0 : 2;
        p.v.scales = kind == 3 ? 0 : 1;
        p.valueDim = 32;
        vkf::enable(p, VKF_USE_KV_SCALES);
        if (kind == 2) {
            vkf::enable(p, VKF_USE_BLOCK_TABLE);
            p.paging.pageSize = 8;
            p.paging.maxPages = 5;
            p.paging.pages = 15;
        }
        if (kind == 3) {
            p.rotary = {VKF_ROTARY_HALVES, 0, 0.0F, 0};
            p.queryHeads = 4;
            vkf::enable(p, VKF_USE_QUERIES);
        }
        vkf::enable(p, VKF_USE_CU_SEQLENS, kind == 1);
        vkf::test::AppendInputs inputs = vkf::test::randomInputs(p, random);
        if (kind == 1) {
            inputs.cuSeqlens = {0, 1, 1, 6};
        }
        INFO("kind " << kind);
        check(p, inputs, runDevice(p, inputs));
    }
}

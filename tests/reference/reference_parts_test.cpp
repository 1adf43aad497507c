// SPDX-License-Identifier: MIT
//
// Parts of the reference that do not depend on a problem: element types and the online softmax.
#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <vkflash/reference.h>

#include "reference/element.hpp"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

uint16_t store16(VkfType type, double x) {
    uint16_t bits = 0xdead;
    vkfStoreElement(type, &bits, 0, x);
    return bits;
}

double load16(VkfType type, uint16_t bits) { return vkfLoadElement(type, &bits, 0); }

// sign, exponent, mantissa read by the definition of the format.
double decode(uint16_t bits, int mantissaBits, int bias) {
    const int exponentBits = 15 - mantissaBits;
    const int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
    const int mantissa = bits & ((1 << mantissaBits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponentBits) - 1) {
        return mantissa == 0 ? sign * infinity : std::numeric_limits<double>::quiet_NaN();
    }
    return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias - mantissaBits)
                         : sign * std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
}

struct State {
    std::vector<double> o;
    VkfOnlineSoftmax softmax{};

    explicit State(uint32_t dim) : o(dim) {
        softmax.o = o.data();
        softmax.dim = dim;
        vkfOnlineSoftmaxReset(&softmax);
    }
    State(const State& other) : o(other.o), softmax(other.softmax) { softmax.o = o.data(); }
    State& operator=(const State&) = delete;
};

bool close(const State& a, const State& b) {
    bool same = std::abs(a.softmax.m - b.softmax.m) <= 0.0 && std::abs(a.softmax.l / b.softmax.l - 1.0) < 1e-14;
    for (size_t i = 0; i < a.o.size(); i++) {
        same = same && std::abs(a.o[i] - b.o[i]) <= 1e-14 * b.softmax.l;
    }
    return same;
}

State merged(State a, const State& b) {
    vkfOnlineSoftmaxMerge(&a.softmax, &b.softmax);
    return a;
}

} // namespace

TEST_CASE("every 16-bit pattern loads as its format says and stores as itself", "[reference]") {
    const struct {
        VkfType type;
        int mantissaBits;
        int bias;
    } formats[] = {{VKF_TYPE_F16, 10, 15}, {VKF_TYPE_BF16, 7, 127}};
    for (const auto& format : formats) {
        int wrong = 0;
        for (uint32_t pattern = 0; pattern <= 0xffff; pattern++) {
            const auto bits = static_cast<uint16_t>(pattern);
            const double expected = decode(bits, format.mantissaBits, format.bias);
            const double x = load16(format.type, bits);
            if (std::isnan(expected)) {
                wrong += !std::isnan(x) || !std::isnan(load16(format.type, store16(format.type, x)));
            } else {
                wrong += std::bit_cast<uint64_t>(x) != std::bit_cast<uint64_t>(expected);
                wrong += store16(format.type, x) != bits;
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("the nearer of two 16-bit numbers is stored, and the even one of a tie", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        const uint16_t largest = type == VKF_TYPE_F16 ? 0x7bff : 0x7f7f;
        int wrong = 0;
        for (uint16_t bits = 0; bits < largest; bits++) {
            const double below = load16(type, bits);
            const double above = load16(type, static_cast<uint16_t>(bits + 1));
            const double middle = below + (above - below) / 2;
            const auto next = static_cast<uint16_t>(bits + 1);
            wrong += store16(type, middle) != (bits % 2 == 0 ? bits : next);
            wrong += store16(type, std::nextafter(middle, 0.0)) != bits;
            wrong += store16(type, std::nextafter(middle, infinity)) != next;
            wrong += store16(type, -std::nextafter(middle, infinity)) != (next | 0x8000);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("probabilities round as elements do", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        const vkf::reference::ProbabilityRounding rounding(type);
        const auto agrees = [&](float p) {
            return static_cast<double>(rounding(p)) == vkf::reference::roundElement(type, static_cast<double>(p));
        };
        int wrong = 0;
        // Every exponent from 0 to 1. The mantissas include ties of both formats and their neighbours.
        for (uint32_t exponent = 0; exponent < 127; exponent++) {
            for (uint32_t high = 0; high < 1U << 12; high++) {
                for (const uint32_t low : {0U, 1U, 0x7ffU}) {
                    wrong += !agrees(std::bit_cast<float>(exponent << 23 | high << 11 | low));
                }
            }
        }
        CHECK(wrong == 0);
        CHECK(agrees(1.0F));
        CHECK(std::isnan(rounding(std::numeric_limits<float>::quiet_NaN())));
    }
}

TEST_CASE("finite numbers saturate and infinities stay", "[reference]") {
    CHECK(load16(VKF_TYPE_F16, store16(VKF_TYPE_F16, 65520.0)) == 65504.0);
    CHECK(load16(VKF_TYPE_F16, store16(VKF_TYPE_F16, -1e300)) == -65504.0);
    CHECK(load16(VKF_TYPE_F16, store16(VKF_TYPE_F16, infinity)) == infinity);
    CHECK(load16(VKF_TYPE_BF16, store16(VKF_TYPE_BF16, 1e300)) == 0x1.fep127);
    CHECK(load16(VKF_TYPE_BF16, store16(VKF_TYPE_BF16, -infinity)) == -infinity);
    CHECK(store16(VKF_TYPE_F16, -0x1p-25) == 0x8000); // a tie with zero, which is even
    CHECK(store16(VKF_TYPE_F16, 0x1.8p-25) == 0x0001);
    CHECK(store16(VKF_TYPE_F16, 1e-320) == 0x0000);
}

TEST_CASE("fp32 elements round once and other types are refused quietly", "[reference]") {
    float x[2] = {0.0F, 7.0F};
    vkfStoreElement(VKF_TYPE_F32, x, 0, 0.1);
    CHECK(x[0] == 0.1F);
    CHECK(x[1] == 7.0F);
    vkfStoreElement(VKF_TYPE_Q8_0, x, 0, 3.0);
    CHECK(x[0] == 0.1F);
    CHECK(std::isnan(vkfLoadElement(VKF_TYPE_BOOL8, x, 0)));
}

TEST_CASE("the online softmax gives one result however the keys are split", "[reference]") {
    constexpr uint32_t keys = 29;
    constexpr uint32_t dim = 3;
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal(0.0, 4.0);
    std::vector<double> s(keys);
    std::vector<double> v(keys * dim);
    for (double& x : s) {
        x = normal(random);
    }
    for (double& x : v) {
        x = normal(random);
    }
    s[4] = -infinity; // dropped: its value is not read
    v[4 * dim + 1] = std::numeric_limits<double>::quiet_NaN();
    State whole(dim);
    vkfOnlineSoftmaxUpdate(&whole.softmax, s.data(), keys, v.data(), dim);

    for (const uint32_t piece : {1U, 4U, 5U, 28U}) {
        State pieces(dim);
        for (uint32_t j = 0; j < keys; j += piece) {
            const uint32_t count = std::min(piece, keys - j);
            vkfOnlineSoftmaxUpdate(&pieces.softmax, &s[j], count, &v[size_t{j} * dim], dim);
        }
        CHECK(close(pieces, whole));
    }

    const auto part = [&](uint32_t begin, uint32_t end) {
        State state(dim);
        vkfOnlineSoftmaxUpdate(&state.softmax, &s[begin], end - begin, &v[size_t{begin} * dim], dim);
        return state;
    };
    const State a = part(0, 7);
    const State b = part(7, 20);
    const State c = part(20, keys);
    CHECK(close(merged(merged(a, b), c), whole));
    CHECK(close(merged(a, merged(b, c)), whole));
    CHECK(close(merged(c, merged(b, a)), whole));

    double largest = -infinity;
    for (const double x : s) {
        largest = std::max(largest, x);
    }
    double sum = 0.0;
    for (const double x : s) {
        sum += std::exp(x - largest);
    }
    CHECK(std::abs(vkfOnlineSoftmaxFinish(&whole.softmax) - (largest + std::log(sum))) < 1e-13);
}

TEST_CASE("update and compute alone are the softmax of pieces", "[reference]") {
    const double s[] = {2.0, -infinity, 1.0, 0.0, 3.0};
    VkfOnlineSoftmax state{};
    vkfOnlineSoftmaxReset(&state);
    for (const double& score : s) { // the last one moves the maximum
        vkfOnlineSoftmaxUpdate(&state, &score, 1, nullptr, 7);
    }
    const double l = std::exp(-1.0) + std::exp(-2.0) + std::exp(-3.0) + 1.0;
    CHECK(state.m == 3.0);
    CHECK(std::abs(state.l - l) < 1e-15);
    double p[5];
    vkfOnlineSoftmaxCompute(&state, s, 2, p);
    vkfOnlineSoftmaxCompute(&state, s + 2, 3, p + 2);
    const double expected[] = {std::exp(-1.0) / l, 0.0, std::exp(-2.0) / l, std::exp(-3.0) / l, 1.0 / l};
    for (size_t j = 0; j < 5; j++) {
        CHECK(std::abs(p[j] - expected[j]) < 1e-15);
    }
    double inPlace[] = {2.0, 3.0};
    CHECK(std::abs(vkfOnlineSoftmaxFinish(&state) - (3.0 + std::log(l))) < 1e-15);
    vkfOnlineSoftmaxCompute(&state, inPlace, 2, inPlace);
    CHECK(inPlace[0] == p[0]);
    CHECK(inPlace[1] == p[4]);

    vkfOnlineSoftmaxReset(&state);
    vkfOnlineSoftmaxCompute(&state, s, 5, p);
    for (const double weight : p) {
        CHECK(weight == 0.0);
    }
}

TEST_CASE("the empty state is neutral and gives an empty row", "[reference]") {
    const double s[] = {1.5, -2.0};
    const double v[] = {3.0, 4.0};
    State some(1);
    vkfOnlineSoftmaxUpdate(&some.softmax, s, 2, v, 1);
    const State empty(1);
    for (const State& state : {merged(some, empty), merged(empty, some)}) {
        CHECK(state.softmax.m == some.softmax.m);
        CHECK(state.softmax.l == some.softmax.l);
        CHECK(state.o[0] == some.o[0]);
    }
    State nothing = merged(empty, empty);
    const double dropped[] = {-infinity};
    const double poison[] = {std::numeric_limits<double>::quiet_NaN()};
    vkfOnlineSoftmaxUpdate(&nothing.softmax, dropped, 1, poison, 1);
    CHECK(vkfOnlineSoftmaxFinish(&nothing.softmax) == -infinity);
    CHECK(nothing.o[0] == 0.0);
}

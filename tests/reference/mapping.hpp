// SPDX-License-Identifier: MIT
//
// The tests of docs/mapping.md share this file. Each test holds a model of another interface: a small function in fp64,
// written from the documented meaning of its arguments, without vkflash. A section of a test is a row of a table. It
// changes an argument of the model, and spells the same change for vkflash. Both sides must then agree.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

namespace vkf::test::mapping {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Both sides compute in fp64 from the same fp32 inputs. Sums of fewer than 100 terms of size 1 differ by their order
// alone.
inline constexpr double fp64Bound = 1e-12;
// The reference rounds its default scale, and the model's tables of sines, to fp32. Scores are below 10.
inline constexpr double fp32Bound = 3e-6;

// The C interface counts in 32 bits.
inline uint32_t small(size_t number) { return static_cast<uint32_t>(number); }

// A tensor of another interface: fp32 numbers, four dimensions, strides in elements.
struct Strided {
    std::vector<float> values;
    std::array<size_t, 4> stride{};

    size_t index(size_t a, size_t b, size_t c, size_t d) const {
        return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
    }
    float& at(size_t a, size_t b, size_t c, size_t d) { return values[index(a, b, c, d)]; }
    double at(size_t a, size_t b, size_t c, size_t d) const { return values[index(a, b, c, d)]; }
};

class Random {
public:
    explicit Random(uint32_t seed) : random_(seed) {}

    size_t between(size_t least, size_t most) { return least + random_() % (most - least + 1); }
    bool coin() { return random_() % 2 == 0; }
    // In [-1, 1].
    float number() { return static_cast<float>(random_() % 20001) / 10000.0F - 1.0F; }
    std::vector<float> numbers(size_t count) {
        std::vector<float> values(count);
        std::generate(values.begin(), values.end(), [this] { return number(); });
        return values;
    }
    // A dense tensor of random numbers.
    Strided dense(size_t a, size_t b, size_t c, size_t d) { return {numbers(a * b * c * d), {b * c * d, c * d, d, 1}}; }
    // The numbers 0 to count - 1 in random order.
    std::vector<int32_t> shuffled(size_t count) {
        std::vector<int32_t> order(count);
        for (size_t i = 0; i < count; i++) {
            order[i] = static_cast<int32_t>(i);
            std::swap(order[i], order[random_() % (i + 1)]);
        }
        return order;
    }

private:
    std::mt19937_64 random_;
};

// One output row of a model.
struct Row {
    std::vector<double> o;
    double lse;
};

// Softmax over the keys whose score is not -infinity, and the sum of their values. value(j, d) is column d of key j.
// The sink is one more score, without a value.
template <typename Value>
Row attend(const std::vector<double>& scores, size_t columns, const Value& value, double sink = -infinity) {
    double m = sink;
    for (const double s : scores) {
        m = std::max(m, s);
    }
    if (m == -infinity) {
        return {std::vector<double>(columns, 0.0), -infinity};
    }
    double l = std::exp(sink - m);
    std::vector<double> o(columns, 0.0);
    for (size_t j = 0; j < scores.size(); j++) {
        if (scores[j] != -infinity) {
            const double p = std::exp(scores[j] - m);
            l += p;
            for (size_t d = 0; d < columns; d++) {
                o[d] += p * value(j, d);
            }
        }
    }
    for (double& x : o) {
        x /= l;
    }
    return {o, m + std::log(l)};
}

// o and lse, as vkfReferenceAttention writes them.
struct Outputs {
    std::vector<double> o;   // [batch, heads, rows, columns]
    std::vector<double> lse; // [batch, heads, rows]
};

// A call of vkflash. The arrays belong to the test.
struct Ours {
    VkfProblem problem = vkf::make<VkfProblem>();
    VkfReferenceInputs inputs = vkf::make<VkfReferenceInputs>();
};

inline Outputs compute(const Ours& call) {
    const VkfTensorLayout o = vkf::layoutOf(call.problem, VKF_TENSOR_O);
    const size_t rows = size_t{o.batch} * o.heads * o.rows;
    Outputs outputs{std::vector<double>(rows * o.dim), std::vector<double>(rows)};
    VkfMessage message{};
    const VkfResult result =
        vkfReferenceAttention(&call.problem, &call.inputs, nullptr, outputs.o.data(), outputs.lse.data(), &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return outputs;
}

// Empty if no element is further than `bound` from the expected one, relative to magnitudes over 1.
inline std::string difference(const std::vector<double>& ours, const std::vector<double>& theirs, double bound) {
    if (ours.size() != theirs.size()) {
        return std::to_string(ours.size()) + " elements, not " + std::to_string(theirs.size());
    }
    for (size_t i = 0; i < ours.size(); i++) {
        const bool same = ours[i] == theirs[i]; // infinities too
        if (!same && !(std::abs(ours[i] - theirs[i]) <= bound * std::max(1.0, std::abs(theirs[i])))) {
            return "element " + std::to_string(i) + " is " + std::to_string(ours[i]) + ", not " +
                   std::to_string(theirs[i]);
        }
    }
    return "";
}

inline void checkSame(const std::vector<double>& ours, const std::vector<double>& theirs, double bound) {
    const std::string text = difference(ours, theirs, bound);
    INFO(text);
    CHECK(text.empty());
}

} // namespace vkf::test::mapping

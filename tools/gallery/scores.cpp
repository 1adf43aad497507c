// SPDX-License-Identifier: MIT
//
// The scores of examples/functions in C++.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gallery/gallery.hpp"

namespace vkf::tools {
namespace {

using At = const VkfPosition*;
using Score = double (*)(double s, At at, void* user);
using Arrays = std::vector<ExampleArray>;

VkfReferenceFunctions formulas(Score score, Score derivative) {
    VkfReferenceFunctions functions{};
    functions.score = score;
    functions.scoreDerivative = derivative;
    return functions;
}

// Scores that add something to s.
VkfReferenceFunctions sum(Score score) {
    return formulas(score, [](double, At, void*) { return 1.0; });
}

int nodeOf(At at) { return std::clamp(at->row, 0, at->keys - 1); }

std::vector<Example> curves() {
    const auto none = [](ExampleGenerator&) { return Arrays{}; };
    return {
        {"scores/softcap.glsl",
         {{"CAP", "5.0"}},
         none,
         formulas([](double s, At, void* user) { return constant(user, 0) * std::tanh(s / constant(user, 0)); },
                  [](double s, At, void* user) { return 1.0 - std::pow(std::tanh(s / constant(user, 0)), 2.0); })},
        {"scores/softcap_polynomial.glsl",
         {{"CAP", "0.75"}},
         none,
         formulas(
             [](double s, At, void*) {
                 const double x = std::clamp(s / 0.75, -3.0, 3.0);
                 return 0.75 * (27.0 * x + x * x * x) / (27.0 + 9.0 * x * x);
             },
             [](double s, At, void*) {
                 const double x = std::clamp(s / 0.75, -3.0, 3.0);
                 return std::pow((x * x - 9.0) / (3.0 * (x * x + 3.0)), 2.0);
             })},
        {"scores/activation.glsl",
         {{"OFFSET", "0.1"}},
         none,
         formulas([](double s, At, void*) { return std::log(s > 0.0 ? s * s + 0.1 : 0.1); },
                  [](double s, At, void*) { return s > 0.0 ? 2.0 * s / (s * s + 0.1) : 0.0; })},
        {"scores/square.glsl",
         {},
         none,
         formulas([](double s, At, void*) { return s * s; }, [](double s, At, void*) { return 2.0 * s; })},
        {"scores/times_two.glsl",
         {},
         none,
         formulas([](double s, At, void*) { return 2.0 * s; }, [](double, At, void*) { return 2.0; })},
    };
}

std::vector<Example> distances() {
    const auto none = [](ExampleGenerator&) { return Arrays{}; };
    return {
        {"scores/alibi_signed.glsl", {{"HEADS", "4"}}, none, sum([](double s, At at, void* user) {
             return s + std::exp2(-8.0 * (at->head + 1) / number(user, 0)) * (at->key - at->row);
         })},
        {"scores/relative_bias.glsl",
         {{"FARTHEST", "60"}, {"HEADS", "4"}},
         [](ExampleGenerator& random) {
             return Arrays{{"bias", VKF_ELEMENT_F16, normalValues(random, size_t{121} * gallery::heads)}};
         },
         sum([](double s, At at, void* user) {
             const int distance = at->key - at->row;
             return std::abs(distance) <= 60 ? s + read(user, 0, (distance + 60) * gallery::heads + at->head) : s;
         })},
        {"scores/clamped_relative_bias.glsl",
         {{"FARTHEST", "13"}, {"HEADS", "4"}},
         [](ExampleGenerator& random) {
             return Arrays{{"bias", VKF_ELEMENT_BF16, normalValues(random, size_t{27} * gallery::heads)}};
         },
         sum([](double s, At at, void* user) {
             return s + read(user, 0, (std::clamp(at->key - at->row, -13, 13) + 13) * gallery::heads + at->head);
         })},
        {"scores/sandwich.glsl", {{"HEADS", "4"}, {"DIM", "8"}}, none, sum([](double s, At at, void*) {
             double cosines = 0.0;
             for (int t = 0; t < 4; t++)
                 cosines += std::cos(std::abs(at->row - at->key) * std::pow(10000.0, -t / 4.0));
             return s + cosines * 0.5 / (at->head + 1);
         })},
    };
}

std::vector<Example> tables() {
    return {
        {"scores/graphormer_spatial.glsl",
         {{"NODES", "131"}, {"DISTANCES", "6"}},
         [](ExampleGenerator& random) {
             return Arrays{{"hops", VKF_ELEMENT_U8, wholeValues(random, size_t{3} * 131 * 131, 0, 9)},
                           {"bias", VKF_ELEMENT_F32, normalValues(random, size_t{6} * gallery::heads)}};
         },
         sum([](double s, At at, void* user) {
             const int64_t hops = readInt(user, 0, (at->batch * 131 + nodeOf(at)) * 131 + at->key);
             return s + read(user, 1, int64_t{at->head} * 6 + std::min<int64_t>(hops, 5));
         })},
        {"scores/graphormer_edge.glsl",
         {{"NODES", "131"}, {"PATH", "2"}, {"TYPES", "5"}},
         [](ExampleGenerator& random) {
             return Arrays{{"edge", VKF_ELEMENT_I32, wholeValues(random, size_t{3} * 131 * 131 * 2, -1, 4)},
                           {"weight", VKF_ELEMENT_F16, normalValues(random, size_t{10} * gallery::heads)}};
         },
         sum([](double s, At at, void* user) {
             const int path = ((at->batch * 131 + nodeOf(at)) * 131 + at->key) * 2;
             const int64_t first = readInt(user, 0, path);
             const int64_t second = readInt(user, 0, path + 1);
             if (first < 0)
                 return s;
             const double one = read(user, 1, int64_t{at->head} * 10 + first);
             return second < 0 ? s + one : s + (one + read(user, 1, int64_t{at->head} * 10 + 5 + second)) / 2;
         })},
        {"scores/batch_bias.glsl",
         {},
         [](ExampleGenerator& random) {
             return Arrays{{"batchBias", VKF_ELEMENT_F32, normalValues(random, gallery::batch)}};
         },
         sum([](double s, At at, void* user) { return s + read(user, 0, at->batch); })},
        {"scores/head_bias.glsl",
         {},
         [](ExampleGenerator& random) {
             return Arrays{{"headBias", VKF_ELEMENT_BF16, normalValues(random, gallery::heads)}};
         },
         sum([](double s, At at, void* user) { return s + read(user, 0, at->head); })},
        {"scores/two_arrays.glsl",
         {},
         [](ExampleGenerator& random) {
             return Arrays{{"headBias", VKF_ELEMENT_F16, normalValues(random, gallery::heads)},
                           {"keyBias", VKF_ELEMENT_F32, normalValues(random, gallery::keys)}};
         },
         sum([](double s, At at, void* user) { return s + read(user, 0, at->head) + read(user, 1, at->key); })},
        {"scores/mla_rope.glsl",
         {{"HEADS", "4"}, {"ROWS", "150"}, {"KEYS", "131"}, {"ROPE", "6"}, {"SCALE", "0.4"}},
         [](ExampleGenerator& random) {
             return Arrays{{"qRope", VKF_ELEMENT_F16, normalValues(random, size_t{3} * 4 * 150 * 6)},
                           {"kRope", VKF_ELEMENT_F16, normalValues(random, size_t{3} * 131 * 6)}};
         },
         sum([](double s, At at, void* user) {
             const int row = std::clamp(at->row + at->rows - at->keys, 0, at->rows - 1);
             double product = 0.0;
             for (int d = 0; d < 6; d++) {
                 product += read(user, 0, ((at->batch * 4 + at->head) * 150 + row) * 6 + d) *
                            read(user, 1, (at->batch * 131 + at->key) * 6 + d);
             }
             return s + 0.4 * product;
         })},
    };
}

// The parts of stress.glsl.
double stressFactor(At at) { return (at->row & at->key & 1) == 0 ? 1.0 : 0.5; }

double stressShifted(double s, At at, void* user) {
    const double own = stressFactor(at) * s;
    if (at->head % 3 != 0)
        return own + read(user, 1, at->head);
    return at->key > at->row ? own - read(user, 2, at->key) : own;
}

Example stress() {
    Example example{"scores/stress.glsl", {}, [](ExampleGenerator& random) {
                        return Arrays{{"pattern", VKF_ELEMENT_U8, wholeValues(random, 16, 0, 1)},
                                      {"headBias", VKF_ELEMENT_F32, normalValues(random, gallery::heads)},
                                      {"keyBias", VKF_ELEMENT_BF16, normalValues(random, gallery::keys)},
                                      {"group", VKF_ELEMENT_I32, wholeValues(random, gallery::keys, -4, 4)}};
                    }};
    example.formulas = formulas(
        [](double s, At at, void* user) {
            const double x = stressShifted(s, at, user);
            return x > 2.0 ? x - 0.1 * (x - 2.0) * (x - 2.0) : x;
        },
        [](double s, At at, void* user) {
            const double x = stressShifted(s, at, user);
            return stressFactor(at) * (x > 2.0 ? 1.0 - 0.2 * (x - 2.0) : 1.0);
        });
    example.formulas.keep = [](At at, void* user) -> int32_t {
        const bool isInside = at->row >= 0 && at->row < at->keys;
        const bool isOwn = isInside && read(user, 3, at->row) == read(user, 3, at->key);
        return isOwn || (read(user, 0, (at->row ^ at->key) & 15) != 0 && at->kvHead % 2 == at->batch % 2);
    };
    return example;
}

} // namespace

std::vector<Example> exampleScores() {
    std::vector<Example> all;
    for (const std::vector<Example>& some : {curves(), distances(), tables(), std::vector{stress()}})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

} // namespace vkf::tools

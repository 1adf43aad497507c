// SPDX-License-Identifier: MIT
//
// The head dimensions of models, with q and o in fp32 as ggml has them, beside every type of k and v. Each problem goes
// to the automatic path and to the paths of matrices that take it.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Outcome;
using vkf::test::problemOf;

struct Dims {
    uint32_t headDim, valueDim;
};
constexpr std::array<Dims, 11> narrow = {{{40, 40},
                                          {64, 64},
                                          {65, 65},
                                          {67, 67},
                                          {72, 72},
                                          {80, 80},
                                          {96, 96},
                                          {128, 128},
                                          {192, 192},
                                          {192, 128},
                                          {256, 256}}};
constexpr std::array<Dims, 4> wide = {{{320, 320}, {320, 256}, {512, 512}, {576, 512}}};

constexpr std::array types = {VKF_TYPE_F16,    VKF_TYPE_BF16,    VKF_TYPE_F32,    VKF_TYPE_Q8_0,
                              VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,   VKF_TYPE_Q5_1,
                              VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};

// q and o in fp32, 8 query heads on 2, a mask that is added to the scores, and sinks.
VkfProblem problemFor(const Dims& dims, VkfType type, uint32_t rows) {
    VkfProblem problem = problemOf({1, 8, 2, rows, 113, dims.headDim, dims.valueDim, VKF_TYPE_F32});
    problem.k.type = problem.v.type = type;
    problem.bias = vkf::test::broadcast(problem, VKF_TYPE_F16, false, false, true, 1);
    vkf::enable(problem, VKF_USE_BIAS);
    vkf::enable(problem, VKF_USE_SINKS);
    return problem;
}

bool exists(const Dims& dims, VkfType type) {
    const uint32_t block = vkfBlockElements(type);
    return dims.headDim % block == 0 && dims.valueDim % block == 0;
}

void check(const VkfProblem& problem) {
    INFO(vkfPathName(problem.path) << ' ' << vkf::test::describe(problem) << ", q in f32");
    const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

struct Case {
    Dims dims;
    VkfType type;
    uint32_t rows;
};

template <size_t count, size_t rowCounts>
std::vector<Case> casesOf(const std::array<Dims, count>& all, const std::array<uint32_t, rowCounts>& rows) {
    std::vector<Case> cases;
    for (const Dims& dims : all) {
        for (const VkfType type : types) {
            for (const uint32_t number : rows) {
                if (exists(dims, type)) {
                    cases.push_back({dims, type, number});
                }
            }
        }
    }
    return cases;
}

constexpr std::array<uint32_t, 2> fewAndMany = {3, 75};

} // namespace

TEST_CASE("the head dimensions of models beside every type of k and v, on the automatic path", "[head_dims]") {
    for (const Case& c : vkf::test::eachNth(casesOf(narrow, fewAndMany), 19)) {
        check(problemFor(c.dims, c.type, c.rows));
    }
}

TEST_CASE("the head dimensions of models beside every type of k and v, on matrices", "[head_dims]") {
    vkf::host::Device& device = vkf::test::testDevice();
    vkf::test::needStorage16(device, "path coopmat");
    for (const Case& c : vkf::test::eachNth(casesOf(narrow, fewAndMany), 19, 1)) {
        VkfProblem problem = problemFor(c.dims, c.type, c.rows);
        problem.path = VKF_PATH_COOPMAT;
        const VkfResult supported = vkfCheckSupport(device.context(), &problem, nullptr);
        INFO(vkf::test::describe(problem));
        CHECK((supported == VKF_SUCCESS || c.type == VKF_TYPE_F32 || c.type == VKF_TYPE_BF16));
        if (supported == VKF_SUCCESS) {
            check(problem);
        }
    }
}

TEST_CASE("wide head dimensions beside every type of k and v, with few rows and many", "[head_dims]") {
    constexpr std::array<uint32_t, 3> rowCounts = {1, 5, 75};
    for (const Case& c : vkf::test::eachNth(casesOf(wide, rowCounts), 19)) {
        check(problemFor(c.dims, c.type, c.rows));
    }
    check(problemFor({576, 512}, VKF_TYPE_Q8_0, vkf::test::wholeSweeps() ? 512 : 33));
}

// q has fewer slices than the tile wants to move to shared memory for v.
TEST_CASE("a head dimension far below that of v, on matrices", "[head_dims]") {
    vkf::test::needStorage16(vkf::test::testDevice(), "path coopmat");
    VkfProblem problem = problemOf({1, 2, 1, 75, 113, 8, 192, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    check(problem);
}

// SPDX-License-Identifier: MIT
//
// Path decode on matrices that have two columns of v of each key: up to half as many packed rows as a matrix has
// columns, and at least 128 columns of v.
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::problemOf;
using vkf::test::Shape;

constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Case {
    Shape shape;
    VkfType keyType = VKF_TYPE_F16;
    VkfType valueType = VKF_TYPE_F16;
    uint32_t splits = 0;
    bool causal = false;
    uint32_t pageSize = 0;
};

const std::vector<Case> cases = {
    Case{{2, 2, 1, 1, 1, 128}},
    Case{{1, 4, 1, 1, 37, 128}, VKF_TYPE_F16, VKF_TYPE_F16, 1},
    Case{{1, 2, 1, 2, 200, 128}, VKF_TYPE_F16, VKF_TYPE_F16, 3, true},
    Case{{1, 3, 1, 1, 64, 64, 136}, VKF_TYPE_F16, VKF_TYPE_F16, 1},
    Case{{1, 2, 1, 1, 100, 72, 248}, VKF_TYPE_F16, VKF_TYPE_F16, 1},
    Case{{1, 4, 2, 2, 130, 129}, VKF_TYPE_F16, VKF_TYPE_F16, 2},
    Case{{1, 4, 1, 1, 150, 128}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0, 1},
    Case{{1, 4, 1, 1, 150, 128}, VKF_TYPE_Q4_0, VKF_TYPE_Q5_1, 2, true},
    Case{{2, 1, 1, 3, 90, 64, 128}, VKF_TYPE_Q5_0, VKF_TYPE_IQ4_NL, 1, true},
    Case{{1, 4, 1, 1, 70, 128, 192}, VKF_TYPE_F16, VKF_TYPE_Q4_1, 1},
    Case{{1, 2, 1, 2, 150, 128, 256}, VKF_TYPE_Q8_0, VKF_TYPE_F16, 1},
    Case{{2, 4, 2, 2, 150, 128}, VKF_TYPE_F16, VKF_TYPE_Q8_0, 2, true, 16},
};

VkfProblem problemOf(const Case& c) {
    VkfProblem problem = problemOf(c.shape);
    problem.q.type = VKF_TYPE_F16;
    problem.k.type = c.keyType;
    problem.v.type = c.valueType;
    vkf::enable(problem, VKF_USE_CAUSAL, c.causal);
    problem.kvSplits = c.splits;
    vkf::enable(problem, VKF_USE_LSE);
    if (c.pageSize != 0) {
        vkf::test::setPages(problem, c.pageSize, 3);
    }
    apply(vkf::test::variations[6], problem);
    return problem;
}

void check(const VkfProblem& problem, const Data& data) {
    INFO(vkf::test::describe(problem));
    const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(vkf::test::variations[6]), problem, data);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// A problem whose keys are visible to all rows, so that path decode has full tiles of them.
VkfProblem fullTiles(VkfType type) {
    VkfProblem problem = problemOf(Case{{1, 4, 1, 1, 160, 128}, type, type, 1});
    problem.q.type = type;
    return problem;
}

} // namespace

TEST_CASE("matrices with two columns of each key agree with the reference", "[decode_columns]") {
    for (const Case& c : vkf::test::eachNth(cases, 2, 1)) {
        check(problemOf(c), {});
    }
}

TEST_CASE("an infinite value or a NaN reaches its own column, not its neighbour", "[decode_columns]") {
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        const VkfProblem problem = fullTiles(type);
        if (!vkf::test::takes(vkf::test::variations[6], problem)) {
            continue;
        }
        for (const double value : {infinity, -infinity, quietNaN}) {
            Data data;
            data.edit = [&](std::vector<std::byte>&, std::vector<std::byte>&, std::vector<std::byte>& v) {
                for (const uint64_t place : {3U * 128 + 4, 70U * 128 + 11, 159U * 128 + 127}) {
                    vkfStoreElement(type, v.data(), place, value);
                }
            };
            check(problem, data);
        }
    }
}

TEST_CASE("infinite values of both signs in a column are NaN, and its neighbours are right", "[decode_columns]") {
    Data data;
    data.edit = [](std::vector<std::byte>&, std::vector<std::byte>&, std::vector<std::byte>& v) {
        vkfStoreElement(VKF_TYPE_F16, v.data(), 5 * 128 + 20, infinity);
        vkfStoreElement(VKF_TYPE_F16, v.data(), 90 * 128 + 20, -infinity);
    };
    check(fullTiles(VKF_TYPE_F16), data);
}

TEST_CASE("a query that is NaN spoils its own row", "[decode_columns]") {
    Data data;
    data.edit = [](std::vector<std::byte>& q, std::vector<std::byte>&, std::vector<std::byte>&) {
        vkfStoreElement(VKF_TYPE_F16, q.data(), 2 * 128 + 7, quietNaN);
    };
    check(fullTiles(VKF_TYPE_F16), data);
}

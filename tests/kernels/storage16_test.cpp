// SPDX-License-Identifier: MIT
//
// 16-bit tensors on a device without 16-bit storage: rows that are whole words of four elements.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

#include "support/call.hpp"
#include "support/device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::Data;
using vkf::test::problemOf;
using vkf::test::runCall;

vkf::host::Device deviceWithout16BitStorage() {
    vkf::host::DeviceOptions options;
    options.withoutFeatures = VKF_FEATURE_STORAGE_16BIT;
    return vkf::test::openTestDevice(options);
}

} // namespace

TEST_CASE("16-bit rows that are whole words need no 16-bit storage", "[storage16][slice]") {
    vkf::host::Device device = deviceWithout16BitStorage();
    const auto check = [&](VkfProblem problem, const Data& data = {}) {
        INFO(vkf::test::describe(problem));
        const vkf::test::Outcome outcome = runCall(device, problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK(outcome.plan.inputAlignment == 8);
    };
    VkfProblem problem = problemOf({2, 4, 2, 37, 70, 64, 0, VKF_TYPE_F16});
    problem.causal = 1;
    check(problem);

    // Tensors of three types, rows outermost, with gaps and a D that fills no tile.
    problem = problemOf({2, 4, 2, 37, 70, 40, 24, VKF_TYPE_BF16});
    problem.k.type = VKF_TYPE_F16;
    problem.v.type = VKF_TYPE_F32;
    problem.q = vkf::rowsFirst(VKF_TYPE_BF16, 37, 4, 44);
    problem.o = vkf::rowsFirst(VKF_TYPE_BF16, 37, 4, 28);
    vkf::enable(problem, VKF_ARRAY_PROBABILITIES);
    check(problem);

    problem = problemOf({1, 2, 2, 33, 50, 32, 0, VKF_TYPE_F16});
    vkf::test::setPages(problem, 16, 3);
    check(problem);

    problem = problemOf({1, 2, 2, 33, 50, 32, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_KEY_OUTER;
    check(problem);
}

TEST_CASE("without 16-bit storage, other 16-bit addresses are refused in words", "[storage16][slice]") {
    vkf::host::Device device = deviceWithout16BitStorage();
    VkfProblem problem = problemOf({1, 1, 1, 8, 8, 64, 0, VKF_TYPE_F16});
    Data data;
    data.oOffset = 2; // elements
    std::string refusal;
    try {
        runCall(device, problem, data);
    } catch (const vkf::host::Error& error) {
        refusal = error.what();
    }
    CHECK_THAT(refusal, ContainsSubstring("the address of o") && ContainsSubstring("is not aligned to 8 bytes"));
    problem.o.type = VKF_TYPE_F32;
    CHECK(runCall(device, problem, data).passed());
}

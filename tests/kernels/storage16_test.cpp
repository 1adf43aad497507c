// SPDX-License-Identifier: MIT
//
// 16-bit tensors on a device without 16-bit storage: rows that are whole words of four elements.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "kernels/append_runs.hpp"
#include "reference/backward_cases.hpp"
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

// A device without 16-bit storage takes fp32, and refuses other types with these words.
template <typename Check> void checkRefused(const char* words, const Check& check) {
    VkfMessage message{};
    CHECK(check(VKF_TYPE_F32, &message) == VKF_SUCCESS);
    CHECK(check(VKF_TYPE_BF16, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == words);
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
    problem.use |= VKF_USE_CAUSAL;
    check(problem);
    Data infinite;
    infinite.edit = [](auto&, auto&, std::vector<std::byte>& v) {
        vkfStoreElement(VKF_TYPE_F16, v.data(), 3 * 64 + 5, std::numeric_limits<double>::infinity());
        vkfStoreElement(VKF_TYPE_F16, v.data(), 4 * 64 + 6, -std::numeric_limits<double>::infinity());
    };
    check(problem, infinite);

    // Tensors of three types, rows outermost, with gaps and a D that fills no tile.
    problem = problemOf({2, 4, 2, 37, 70, 40, 24, VKF_TYPE_BF16});
    problem.k.type = VKF_TYPE_F16;
    problem.v.type = VKF_TYPE_F32;
    problem.q = vkf::rowsFirst(VKF_TYPE_BF16, 37, 4, 44);
    problem.o = vkf::rowsFirst(VKF_TYPE_BF16, 37, 4, 28);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
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
    constexpr uint64_t offset = 2; // elements
    std::string refusal;
    try {
        runCall(device, problem, vkf::test::makeInputs(problem, {}), offset);
    } catch (const vkf::host::Error& error) {
        refusal = error.what();
    }
    CHECK_THAT(refusal, ContainsSubstring("the address of o") && ContainsSubstring("is not aligned to 8 bytes"));
    problem.o.type = VKF_TYPE_F32;
    CHECK(runCall(device, problem, vkf::test::makeInputs(problem, {}), offset).passed());
}

TEST_CASE("without 16-bit storage, backward passes, merges and appends of 16-bit tensors are refused in words",
          "[storage16][slice]") {
    const vkf::host::Device device = deviceWithout16BitStorage();
    checkRefused("tensors of other types than f32 need storageBuffer16BitAccess (VKF_FEATURE_STORAGE_16BIT), which the "
                 "device or the context lacks",
                 [&](VkfType type, VkfMessage* message) {
                     VkfProblem forward = problemOf({1, 1, 1, 8, 8, 16});
                     forward.v.type = type;
                     const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
                     return vkfCheckBackwardSupport(device.context(), &problem, message);
                 });
    checkRefused("f16 and bf16 tensors need storageBuffer16BitAccess (VKF_FEATURE_STORAGE_16BIT), which the device or "
                 "the context lacks",
                 [&](VkfType type, VkfMessage* message) {
                     auto problem = vkf::make<VkfMergeProblem>();
                     problem.partials = problem.batch = problem.heads = problem.rows = problem.dim = 2;
                     problem.o.type = type;
                     vkf::Merge merge;
                     return vkfCreateMerge(device.context(), &problem, merge.put(), message);
                 });
    checkRefused("types other than f32 need storageBuffer16BitAccess (VKF_FEATURE_STORAGE_16BIT), which the device or "
                 "the context lacks",
                 [&](VkfType type, VkfMessage* message) {
                     VkfAppendProblem problem = vkf::test::appendOf({.rows = 2, .keys = 8, .headDim = 16});
                     problem.v.type = type;
                     vkf::Append append;
                     return vkfCreateAppend(device.context(), &problem, append.put(), message);
                 });
}

// SPDX-License-Identifier: MIT
//
// Element layouts of cooperative matrices on a device: measured ones are those of the library's table and give right
// results, and wrong ones are refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "device/application_layouts.hpp"
#include "device/caps.hpp"
#include "support/call.hpp"
#include "support/device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using namespace vkf;
using test::testDevice;

// Skips the test where kernels can use no measured layout.
std::vector<VkfMatrixLayout> measuredLayouts() {
    std::vector<VkfMatrixLayout> layouts = testDevice().measureMatrixLayouts();
    if (layouts.empty()) {
        SKIP("this device has no matrices whose layout kernels can use");
    }
    return layouts;
}

Caps capsOf(const host::Device& device) {
    Caps caps;
    VkfMessage message{};
    const VkfResult result = readCaps(test::queryOf(device), &caps, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return caps;
}

host::Error refusalOf(const VkfMatrixLayout& layout) {
    try {
        testDevice().testMatrixLayout(layout);
    } catch (const host::Error& error) {
        return error;
    }
    FAIL("a wrong layout was accepted");
    throw; // FAIL has thrown
}

// All bits of an element layout that numbers have, of elements first.
std::vector<VkfMatrixPosition*> bitsOf(VkfElementLayout& layout) {
    std::vector<VkfMatrixPosition*> bits;
    for (auto* list : {&layout.elementBits, &layout.laneBits}) {
        for (VkfMatrixPosition& position : *list) {
            if (position.row + position.column != 0) {
                bits.push_back(&position);
            }
        }
    }
    return bits;
}

} // namespace

TEST_CASE("measured element layouts are those of the table", "[host]") {
    const Caps table = capsOf(testDevice());
    const std::vector<VkfMatrixLayout> measured = testDevice().measureMatrixLayouts();
    Caps given = table;
    VkfMessage message{};
    const VkfResult result = useMatrixLayouts(measured, &given, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    size_t compared = 0;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        INFO(vkfTypeName(type));
        auto info = make<VkfMatrixInfo>();
        if (vkfGetMatrixInfo(testDevice().context(), type, &info, nullptr) != VKF_SUCCESS ||
            table.matrixUse(type).known.rows == 0) {
            continue;
        }
        CHECK(given.matrixUse(type).fromApplication);
        CHECK(given.matrixUse(type).known == table.matrixUse(type).known);
        compared++;
    }
    if (compared == 0) {
        SKIP("the table has no layout for this device");
    }
}

TEST_CASE("a context with measured layouts keeps scores in registers and computes right", "[host]") {
    measuredLayouts();
    host::DeviceOptions options;
    options.layoutSource = host::LayoutSource::measured;
    host::Device device = test::openTestDevice(options);
    REQUIRE_FALSE(device.matrixLayouts().empty());
    CHECK(device.bytesInUse() == 0);
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        auto info = make<VkfMatrixInfo>();
        if (vkfGetMatrixInfo(device.context(), type, &info, nullptr) != VKF_SUCCESS ||
            info.layoutFromApplication == 0) {
            continue;
        }
        CHECK(info.layoutKnown == 1);
        VkfProblem problem = test::problemOf({1, 2, 1, 70, 100, 64, 0, type});
        problem.path = VKF_PATH_COOPMAT;
        problem.use |= VKF_USE_CAUSAL;
        const test::Outcome outcome = test::runCall(device, problem);
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK_THAT(std::string(outcome.plan.description), !ContainsSubstring("through shared memory"));
    }
}

TEST_CASE("the quirk and the built-in source keep a device from measuring", "[host]") {
    test::skipWithoutDevice();
    host::DeviceOptions options;
    options.layoutSource = host::LayoutSource::builtIn;
    CHECK(test::openTestDevice(options).matrixLayouts().empty());
    options.layoutSource = host::LayoutSource::measured;
    options.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    CHECK(test::openTestDevice(options).matrixLayouts().empty());
}

TEST_CASE("a right operand with two bits exchanged is refused by a product", "[host]") {
    for (const VkfMatrixLayout& right : measuredLayouts()) {
        testDevice().testMatrixLayout(right);
        VkfMatrixLayout wrong = right;
        const std::vector<VkfMatrixPosition*> bits = bitsOf(wrong.right);
        for (size_t i = 0; i < bits.size(); i++) {
            for (size_t j = i + 1; j < bits.size(); j++) {
                std::swap(*bits[i], *bits[j]);
                CHECK(vkfCheckMatrixLayout(&wrong, nullptr) == VKF_SUCCESS);
                const host::Error error = refusalOf(wrong);
                CHECK(error.result() == VKF_ERROR_INVALID_ARGUMENT);
                CHECK_THAT(error.what(),
                           ContainsSubstring("is not that of this device: right: a known product is wrong"));
                std::swap(*bits[i], *bits[j]);
            }
        }
    }
}

TEST_CASE("results and left operands with two lanes exchanged are refused by a product", "[host]") {
    for (const VkfMatrixLayout& right : measuredLayouts()) {
        for (uint32_t bit = 1; 1U << bit < right.lanes; bit++) {
            VkfMatrixLayout wrong = right;
            std::swap(wrong.result.laneBits[0], wrong.result.laneBits[bit]);
            std::swap(wrong.left.laneBits[0], wrong.left.laneBits[bit]);
            REQUIRE(vkfCheckMatrixLayout(&wrong, nullptr) == VKF_SUCCESS);
            const host::Error error = refusalOf(wrong);
            CHECK(error.result() == VKF_ERROR_INVALID_ARGUMENT);
            CHECK_THAT(error.what(), ContainsSubstring("result: a known product is wrong"));
        }
    }
}

TEST_CASE("layouts that no device can have are refused before they reach the device", "[host]") {
    VkfMatrixLayout wrong = measuredLayouts().front();
    wrong.left.laneBits[0] = wrong.left.laneBits[1];
    CHECK(refusalOf(wrong).result() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(refusalOf(wrong).what(), ContainsSubstring("left: not a permutation"));

    auto info = test::contextInfo(testDevice());
    info.matrixLayouts = &wrong;
    info.matrixLayoutCount = 1;
    VkfContext context = nullptr;
    VkfMessage message{};
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("matrixLayouts[0]: left: not a permutation"));
    info.matrixLayouts = nullptr;
    CHECK(vkfCreateContext(&info, &context, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("matrixLayouts is null, but matrixLayoutCount is 1"));
    CHECK(context == nullptr);

    wrong = measuredLayouts().front();
    wrong.lanes /= 2;
    CHECK(refusalOf(wrong).result() != VKF_SUCCESS);
}

TEST_CASE("a context takes layouts of an application", "[host]") {
    const std::vector<VkfMatrixLayout> layouts = measuredLayouts();
    auto info = test::contextInfo(testDevice());
    info.matrixLayouts = layouts.data();
    info.matrixLayoutCount = layouts.size();
    const auto matrixOf = [&] {
        Context context;
        VkfMessage message{};
        const VkfResult result = vkfCreateContext(&info, context.put(), &message);
        INFO(message.text);
        REQUIRE(result == VKF_SUCCESS);
        auto matrix = make<VkfMatrixInfo>();
        REQUIRE(vkfGetMatrixInfo(context.get(), layouts.front().type, &matrix, nullptr) == VKF_SUCCESS);
        return matrix;
    };
    CHECK(matrixOf().layoutFromApplication == 1);
    CHECK(matrixOf().layoutKnown == 1);
    info.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    CHECK(matrixOf().layoutFromApplication == 0);
    CHECK(matrixOf().layoutKnown == 0);
}

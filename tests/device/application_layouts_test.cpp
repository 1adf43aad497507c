// SPDX-License-Identifier: MIT
//
// Element layouts that an application gives, without a device: which are refused, and what the library makes of the
// others.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "device/application_layouts.hpp"
#include "device/caps.hpp"
#include "support/described_device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::applicationLayout;
using vkf::test::smallLayout;

const vkf::MatrixLayout nvidia = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
const vkf::MatrixLayout llvmpipe = vkf::knownMatrixLayout(VK_DRIVER_ID_MESA_LLVMPIPE, 8, 8, 8);

// A driver that the table does not know, with the shapes of an H200.
vkf::Caps unknownDriver() {
    vkf::Caps caps = vkf::test::matrixCaps();
    caps.f16Matrix.known = {};
    caps.f16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
    caps.matrixShapes = {{VKF_TYPE_F16, 16, 16, 16}, {VKF_TYPE_F16, 16, 8, 16}, {VKF_TYPE_F16, 16, 8, 8}};
    return caps;
}

VkfResult use(const std::vector<VkfMatrixLayout>& given, vkf::Caps* caps, std::string* words = nullptr) {
    VkfMessage message{};
    const VkfResult result = vkf::useMatrixLayouts(given, caps, &message);
    if (words != nullptr) {
        *words = message.text;
    }
    return result;
}

struct Change {
    const char* words; // of the message
    VkfResult result;
    std::function<void(VkfMatrixLayout&)> change;
};

} // namespace

TEST_CASE("element layouts of the table are accepted and come back as they are", "[planning]") {
    for (const vkf::MatrixLayout& known : {nvidia, llvmpipe}) {
        const VkfMatrixLayout given = applicationLayout(VKF_TYPE_F16, known);
        VkfMessage message{};
        vkf::MatrixLayout read;
        const VkfResult result = vkf::readMatrixLayout(given, &read, &message);
        INFO(message.text);
        CHECK(result == VKF_SUCCESS);
        CHECK(vkfCheckMatrixLayout(&given, nullptr) == VKF_SUCCESS);
        vkf::MatrixLayout expected = known;
        expected.smallShapeColumns = 0; // a shape of its own
        CHECK(read == expected);
    }
}

TEST_CASE("element layouts that no device can have are refused by matrix and element", "[planning]") {
    using Layout = VkfMatrixLayout;
    constexpr VkfResult invalid = VKF_ERROR_INVALID_ARGUMENT;
    const Change changes[] = {
        {"type is 0", invalid, [](Layout& l) { l.type = VKF_TYPE_F32; }},
        {"type is 77", invalid, [](Layout& l) { l.type = static_cast<VkfType>(77); }},
        {"a product of 16x0x16 in 32 lanes does not exist", invalid, [](Layout& l) { l.columns = 0; }},
        {"a product of 16x16x16 in 0 lanes", invalid, [](Layout& l) { l.lanes = 0; }},
        {"reserved must be 0", invalid, [](Layout& l) { l.reserved[2] = 1; }},
        // Truncated.
        {"result: not a permutation: element 0 of lane 0 and element 4 of lane 0 are both at row 0, column 0", invalid,
         [](Layout& l) {
             l.result.elementBits[2] = {0, 0};
         }},
        {"left: not a permutation: element 0 of lane 0 and element 0 of lane 16 are both at row 0", invalid,
         [](Layout& l) {
             l.left.laneBits[4] = {0, 0};
         }},
        {"result: not a permutation", invalid, [](Layout& l) { l.result = {}; }},
        // Too long.
        {"right: elementBits[3] is not 0, but there are 8 elements in an invocation", invalid,
         [](Layout& l) {
             l.right.elementBits[3] = {0, 1};
         }},
        {"left: laneBits[7] is not 0, but there are 32 lanes", invalid,
         [](Layout& l) {
             l.left.laneBits[7] = {8, 0};
         }},
        // Two bits for one position, and a position outside.
        {"right: not a permutation: element 1 of lane 0 and element 0 of lane 1", invalid,
         [](Layout& l) { l.right.laneBits[0] = l.right.elementBits[0]; }},
        {"left: element 1 of lane 0 is at row 0, column 16, outside of a matrix of 16x16", invalid,
         [](Layout& l) {
             l.left.elementBits[0] = {0, 16};
         }},
        {"result: element 0 of lane 1 is at row 65535", invalid,
         [](Layout& l) {
             l.result.laneBits[0] = {65535, 65535};
         }},
    };
    for (const Change& one : changes) {
        INFO(one.words);
        VkfMatrixLayout given = applicationLayout(VKF_TYPE_F16, nvidia);
        one.change(given);
        VkfMessage message{};
        CHECK(vkfCheckMatrixLayout(&given, &message) == one.result);
        CHECK_THAT(std::string(message.text), ContainsSubstring(one.words));
        // A context refuses it too, and keeps nothing of it.
        vkf::Caps caps = unknownDriver();
        std::string words;
        CHECK(use({applicationLayout(VKF_TYPE_F16, nvidia), given}, &caps, &words) == invalid);
        CHECK_THAT(words, ContainsSubstring("matrixLayouts[1]: ") && ContainsSubstring(one.words));
        CHECK(caps.f16Matrix.known.rows == 0);
        CHECK_FALSE(caps.f16Matrix.fromApplication);
    }
    VkfMessage message{};
    CHECK(vkfCheckMatrixLayout(nullptr, &message) == invalid);
    CHECK_THAT(std::string(message.text), ContainsSubstring("layout is null"));
}

TEST_CASE("scores pass through shared memory in layouts of another form", "[planning]") {
    using Layout = VkfMatrixLayout;
    constexpr VkfResult unsupported = VKF_ERROR_UNSUPPORTED;
    const Change changes[] = {
        {"kernels cannot use matrices of 32x16x16 in 32 lanes", unsupported, [](Layout& l) { l.rows = 32; }},
        {"kernels cannot use matrices of 16x16x16 in 128 lanes", unsupported, [](Layout& l) { l.lanes = 128; }},
        {"left: kernels need left operands that are laid out like results", unsupported,
         [](Layout& l) { std::swap(l.left.laneBits[0], l.left.laneBits[2]); }},
        {"result: kernels need low bits of the element that choose a column, in rising order", unsupported,
         [](Layout& l) {
             std::swap(l.result.elementBits[0], l.result.elementBits[1]);
             l.left = l.result;
         }},
        {"result: kernels need low bits of the element that choose a column", unsupported,
         [](Layout& l) {
             std::swap(l.result.elementBits[1], l.result.elementBits[2]);
             l.left = l.result;
         }},
    };
    for (const Change& one : changes) {
        INFO(one.words);
        VkfMatrixLayout given = applicationLayout(VKF_TYPE_F16, nvidia);
        one.change(given);
        VkfMessage message{};
        CHECK(vkfCheckMatrixLayout(&given, &message) == one.result);
        CHECK_THAT(std::string(message.text), ContainsSubstring(one.words));
        // Also where the table knows another layout: that of the application was tested.
        vkf::Caps caps = unknownDriver();
        caps.f16Matrix.known = nvidia;
        caps.matrixShapes.push_back({given.type, given.rows, given.columns, given.depth});
        caps.subgroupSize = given.lanes;
        CHECK(use({given}, &caps) == VKF_SUCCESS);
        CHECK(caps.f16Matrix.fromApplication);
        CHECK(caps.matrixOf(VKF_TYPE_F16).viaShared);
    }
}

TEST_CASE("a layout of the application serves where the library has none, and small shapes go with it", "[planning]") {
    const VkfMatrixLayout full = applicationLayout(VKF_TYPE_F16, nvidia);
    const VkfMatrixLayout small = smallLayout(VKF_TYPE_F16);
    CHECK(vkfCheckMatrixLayout(&small, nullptr) == VKF_SUCCESS);
    vkf::MatrixLayout withoutSmall = nvidia;
    withoutSmall.smallShapeColumns = 0;

    vkf::Caps caps = unknownDriver();
    CHECK(caps.matrixOf(VKF_TYPE_F16).viaShared);
    CHECK(use({}, &caps) == VKF_SUCCESS);
    CHECK(caps.matrixOf(VKF_TYPE_F16).viaShared);
    CHECK(use({full}, &caps) == VKF_SUCCESS);
    CHECK(caps.matrixOf(VKF_TYPE_F16) == withoutSmall);
    CHECK(caps.f16Matrix.fromApplication);
    CHECK_FALSE(caps.bf16Matrix.fromApplication);

    for (const std::vector<VkfMatrixLayout>& both : {std::vector{full, small}, std::vector{small, full}}) {
        caps = unknownDriver();
        CHECK(use(both, &caps) == VKF_SUCCESS);
        CHECK(caps.matrixOf(VKF_TYPE_F16) == nvidia);
    }

    // A small shape alone changes nothing, and one that is laid out in another way is left out.
    caps = unknownDriver();
    CHECK(use({small}, &caps) == VKF_SUCCESS);
    CHECK(caps.matrixOf(VKF_TYPE_F16).viaShared);
    CHECK_FALSE(caps.f16Matrix.fromApplication);
    VkfMatrixLayout other = small;
    std::swap(other.right.laneBits[0], other.right.laneBits[1]);
    CHECK(vkfCheckMatrixLayout(&other, nullptr) == VKF_SUCCESS);
    CHECK(use({full, other}, &caps) == VKF_SUCCESS);
    CHECK(caps.matrixOf(VKF_TYPE_F16) == withoutSmall);

    // The quirk counts more than a layout of the application.
    caps.quirks |= VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    CHECK(caps.matrixOf(VKF_TYPE_F16).viaShared);
}

TEST_CASE("among an application's layouts the largest that kernels can use is taken", "[planning]") {
    VkfMatrixLayout small = applicationLayout(VKF_TYPE_F16, nvidia);
    small.columns = small.depth = 8; // 16x8x8
    small.result.elementBits[1] = {8, 0};
    small.result.elementBits[2] = {0, 0};
    small.left = small.result;
    small.right.elementBits[1] = {0, 0};
    small.right.elementBits[2] = {0, 0};
    VkfMessage message{};
    const VkfResult result = vkfCheckMatrixLayout(&small, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    const VkfMatrixLayout large = applicationLayout(VKF_TYPE_F16, nvidia);
    VkfMatrixLayout unusable = large;
    std::swap(unusable.left.laneBits[0], unusable.left.laneBits[2]);
    const std::pair<std::vector<VkfMatrixLayout>, uint32_t> lists[] = {
        {{small, large}, 16}, {{large, small}, 16}, {{small, unusable}, 8}, {{unusable, small}, 8}};
    for (const auto& [list, depth] : lists) {
        vkf::Caps caps = unknownDriver();
        CHECK(use(list, &caps) == VKF_SUCCESS);
        CHECK(caps.matrixOf(VKF_TYPE_F16).depth == depth);
    }
}

TEST_CASE("a layout of a shape that the device lacks is refused", "[planning]") {
    vkf::Caps caps = unknownDriver();
    std::string words;
    CHECK(use({applicationLayout(VKF_TYPE_BF16, nvidia)}, &caps, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("matrixLayouts[0]: this device multiplies no bf16 matrices of 16x16x16"));
    CHECK(use({applicationLayout(VKF_TYPE_F16, llvmpipe)}, &caps, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("no f16 matrices of 8x8x8 in subgroups of 8"));
    caps.subgroupSize = 64;
    CHECK(use({applicationLayout(VKF_TYPE_F16, nvidia)}, &caps, &words) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(words, ContainsSubstring("in subgroups of 32"));
}

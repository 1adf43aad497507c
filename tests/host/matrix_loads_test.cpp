// SPDX-License-Identifier: MIT
//
// A driver that loads or stores cooperative matrices at offset 0 of shared memory, whatever the offset. Intel's Xe3
// with Mesa loads so. The test changes the shaders on their way to the driver of the test device. vkflash::host sees
// the fault when it opens a device, and no kernel uses matrices.
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "device/matrix_support.hpp"
#include "host/matrices/element_layout_params.h"
#include "pipelines/spirv.hpp"
#include "shared/tile_memory.h"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using namespace vkf;
using test::testDevice;

constexpr const char* whyNotText = "the driver loads cooperative matrices wrong from shared memory";

// Which accesses of matrices in shared memory ignore their offset.
enum class Wrong { nothing, loads, loadsOfColumns, stores };
Wrong wrong = Wrong::nothing;

// SPV_KHR_cooperative_matrix.
constexpr uint32_t opLoadMatrix = 4457;
constexpr uint32_t columnMajor = 1;

// Makes the wrong accesses use index 0 of the array in shared memory.
void spoil(std::vector<uint32_t>& module) {
    std::set<uint32_t> zeros;
    std::set<uint32_t> ones;
    std::set<uint32_t> shared;
    std::set<uint32_t> places; // pointers to matrices
    forEachInstruction(std::span<const uint32_t>(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
        if (opcode == opConstant && words[3] == 0) {
            zeros.insert(words[2]);
        } else if (opcode == opConstant && words[3] == columnMajor) {
            ones.insert(words[2]);
        } else if (opcode == opVariable && words[3] == workgroupStorage) {
            shared.insert(words[2]);
        } else if (opcode == opLoadMatrix &&
                   (wrong == Wrong::loads || (wrong == Wrong::loadsOfColumns && ones.count(words[4]) != 0))) {
            places.insert(words[3]);
        } else if (opcode == opCooperativeMatrixStore && wrong == Wrong::stores) {
            places.insert(words[1]);
        }
    });
    forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<uint32_t> words) {
        if (opcode == opAccessChain && places.count(words[2]) != 0 && shared.count(words[3]) != 0) {
            words[4] = *zeros.begin();
        }
    });
}

// The functions that the library gets instead of the driver's.
PFN_vkGetDeviceProcAddr realDeviceEntry = nullptr;
PFN_vkCreateShaderModule realCreateShaderModule = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL createShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    std::vector<uint32_t> words(info->pCode, info->pCode + info->codeSize / sizeof(uint32_t));
    spoil(words);
    VkShaderModuleCreateInfo spoilt = *info;
    spoilt.pCode = words.data();
    return realCreateShaderModule(device, &spoilt, allocator, module);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL deviceEntry(VkDevice device, const char* name) {
    const PFN_vkVoidFunction function = realDeviceEntry(device, name);
    if (std::strcmp(name, "vkCreateShaderModule") == 0) {
        realCreateShaderModule = reinterpret_cast<PFN_vkCreateShaderModule>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(createShaderModule);
    }
    return function;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instanceEntry(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction function = testDevice().getInstanceProcAddr()(instance, name);
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
        realDeviceEntry = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(deviceEntry);
    }
    return function;
}

host::Device openWith(Wrong fault, host::LayoutSource source, VkfQuirks quirks = 0) {
    wrong = fault;
    host::DeviceOptions options;
    options.getInstanceProcAddr = instanceEntry;
    options.layoutSource = source;
    options.quirks = quirks;
    return test::openTestDevice(options);
}

// Skips the test where nothing can be measured.
std::vector<VkfMatrixLayout> measuredLayouts() {
    std::vector<VkfMatrixLayout> layouts = testDevice().measureMatrixLayouts();
    if (layouts.empty()) {
        SKIP("this device has no matrices whose layout kernels can use");
    }
    return layouts;
}

VkfProblem problemOnMatrices() {
    VkfProblem problem = test::problemOf({1, 2, 1, 40, 70, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    return problem;
}

// The quirks of a device besides those of all devices of this run.
VkfQuirks quirksOf(const host::Device& device) { return device.quirks() & ~test::addedQuirks(); }

} // namespace

TEST_CASE("a device that loads matrices wrong does without them, and says why", "[host]") {
    measuredLayouts();
    for (const Wrong fault : {Wrong::loads, Wrong::loadsOfColumns, Wrong::stores}) {
        CAPTURE(static_cast<int>(fault));
        host::Device device = openWith(fault, host::LayoutSource::measured);
        CHECK(quirksOf(device) == VKF_QUIRK_WRONG_MATRIX_LOADS);
        CHECK(device.matrixLayouts().empty());
        CHECK(device.measureMatrixLayouts().empty());
        VkfProblem problem = problemOnMatrices();
        VkfMessage message{};
        CHECK(vkfCheckSupport(device.context(), &problem, &message) == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(std::string(message.text), ContainsSubstring(whyNotText));
        auto info = make<VkfMatrixInfo>();
        CHECK(vkfGetMatrixInfo(device.context(), VKF_TYPE_F16, &info, &message) == VKF_ERROR_UNSUPPORTED);
        problem.path = VKF_PATH_AUTO;
        const test::Outcome outcome = test::runCall(device, problem);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

TEST_CASE("scores that would pass through shared memory need right loads too", "[host]") {
    measuredLayouts();
    CHECK(quirksOf(openWith(Wrong::loads, host::LayoutSource::automatic, VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT)) ==
          (VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT | VKF_QUIRK_WRONG_MATRIX_LOADS));
    CHECK(quirksOf(openWith(Wrong::nothing, host::LayoutSource::automatic, VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT)) ==
          VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT);
}

TEST_CASE("a device that loads matrices right keeps them", "[host]") {
    const std::vector<VkfMatrixLayout> layouts = measuredLayouts();
    const host::Device device = openWith(Wrong::nothing, host::LayoutSource::measured);
    CHECK(quirksOf(device) == 0);
    CHECK(device.matrixLayouts().size() == layouts.size());
}

TEST_CASE("no layout passes its test on a device that loads matrices wrong", "[host]") {
    const std::vector<VkfMatrixLayout> layouts = measuredLayouts();
    host::Device device = openWith(Wrong::loads, host::LayoutSource::builtIn);
    CHECK(quirksOf(device) == 0); // nothing was tested
    try {
        device.testMatrixLayout(layouts.front());
        FAIL("the test passed");
    } catch (const host::Error& error) {
        CHECK(error.result() == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(error.what(), ContainsSubstring("wrong from shared memory"));
    }
}

TEST_CASE("the test of loads has the strides of the attention kernels", "[planning]") {
    for (const uint32_t side : {8U, 16U}) {
        const uint32_t inEights = VKF_ELEMENT_TILE_ROW(side, 8);
        const uint32_t inFours = VKF_ELEMENT_TILE_ROW(side, 4);
        CHECK(inEights == VKF_MATRIX_ROW_WORDS(2, side));
        CHECK(inFours == VKF_VIA_SHARED_ROW_WORDS(2 * side));
    }
}

TEST_CASE("the quirk of wrong matrix loads closes matrices of every type", "[planning]") {
    Caps caps = test::matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        caps.quirks = 0;
        CHECK(whyNoMatrices(caps, type) == nullptr);
        caps.quirks = VKF_QUIRK_WRONG_MATRIX_LOADS;
        REQUIRE(whyNoMatrices(caps, type) != nullptr);
        CHECK(std::string(whyNoMatrices(caps, type)) == whyNotText);
    }
}

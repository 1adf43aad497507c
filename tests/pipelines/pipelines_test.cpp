// SPDX-License-Identifier: MIT
//
// Threads that create pipelines at once. The driver consists of functions of this file.
#include "pipelines/pipelines.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "pipelines/spirv.hpp"
#include "problem/functions.hpp"

namespace {

using vkf::Kernel;
using vkf::Variant;

// State of the driver's compilations.
struct Driver {
    std::mutex mutex;
    std::condition_variable changed;
    uint32_t compiling = 0;
    uint32_t maxCompiling = 0;
    uint32_t compiled = 0;
    uint32_t destroyed = 0;
    bool held = false; // compilations do not end
    VkResult result = VK_SUCCESS;
    std::vector<std::string> names;
    size_t moduleBytes = 0; // of the last shader
};

Driver* driver = nullptr;

constexpr std::chrono::seconds patience{20};

// Handles are numbers. Nothing reads behind them.
template <typename Handle> Handle handleOf(uintptr_t number) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<Handle>(number); // NOLINT(performance-no-int-to-ptr)
    } else {
        return number;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL createModule(VkDevice, const VkShaderModuleCreateInfo* info,
                                            const VkAllocationCallbacks*, VkShaderModule* module) {
    {
        const std::lock_guard lock(driver->mutex);
        driver->moduleBytes = info->codeSize;
    }
    *module = handleOf<VkShaderModule>(1);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyModule(VkDevice, VkShaderModule, const VkAllocationCallbacks*) {}

VKAPI_ATTR VkResult VKAPI_CALL createLayout(VkDevice, const VkPipelineLayoutCreateInfo*, const VkAllocationCallbacks*,
                                            VkPipelineLayout* layout) {
    *layout = handleOf<VkPipelineLayout>(1);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyLayout(VkDevice, VkPipelineLayout, const VkAllocationCallbacks*) {}

VKAPI_ATTR VkResult VKAPI_CALL createPipelines(VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
                                               const VkAllocationCallbacks*, VkPipeline* pipeline) {
    std::unique_lock lock(driver->mutex);
    driver->compiling++;
    driver->maxCompiling = std::max(driver->maxCompiling, driver->compiling);
    driver->changed.notify_all();
    driver->changed.wait_for(lock, patience, [] { return !driver->held; });
    driver->compiling--;
    driver->compiled++;
    *pipeline = driver->result == VK_SUCCESS ? handleOf<VkPipeline>(100 + driver->compiled) : VkPipeline{};
    return driver->result;
}

VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice, VkPipeline, const VkAllocationCallbacks*) { driver->destroyed++; }

VKAPI_ATTR VkResult VKAPI_CALL setName(VkDevice, const VkDebugUtilsObjectNameInfoEXT* info) {
    driver->names.emplace_back(info->pObjectName);
    return VK_SUCCESS;
}

struct Fixture {
    Fixture() {
        driver = &state;
        functions.vkCreateShaderModule = createModule;
        functions.vkDestroyShaderModule = destroyModule;
        functions.vkCreatePipelineLayout = createLayout;
        functions.vkDestroyPipelineLayout = destroyLayout;
        functions.vkCreateComputePipelines = createPipelines;
        functions.vkDestroyPipeline = destroyPipeline;
    }
    ~Fixture() { driver = nullptr; }
    Fixture(const Fixture&) = delete;
    Fixture& operator=(const Fixture&) = delete;

    void hold(bool held) {
        const std::lock_guard lock(state.mutex);
        state.held = held;
        state.changed.notify_all();
    }

    bool waitUntilCompiling(uint32_t count) {
        std::unique_lock lock(state.mutex);
        return state.changed.wait_for(lock, patience, [&] { return state.compiling == count; });
    }

    Driver state;
    vkf::DeviceFunctions functions;
};

// Variants of one shader.
Variant variantOf(uint32_t number) {
    Variant variant;
    variant.kernel = Kernel::attentionScalar;
    variant.constants[0] = number;
    return variant;
}

const std::vector<uint32_t> smallModule{vkf::spirvMagic, 0x10600, 0, 1, 0, vkf::headOf(vkf::opLabel, 2), 0};

// VkfGetKernel. `user` is a vector of words.
VkfResult kernelWithFunctions(void* user, const char*, const uint32_t** words, size_t* wordCount, VkfMessage*) {
    const auto& all = *static_cast<const std::vector<uint32_t>*>(user);
    *words = all.empty() ? nullptr : all.data();
    *wordCount = all.size();
    return VKF_SUCCESS;
}

} // namespace

TEST_CASE("a pipeline that is there does not wait for one that compiles", "[pipelines]") {
    Fixture fixture;
    vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr);
    VkPipeline ready = VK_NULL_HANDLE;
    REQUIRE(pipelines.get(variantOf(1), &ready, nullptr) == VKF_SUCCESS);
    fixture.hold(true);
    VkPipeline slow = VK_NULL_HANDLE;
    VkfResult slowResult = VKF_ERROR_UNSUPPORTED;
    std::thread other([&] { slowResult = pipelines.get(variantOf(2), &slow, nullptr); });
    CHECK(fixture.waitUntilCompiling(1));
    VkPipeline again = VK_NULL_HANDLE;
    const auto start = std::chrono::steady_clock::now();
    CHECK(pipelines.get(variantOf(1), &again, nullptr) == VKF_SUCCESS);
    CHECK(std::chrono::steady_clock::now() - start < patience / 4);
    CHECK(again == ready);
    fixture.hold(false);
    other.join();
    CHECK(slowResult == VKF_SUCCESS);
    CHECK(slow != VK_NULL_HANDLE);
    CHECK(slow != ready);
}

TEST_CASE("threads compile different pipelines side by side, and each pipeline once", "[pipelines]") {
    Fixture fixture;
    {
        vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr);
        constexpr uint32_t variants = 3;
        constexpr uint32_t threadsOfEach = 2;
        std::vector<VkPipeline> found(variants * threadsOfEach);
        std::vector<VkfResult> results(found.size(), VKF_ERROR_UNSUPPORTED);
        fixture.hold(true);
        std::vector<std::thread> threads;
        for (uint32_t i = 0; i < found.size(); i++) {
            threads.emplace_back([&, i] { results[i] = pipelines.get(variantOf(i % variants), &found[i], nullptr); });
        }
        CHECK(fixture.waitUntilCompiling(variants));
        fixture.hold(false);
        for (std::thread& thread : threads) {
            thread.join();
        }
        CHECK(results == std::vector<VkfResult>(found.size(), VKF_SUCCESS));
        CHECK(fixture.state.maxCompiling == variants);
        CHECK(fixture.state.compiled == variants);
        for (uint32_t i = variants; i < found.size(); i++) {
            CHECK(found[i] == found[i - variants]);
        }
    }
    CHECK(fixture.state.destroyed == 3);
}

TEST_CASE("a driver gets specialized shaders where its quirks ask for them", "[pipelines]") {
    Fixture fixture;
    const auto bytes = [&](VkfQuirks quirks) {
        vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr, quirks);
        VkPipeline pipeline = VK_NULL_HANDLE;
        CHECK(pipelines.get(variantOf(1), &pipeline, nullptr) == VKF_SUCCESS);
        return fixture.state.moduleBytes;
    };
    const size_t whole = bytes(0);
    CHECK(bytes(VKF_QUIRK_ROLLED_LOOPS) == whole);
    CHECK(bytes(VKF_QUIRK_LATE_SPECIALIZATION) < whole * 3 / 4);
}

TEST_CASE("a kernel with functions is another one than the kernel without them, whatever their key", "[pipelines]") {
    Fixture fixture;
    vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr);
    VkfFunctions_T functions;
    functions.getKernel = kernelWithFunctions;
    std::vector<uint32_t> words = smallModule;
    functions.user = &words;
    Variant variant = variantOf(1);
    VkPipeline without = VK_NULL_HANDLE;
    REQUIRE(pipelines.get(variant, &without, nullptr) == VKF_SUCCESS);
    variant.functions = {&functions, 0};
    VkPipeline with = VK_NULL_HANDLE;
    REQUIRE(pipelines.get(variant, &with, nullptr) == VKF_SUCCESS);
    CHECK(with != without);
    CHECK(fixture.state.moduleBytes == words.size() * sizeof(uint32_t));
}

TEST_CASE("a driver gets no words of functions that are not a SPIR-V module", "[pipelines]") {
    Fixture fixture;
    VkfFunctions_T functions;
    functions.getKernel = kernelWithFunctions;
    std::vector<std::vector<uint32_t>> bad(6, smallModule);
    bad[0].clear();
    bad[1].resize(vkf::spirvHeaderWords - 1);
    bad[2][0] ^= 1;
    bad[3][3] = vkf::maxSpirvIds + 1;
    bad[4][5] = vkf::headOf(vkf::opLabel, 0); // the next instruction would be this one
    bad[5][5] = vkf::headOf(vkf::opLabel, 3); // ends past the module
    for (std::vector<uint32_t>& words : bad) {
        functions.user = &words;
        Variant variant = variantOf(1);
        variant.functions = {&functions, 7};
        for (const VkfQuirks quirks : {VkfQuirks{0}, VkfQuirks{VKF_QUIRK_LATE_SPECIALIZATION}}) {
            vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr, quirks);
            VkPipeline pipeline = VK_NULL_HANDLE;
            VkfMessage message{};
            CHECK(pipelines.get(variant, &pipeline, &message) == VKF_ERROR_INVALID_ARGUMENT);
            CHECK(std::string(message.text) == "kernel attention_scalar of the functions is not a SPIR-V module");
        }
    }
    CHECK(fixture.state.compiled == 0);
}

TEST_CASE("a compilation that fails leaves nothing, and the next one may succeed", "[pipelines]") {
    Fixture fixture;
    fixture.state.result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    {
        vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr);
        VkPipeline pipeline = VK_NULL_HANDLE;
        fixture.hold(true);
        // The second thread waits for the first one, and then fails by itself.
        std::array<VkfMessage, 2> messages{};
        std::array<VkfResult, 2> results{};
        std::vector<std::thread> threads;
        for (size_t i = 0; i < results.size(); i++) {
            threads.emplace_back([&, i] {
                VkPipeline none = VK_NULL_HANDLE;
                results[i] = pipelines.get(variantOf(1), &none, &messages[i]);
            });
        }
        CHECK(fixture.waitUntilCompiling(1));
        fixture.hold(false);
        for (std::thread& thread : threads) {
            thread.join();
        }
        CHECK(fixture.state.compiled == 2);
        for (size_t i = 0; i < results.size(); i++) {
            CHECK(results[i] == VKF_ERROR_OUT_OF_DEVICE_MEMORY);
            CHECK(std::string(messages[i].text) == "vkCreateComputePipelines: out of device memory");
        }
        fixture.state.result = VK_SUCCESS;
        CHECK(pipelines.get(variantOf(1), &pipeline, nullptr) == VKF_SUCCESS);
        CHECK(pipeline != VK_NULL_HANDLE);
    }
    CHECK(fixture.state.destroyed == 1);
}

TEST_CASE("pipelines have names where the application enabled debug names", "[pipelines]") {
    Fixture fixture;
    fixture.functions.vkSetDebugUtilsObjectNameEXT = setName;
    vkf::Pipelines pipelines(fixture.functions, VK_NULL_HANDLE, VK_NULL_HANDLE, nullptr);
    VkPipeline pipeline = VK_NULL_HANDLE;
    REQUIRE(pipelines.get(variantOf(1), &pipeline, nullptr) == VKF_SUCCESS);
    CHECK(fixture.state.names == std::vector<std::string>{"vkflash attention_scalar"});
}

// SPDX-License-Identifier: MIT
//
// A program that uses Vulkan as ggml-vulkan does, with kernels of its interfaces that compute nothing (see
// fake_kernel.comp). It asks for no device addresses and for no feature: what the layer needs, the layer adds.
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace vkf::test {

// What the kernels write.
constexpr float byAttention = 1000;
constexpr float byReduction = 2000;

// The layer's names for these are in integrations/ggml_layer/kernel.hpp and call.hpp. The test has its own, so that it
// fails if the layer's change.
enum FakeConstant : uint32_t {
    tileRowsConstant = 1,
    headDimConstant = 3,
    valueDimConstant = 4,
    flagsConstant = 10,
    keyTypeConstant = 12,
    valueTypeConstant = 13,
    keyBytesConstant = 14,
    valueBytesConstant = 15
};
using FakeConstants = std::array<uint32_t, 16>;
// Numbers of the 32 push constants.
enum FakeWord : uint32_t {
    rowsWord,
    keysWord,
    resultHeadsWord,
    resultRowsWord,
    resultSequencesWord,
    queryHeadsWord,
    querySequencesWord,
    keyHeadsWord,
    keySequencesWord,
    valueHeadsWord,
    valueSequencesWord,
    maskRowsWord,
    maskHeadsWord,
    maskSequencesWord,
    queryRowWord,
    queryHeadWord,
    querySequenceWord,
    keyRowWord,
    keyHeadWord,
    keySequenceWord,
    valueRowWord,
    valueHeadWord,
    valueSequenceWord,
    scaleWord,
    maxBiasWord,
    softcapWord,
    headsAndSinksWord,
    firstSlopeWord,
    secondSlopeWord,
    groupedHeadsWord,
    splitKeysWord,
    splitsWord
};
using FakeWords = std::array<uint32_t, 32>;

uint32_t wordOf(float value);

class FakeInstance {
public:
    explicit FakeInstance(uint32_t apiVersion = VK_API_VERSION_1_2);
    ~FakeInstance();
    FakeInstance(const FakeInstance&) = delete;
    FakeInstance& operator=(const FakeInstance&) = delete;
    VkInstance handle() const { return handle_; }
    VkPhysicalDevice physicalDevice() const { return physicalDevice_; }
    // Messages of the validation layers so far, of all instances.
    static int messages();

private:
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkPhysicalDevice physicalDevice_ = VK_NULL_HANDLE;
};

struct FakeBuffer {
    VkBuffer handle = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize bytes = 0;
    void* data = nullptr;
    float* floats() const { return static_cast<float*>(data); }
};

struct FakePipeline {
    VkPipeline handle;
    VkPipelineLayout layout;
};

// A device with one queue. Everything that it makes goes with it.
class FakeDevice {
public:
    // `features`: a chain of feature structs, or null.
    explicit FakeDevice(const FakeInstance& instance, const void* features = nullptr);
    ~FakeDevice();
    FakeDevice(const FakeDevice&) = delete;
    FakeDevice& operator=(const FakeDevice&) = delete;

    VkDevice handle() const { return handle_; }
    // Mapped, and filled with bytes 0xee.
    FakeBuffer buffer(VkDeviceSize bytes);
    FakePipeline attention(const FakeConstants& constants, bool older = false);
    FakePipeline reduction();
    FakePipeline echo();
    // A set with these buffers from binding 0 on, all of them whole.
    VkDescriptorSet set(const std::vector<VkBuffer>& buffers);
    void write(VkDescriptorSet set, const std::vector<VkBuffer>& buffers) const;
    VkCommandPool pool();
    VkCommandBuffer commands(VkCommandPool pool) const;
    static void begin(VkCommandBuffer commands);
    void submitAndWait(VkCommandBuffer commands) const;
    // Ends the recording, submits and waits.
    void endAndRun(VkCommandBuffer commands) const;

    // The layout of a set with so many storage buffers.
    VkDescriptorSetLayout setLayout(uint32_t bindings);

private:
    FakePipeline pipeline(const char* kernel, uint32_t pushBytes, uint32_t bindings, const uint32_t* constants,
                          uint32_t constantCount);

    VkPhysicalDevice physicalDevice_;
    VkDevice handle_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    uint32_t family_ = 0;
    VkDescriptorPool descriptorPool_ = VK_NULL_HANDLE;
    std::array<VkDescriptorSetLayout, 9> setLayouts_{};
    std::vector<FakeBuffer> buffers_;
    std::vector<FakePipeline> pipelines_;
    std::vector<VkShaderModule> modules_;
    std::vector<VkCommandPool> pools_;
};

// Binds what a dispatch of ggml needs, and dispatches.
void dispatch(VkCommandBuffer commands, const FakePipeline& pipeline, VkDescriptorSet set, const void* push,
              uint32_t pushBytes, std::array<uint32_t, 3> groups);
// The barrier that ggml puts between dispatches.
void barrier(VkCommandBuffer commands);

} // namespace vkf::test

// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

#include "call.hpp"

using namespace vkf::test;

namespace {

// One device for all tests of this file that need no other.
struct Shared {
    FakeInstance instance;
    FakeDevice device{instance};
    FakePipeline reduction = device.reduction();
    VkCommandPool pool = device.pool();
    VkCommandBuffer commands = device.commands(pool);
};
std::unique_ptr<Shared> only;
Shared& shared() {
    if (only == nullptr) {
        only = std::make_unique<Shared>();
    }
    return *only;
}

// Layers do not expect calls from destructors that run after main.
class EndOfRun : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;
    void testRunEnded(const Catch::TestRunStats& stats) override {
        static_cast<void>(stats);
        only = nullptr;
    }
};
CATCH_REGISTER_LISTENER(EndOfRun)

double largestError(const std::vector<float>& got, const std::vector<float>& expected) {
    double largest = 0;
    for (size_t i = 0; i < got.size(); i++) {
        const double error = std::abs(double{got[i]} - expected[i]);
        largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
    return largest;
}
constexpr double bound = 1e-5;
constexpr uint32_t atResultOfTest = 5; // the attention kernel's binding

bool isAttention(const Call& call) { return largestError(call.got(), call.expected()) < bound; }

bool isAll(const FakeBuffer& buffer, float value) {
    return std::all_of(buffer.floats(), buffer.floats() + buffer.bytes / sizeof(float),
                       [=](float number) { return number == value; });
}

bool isPoison(const FakeBuffer& buffer) {
    const auto* bytes = static_cast<const unsigned char*>(buffer.data);
    return std::all_of(bytes, bytes + buffer.bytes, [](unsigned char byte) { return byte == 0xee; });
}

double medianOf(std::vector<double> numbers) {
    const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    return *middle;
}

void recordReduction(VkCommandBuffer commands, Call& call, const FakePipeline& reduction) {
    barrier(commands);
    const std::array<uint32_t, 6> words = call.reductionWords();
    dispatch(commands, reduction, call.reductionSet(), words.data(), sizeof words,
             {Call::heads, Call::headDim, Call::rows});
}

// What ggml records for a call.
void record(FakeDevice& device, VkCommandBuffer commands, Call& call, const FakePipeline& reduction) {
    const FakeWords words = call.words();
    dispatch(commands, device.attention(call.constants()), call.attentionSet(), words.data(), sizeof words,
             call.groups());
    if (words[splitsWord] > 1) {
        recordReduction(commands, call, reduction);
    }
}

void run(Call& call) {
    Shared& s = shared();
    FakeDevice::begin(s.commands);
    record(s.device, s.commands, call, s.reduction);
    s.device.endAndRun(s.commands);
}

} // namespace

TEST_CASE("attention takes the place of ggml's kernels", "[ggml_layer]") {
    const CallOptions options =
        GENERATE(CallOptions{}, CallOptions{.grouped = true}, CallOptions{.splits = 3},
                 CallOptions{.grouped = true, .splits = 0},
                 CallOptions{.grouped = true, .splits = 2, .mask = true, .sinks = true},
                 CallOptions{.mask = true, .maxBias = 8}, CallOptions{.splits = 2, .sinks = true, .softcap = 2});
    Call call(shared().device, options);
    run(call);
    CHECK(isAttention(call));
    CHECK(isPoison(call.partial));
}

TEST_CASE("attention takes the place of an older ggml's kernel", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {});
    const FakeWords words = call.words();
    FakeDevice::begin(s.commands);
    dispatch(s.commands, s.device.attention(call.constants(), true), call.attentionSet(), words.data(), sizeof words,
             call.groups());
    s.device.endAndRun(s.commands);
    CHECK(isAttention(call));
}

TEST_CASE("push constants with a hole pass through", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {});
    const FakePipeline pipeline = s.device.attention(call.constants());
    VkDescriptorSet set = call.attentionSet();
    const FakeWords words = call.words();
    FakeDevice::begin(s.commands);
    vkCmdBindPipeline(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    vkCmdBindDescriptorSets(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(s.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 64, words.data());
    vkCmdPushConstants(s.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 68, 60, &words[17]);
    vkCmdDispatch(s.commands, call.groups()[0], call.groups()[1], call.groups()[2]);
    vkEndCommandBuffer(s.commands);
    // The layer's decision is all that counts here: the kernel itself reads no word.
    s.device.submitAndWait(s.commands);
    CHECK(isAll(call.result, byAttention));
}

TEST_CASE("what does not add up passes through", "[ggml_layer]") {
    Call call(shared().device, {.mask = true});
    FakeConstants constants = call.constants();
    FakeWords words = call.words();
    std::array<uint32_t, 3> groups = call.groups();
    // Every word of the push constants but those that stand for any stride, and every constant with a meaning.
    const int place = GENERATE(range(0, 32 + 16 + 3));
    if (place < 32) {
        const std::array free = {queryRowWord,    queryHeadWord, querySequenceWord, keyRowWord,        keyHeadWord,
                                 keySequenceWord, valueRowWord,  valueHeadWord,     valueSequenceWord, scaleWord};
        if (std::find(free.begin(), free.end(), place) != free.end()) {
            SUCCEED("any value is possible");
            return;
        }
        const uint32_t word = words[static_cast<size_t>(place)];
        const bool isNumber =
            place == maxBiasWord || place == softcapWord || place == firstSlopeWord || place == secondSlopeWord;
        words[static_cast<size_t>(place)] = isNumber ? wordOf(0.5F) : place == splitKeysWord ? word - 7 : word + 7;
    } else if (place < 32 + 16) {
        const auto id = static_cast<uint32_t>(place - 32);
        const std::array meant = {flagsConstant, keyTypeConstant, valueTypeConstant, keyBytesConstant,
                                  valueBytesConstant};
        if (std::find(meant.begin(), meant.end(), id) == meant.end()) {
            SUCCEED("any value is possible");
            return;
        }
        constants[id] += id == flagsConstant ? 32 : 7;
    } else {
        groups[static_cast<size_t>(place - 48)]++;
    }
    INFO("place " << place);
    Shared& s = shared();
    FakeDevice::begin(s.commands);
    dispatch(s.commands, s.device.attention(constants), call.attentionSet(), words.data(), sizeof words, groups);
    s.device.endAndRun(s.commands);
    CHECK(isAll(call.result, byAttention));
}

TEST_CASE("a tensor that its buffer does not hold passes through", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {});
    const FakeBuffer small = s.device.buffer(256);
    const VkBuffer q = call.q.handle;
    const int binding = GENERATE(0, 1, 2);
    std::vector<VkBuffer> buffers = {q, call.k.handle, call.v.handle, q, q, call.result.handle, q, q};
    buffers[static_cast<size_t>(binding)] = small.handle;
    const FakeWords words = call.words();
    FakeDevice::begin(s.commands);
    dispatch(s.commands, s.device.attention(call.constants()), s.device.set(buffers), words.data(), sizeof words,
             call.groups());
    s.device.endAndRun(s.commands);
    CHECK(isAll(call.result, byAttention));
}

TEST_CASE("a dispatch with key splits runs before a command that is not its reduction", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {.splits = 2});
    const FakeBuffer copy = s.device.buffer(call.partial.bytes);
    const FakeWords words = call.words();
    FakeDevice::begin(s.commands);
    dispatch(s.commands, s.device.attention(call.constants()), call.attentionSet(), words.data(), sizeof words,
             call.groups());
    barrier(s.commands);
    SECTION("a copy") {
        const VkBufferCopy region = {0, 0, copy.bytes};
        vkCmdCopyBuffer(s.commands, call.partial.handle, copy.handle, 1, &region);
        recordReduction(s.commands, call, s.reduction);
        s.device.endAndRun(s.commands);
        CHECK(isAll(copy, byAttention));
        CHECK(isAll(call.result, byReduction));
    }
    SECTION("the reduction of another call") {
        Call other(s.device, {.splits = 3});
        recordReduction(s.commands, other, s.reduction);
        s.device.endAndRun(s.commands);
        CHECK(isAll(other.result, byReduction));
    }
    SECTION("the end") { s.device.endAndRun(s.commands); }
    CHECK(isAll(call.partial, byAttention));
}

TEST_CASE("pipeline, descriptors and push constants stay as the application bound them", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {.splits = GENERATE(1U, 2U)});
    const FakePipeline echo = s.device.echo();
    const FakeBuffer out = s.device.buffer(4 * sizeof(float));
    const VkBuffer q = call.q.handle;
    FakeDevice::begin(s.commands);
    record(s.device, s.commands, call, s.reduction);
    barrier(s.commands);
    SECTION("the push constants, for a kernel that is bound after them") {
        FakeWords words = call.words();
        words[splitsWord] = 1;
        Call second(s.device, {});
        dispatch(s.commands, s.device.attention(second.constants()), second.attentionSet(), words.data(), sizeof words,
                 second.groups());
        vkCmdBindPipeline(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, echo.handle);
        const VkDescriptorSet set = s.device.set({q, q, q, q, q, out.handle, q, q});
        vkCmdBindDescriptorSets(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, echo.layout, 0, 1, &set, 0, nullptr);
        vkCmdDispatch(s.commands, 1, 1, 1);
        s.device.endAndRun(s.commands);
        CHECK(out.floats()[0] == 0.25F);
        CHECK(out.floats()[1] == 1);
        CHECK(out.floats()[2] == static_cast<float>(words[0] + words[1] + words[2] + words[3]));
    }
    SECTION("all of them, for the same dispatch again") {
        call.fill(2);
        FakeWords words = call.words();
        if (words[splitsWord] == 1) {
            vkCmdDispatch(s.commands, call.groups()[0], call.groups()[1], call.groups()[2]);
        }
        s.device.endAndRun(s.commands);
    }
    CHECK(isAttention(call));
}

TEST_CASE("a recorded command buffer runs again with new inputs, and can be recorded again", "[ggml_layer]") {
    Shared& s = shared();
    const uint32_t splits = GENERATE(1U, 2U);
    Call call(s.device, {.splits = splits, .mask = true});
    run(call);
    CHECK(isAttention(call));
    call.fill(2);
    s.device.submitAndWait(s.commands);
    CHECK(isAttention(call));
    for (uint32_t keys = 41; keys < 44; keys++) { // a growing cache
        Call longer(s.device, {.splits = splits, .mask = true, .keys = keys});
        run(longer);
        CHECK(isAttention(longer));
    }
}

TEST_CASE("a descriptor set that is written again binds the new buffers", "[ggml_layer]") {
    Shared& s = shared();
    Call first(s.device, {});
    Call second(s.device, {});
    second.fill(2);
    VkDescriptorSet set = first.attentionSet();
    const FakePipeline pipeline = s.device.attention(first.constants());
    const FakeWords words = first.words();
    for (const Call* call : {&first, &second}) {
        const VkBuffer q = call->q.handle;
        s.device.write(set, {q, call->k.handle, call->v.handle, q, q, call->result.handle, q, q});
        FakeDevice::begin(s.commands);
        dispatch(s.commands, pipeline, set, words.data(), sizeof words, first.groups());
        s.device.endAndRun(s.commands);
        CHECK(isAttention(*call));
    }
}

TEST_CASE("a descriptor set that a template writes passes through", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {});
    const FakePipeline pipeline = s.device.attention(call.constants());
    VkDescriptorSet set = call.attentionSet();
    const VkDescriptorUpdateTemplateEntry entry = {
        atResultOfTest, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, sizeof(VkDescriptorBufferInfo)};
    VkDescriptorUpdateTemplateCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
    info.descriptorUpdateEntryCount = 1;
    info.pDescriptorUpdateEntries = &entry;
    info.templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    info.descriptorSetLayout = s.device.setLayout(8);
    VkDescriptorUpdateTemplate updates = VK_NULL_HANDLE;
    REQUIRE(vkCreateDescriptorUpdateTemplate(s.device.handle(), &info, nullptr, &updates) == VK_SUCCESS);
    const VkDescriptorBufferInfo result = {call.result.handle, 0, VK_WHOLE_SIZE};
    vkUpdateDescriptorSetWithTemplate(s.device.handle(), set, updates, &result);
    vkDestroyDescriptorUpdateTemplate(s.device.handle(), updates, nullptr);
    const FakeWords words = call.words();
    FakeDevice::begin(s.commands);
    dispatch(s.commands, pipeline, set, words.data(), sizeof words, call.groups());
    s.device.endAndRun(s.commands);
    CHECK(isAll(call.result, byAttention));
}

TEST_CASE("push constants may come in parts", "[ggml_layer]") {
    Shared& s = shared();
    Call call(s.device, {});
    const FakePipeline pipeline = s.device.attention(call.constants());
    VkDescriptorSet set = call.attentionSet();
    const FakeWords words = call.words();
    constexpr uint32_t half = sizeof words / 2;
    FakeDevice::begin(s.commands);
    for (uint32_t begin = 0; begin < sizeof words; begin += half) {
        vkCmdPushConstants(s.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, begin, half,
                           reinterpret_cast<const char*>(words.data()) + begin);
    }
    vkCmdBindPipeline(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    vkCmdBindDescriptorSets(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    vkCmdDispatch(s.commands, call.groups()[0], call.groups()[1], call.groups()[2]);
    s.device.endAndRun(s.commands);
    CHECK(isAttention(call));
}

TEST_CASE("the application's feature structs stay as they are", "[ggml_layer]") {
    const FakeInstance instance;
    VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features features11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &features12};
    FakeDevice device(instance, &features11);
    for (const VkBool32 feature : {features12.bufferDeviceAddress, features12.vulkanMemoryModel,
                                   features12.shaderFloat16, features11.storageBuffer16BitAccess}) {
        CHECK(feature == VK_FALSE);
    }
    Call call(device, {});
    VkCommandBuffer commands = device.commands(device.pool());
    FakeDevice::begin(commands);
    record(device, commands, call, {});
    device.endAndRun(commands);
    CHECK(isAttention(call));
}

TEST_CASE("several devices and threads record at once", "[ggml_layer]") {
    const FakeInstance instance;
    FakeDevice first(instance);
    FakeDevice second(instance);
    struct Lane {
        FakeDevice* device;
        Call call;
        FakePipeline pipeline;
        VkDescriptorSet set;
        VkCommandBuffer commands;
    };
    std::vector<Lane> lanes;
    for (FakeDevice* device : {&first, &first, &second, &second}) {
        Call call(*device, {});
        const FakePipeline pipeline = device->attention(call.constants());
        VkDescriptorSet set = call.attentionSet();
        lanes.push_back({device, call, pipeline, set, device->commands(device->pool())});
    }
    std::vector<std::thread> threads;
    threads.reserve(lanes.size());
    for (Lane& lane : lanes) {
        threads.emplace_back([&lane] {
            const FakeWords words = lane.call.words();
            for (int i = 0; i < 50; i++) {
                FakeDevice::begin(lane.commands);
                dispatch(lane.commands, lane.pipeline, lane.set, words.data(), sizeof words, lane.call.groups());
                vkEndCommandBuffer(lane.commands);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (Lane& lane : lanes) {
        lane.device->submitAndWait(lane.commands);
        CHECK(isAttention(lane.call));
    }
}

TEST_CASE("command buffers can be freed and allocated again", "[ggml_layer]") {
    Shared& s = shared();
    VkCommandPool pool = s.device.pool();
    for (int i = 0; i < 3; i++) {
        Call call(s.device, {});
        call.fill(static_cast<uint32_t>(i));
        VkCommandBuffer commands = s.device.commands(pool);
        FakeDevice::begin(commands);
        record(s.device, commands, call, s.reduction);
        s.device.endAndRun(commands);
        CHECK(isAttention(call));
        vkFreeCommandBuffers(s.device.handle(), pool, 1, &commands);
        vkResetCommandPool(s.device.handle(), pool, 0);
    }
}

// Without the layer, or where it cannot work.
TEST_CASE("a program without the layer runs its own kernels", "[.][without_layer]") {
    Call call(shared().device, {});
    run(call);
    CHECK(isAll(call.result, byAttention));
}

TEST_CASE("a program for Vulkan 1.1 runs its own kernels", "[ggml_layer]") {
    const FakeInstance instance(VK_API_VERSION_1_1);
    FakeDevice device(instance);
    Call call(device, {});
    VkCommandBuffer commands = device.commands(device.pool());
    FakeDevice::begin(commands);
    record(device, commands, call, {});
    device.endAndRun(commands);
    CHECK(isAll(call.result, byAttention));
}

// What the layer costs a token: run it once with the layer and once without, both without validation layers.
TEST_CASE("time to record a graph of 32 attentions", "[.][time]") {
    constexpr int layers = 32, others = 22, graphs = 200;
    Shared& s = shared();
    Call call(s.device, {.grouped = true, .mask = true});
    const FakeWords words = call.words();
    const FakePipeline attention = s.device.attention(call.constants());
    const FakePipeline echo = s.device.echo();
    const VkBuffer q = call.q.handle;
    const std::vector<VkBuffer> buffers = {
        q, call.k.handle, call.v.handle, call.maskBuffer.handle, q, call.result.handle, q, q};
    std::vector<VkDescriptorSet> sets;
    sets.reserve(64);
    for (int i = 0; i < 64; i++) {
        sets.push_back(s.device.set(buffers));
    }
    std::vector<double> times;
    for (int graph = 0; graph < graphs; graph++) {
        const auto begin = std::chrono::steady_clock::now();
        FakeDevice::begin(s.commands);
        size_t next = 0;
        for (int i = 0; i < layers * (others + 1); i++) {
            const bool isOther = i % (others + 1) != 0;
            VkDescriptorSet set = sets[next++ % sets.size()];
            s.device.write(set, buffers);
            dispatch(s.commands, isOther ? echo : attention, set, words.data(), sizeof words,
                     isOther ? std::array{1U, 1U, 1U} : call.groups());
            barrier(s.commands);
        }
        vkEndCommandBuffer(s.commands);
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
        times.push_back(time.count());
    }
    std::printf("%d attentions and %d other dispatches: median %.1f us, least %.1f us\n", layers, layers * others,
                medianOf(times), *std::min_element(times.begin(), times.end()));
}

TEST_CASE("time to record a call with a new number of keys", "[.][time]") {
    constexpr uint32_t first = 1000, last = 2000;
    Shared& s = shared();
    Call call(s.device, {.grouped = true, .mask = true, .keys = last});
    const FakePipeline attention = s.device.attention(call.constants());
    VkDescriptorSet set = call.attentionSet();
    std::vector<double> times;
    for (uint32_t keys = first; keys < last; keys++) {
        FakeWords words = call.words();
        words[keysWord] = words[splitKeysWord] = keys;
        FakeDevice::begin(s.commands);
        const auto begin = std::chrono::steady_clock::now();
        dispatch(s.commands, attention, set, words.data(), sizeof words, call.groups());
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
        vkEndCommandBuffer(s.commands);
        times.push_back(time.count());
    }
    std::printf("a call with a new number of keys: median %.1f us\n", medianOf(times));
}

TEST_CASE("validation layers under the layer are silent", "[ggml_layer]") { CHECK(FakeInstance::messages() == 0); }

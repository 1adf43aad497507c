// SPDX-License-Identifier: MIT
//
// Plans that launch kernels of PTX: the commands that they record, and drivers that refuse a kernel. The driver is made
// up. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "calls/backward.hpp"
#include "calls/counts.hpp"
#include "calls/fake_addresses.hpp"
#include "calls/fake_launches.hpp"
#include "calls/plan.hpp"
#include "pipelines/tensor_maps.hpp"
#include "pipelines/wgmma_kernels.hpp"
#include "shared/backward_params.h"
#include "support/call.hpp"
#include "support/described_device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::fakeAddress;
using vkf::test::FakeContext;
using vkf::test::FakeLaunch;
using vkf::test::FakeLaunches;
using vkf::test::hopperCaps;
using vkf::test::problemOf;

// Commands in their order: b = barrier, p = bind a pipeline, d = dispatch, l = launch.
std::string commands;

VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) { commands += 'p'; }
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t, uint32_t, uint32_t) { commands += 'd'; }
// NOLINTNEXTLINE(readability-function-size): the parameters are Vulkan's
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer, VkPipelineStageFlags source, VkPipelineStageFlags destination,
                                   VkDependencyFlags, uint32_t, const VkMemoryBarrier* barriers, uint32_t,
                                   const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    CHECK(source == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(destination == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(barriers->srcAccessMask == VK_ACCESS_SHADER_WRITE_BIT);
    CHECK(barriers->dstAccessMask == (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT));
    commands += 'b';
}
PFN_vkCmdCuLaunchKernelNVX launchBehind = nullptr;
VKAPI_ATTR void VKAPI_CALL launch(VkCommandBuffer buffer, const VkCuLaunchInfoNVX* info) {
    commands += 'l';
    launchBehind(buffer, info);
}

struct Fixture {
    FakeLaunches driver;
    FakeContext context{hopperCaps()};

    Fixture() {
        vkf::DeviceFunctions& functions = context.get()->functions;
        functions.vkCmdBindPipeline = bind;
        functions.vkCmdDispatch = dispatch;
        functions.vkCmdPipelineBarrier = barrier;
        launchBehind = functions.vkCmdCuLaunchKernelNVX;
        functions.vkCmdCuLaunchKernelNVX = launch;
    }

    vkf::Plan plan(const VkfProblem& problem) {
        vkf::Plan plan;
        VkfMessage message{};
        const VkfResult result = vkfCreatePlan(context.get(), &problem, plan.put(), &message);
        INFO(message.text);
        REQUIRE(result == VKF_SUCCESS);
        CHECK(std::string(message.text).empty());
        return plan;
    }

    VkfResult refusal(const VkfProblem& problem, VkfMessage* message) {
        vkf::Plan plan;
        return vkfCreatePlan(context.get(), &problem, plan.put(), message);
    }

    // The commands of all steps.
    std::string record(const vkf::Plan& plan) {
        auto bindings = vkf::make<VkfBindings>();
        uint64_t piece = 0;
        for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v, &bindings.o, &bindings.lse,
                                    &bindings.keyLengths, &bindings.scratch, &bindings.cuSeqlensQ, &bindings.cuSeqlensK,
                                    &bindings.sinks, &bindings.alibiSlopes, &bindings.blockTable}) {
            binding->address = fakeAddress(piece++);
        }
        bindings.scratch.size = plan.get()->scratch.bytes();
        const VkfUse use = plan.get()->problem.fields.use;
        const auto forget = [use](VkfUseBits bit, VkfBinding& binding) {
            binding.address = (use & static_cast<VkfUse>(bit)) != 0 ? binding.address : 0;
        };
        forget(VKF_USE_LSE, bindings.lse);
        forget(VKF_USE_KEY_LENGTHS, bindings.keyLengths);
        forget(VKF_USE_CU_SEQLENS, bindings.cuSeqlensQ);
        forget(VKF_USE_CU_SEQLENS, bindings.cuSeqlensK);
        forget(VKF_USE_SINKS, bindings.sinks);
        forget(VKF_USE_ALIBI_SLOPES, bindings.alibiSlopes);
        forget(VKF_USE_BLOCK_TABLE, bindings.blockTable);
        commands.clear();
        driver.launches.clear();
        VkfMessage message{};
        const VkfResult result = vkfCmdAttention(FakeContext::commandBuffer(), plan.get(), &bindings, &message);
        INFO(message.text);
        CHECK(result == VKF_SUCCESS);
        return commands;
    }
};

VkfProblem longProblem(VkfPath path = VKF_PATH_AUTO, VkfType type = VKF_TYPE_F16, uint32_t dim = 128) {
    VkfProblem problem = problemOf({1, 16, 4, 4096, 4096, dim, 0, type});
    problem.path = path;
    return problem;
}

VkfPath pathOf(const vkf::Plan& plan) { return plan.get()->path; }

// Why the plan has not path wgmma.
std::string whyNot(const vkf::Plan& plan) {
    auto decision = vkf::make<VkfPathDecision>();
    CHECK(vkfGetPlanPath(plan.get(), VKF_PATH_WGMMA, &decision, nullptr) == VKF_SUCCESS);
    CHECK(decision.rule == VKF_RULE_UNSUPPORTED);
    return decision.reason;
}

} // namespace

TEST_CASE("a plan of path wgmma launches its kernel with the grid, block, shared memory and parameters of the plan",
          "[record]") {
    Fixture fixture;
    VkfProblem problem = longProblem();
    problem.maxStepOperations = 60000000000;
    const vkf::Plan plan = fixture.plan(problem);
    REQUIRE(pathOf(plan) == VKF_PATH_WGMMA);
    const vkf::Phase& phase = plan.get()->phases.at(0);
    const vkf::shared::WgmmaTile& tile = vkf::wgmmaTileFor(vkf::Kernel::attentionWgmma, 128, 128);
    REQUIRE(plan.get()->steps() == 3);
    CHECK(fixture.record(plan) == "lll");
    uint32_t first = 0;
    for (const FakeLaunch& one : fixture.driver.launches) {
        CHECK(one.entry == "attention_wgmma_f16_128");
        CHECK(one.grid == std::array{std::min(phase.itemsPerStep, phase.items - first), 1U, 1U});
        CHECK(one.block == std::array{tile.threads, 1U, 1U});
        CHECK(one.sharedBytes == tile.shared_bytes);
        CHECK(one.params.first_item == first);
        for (const int tensor : {VKF_Q, VKF_K, VKF_V, VKF_O}) {
            CHECK(one.params.tensor[tensor] == fakeAddress(static_cast<uint64_t>(tensor)));
        }
        CHECK(one.params.query_rows == 4096);
        CHECK(one.params.heads == (16 | 4 << 16));
        CHECK(one.constants.head_dim == 128);
        CHECK(one.constants.packed_heads == 4);
        first += one.grid[0];
    }
    CHECK(first == phase.items);
}

TEST_CASE("a launch of the kernel for 256 columns has maps of the k and v of the call", "[record]") {
    Fixture fixture;
    VkfProblem problem = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 200);
    problem.valueDim = 136;
    fixture.record(fixture.plan(problem));
    REQUIRE(fixture.driver.launches.size() == 1);
    const FakeLaunch& launch = fixture.driver.launches[0];
    REQUIRE(launch.maps);
    const vkf::shared::WgmmaMaps expected = vkf::tensorMapsOf(launch.params, launch.constants);
    CHECK(std::memcmp(&*launch.maps, &expected, sizeof expected) == 0);
    CHECK(launch.maps->k.words[0] == static_cast<uint32_t>(fakeAddress(VKF_K)));
    CHECK(launch.maps->v.words[0] == static_cast<uint32_t>(fakeAddress(VKF_V)));
}

TEST_CASE("a launch has no maps where they cannot reach the keys, or would reach past those of a sequence",
          "[record]") {
    Fixture fixture;
    VkfProblem inPages = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 256);
    vkf::test::setPages(inPages, 16, 0);
    VkfProblem inReach = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 256);
    inReach.k.headStride = uint64_t{1} << 38; // of 2 bytes each
    VkfProblem outOfReach = inReach;
    outOfReach.k.headStride = uint64_t{1} << 39;
    VkfProblem withLengths = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 256);
    vkf::enable(withLengths, VKF_USE_KEY_LENGTHS);
    VkfProblem packed = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 256);
    packed.batch = 3;
    vkf::enable(packed, VKF_USE_CU_SEQLENS);
    for (const auto& [problem, maps] :
         {std::pair(inPages, false), std::pair(inReach, true), std::pair(outOfReach, false),
          std::pair(withLengths, false), std::pair(packed, false)}) {
        fixture.record(fixture.plan(problem));
        REQUIRE(fixture.driver.launches.size() == 1);
        const FakeLaunch& launch = fixture.driver.launches[0];
        CHECK(launch.entry == std::string("attention_wgmma_f16_256") + (maps ? "_maps" : ""));
        CHECK(launch.maps.has_value() == maps);
    }
}

TEST_CASE("launches stand between the same barriers as dispatches", "[record]") {
    Fixture fixture;
    VkfProblem problem = longProblem();
    problem.kvSplits = 2;
    CHECK(fixture.record(fixture.plan(problem)) == "lbpd"); // a merge follows
    CHECK(fixture.driver.launches.at(0).constants.key_splits == 2);
    CHECK(fixture.driver.launches.at(0).constants.type_o == VKF_STORED_F32);
    CHECK(fixture.driver.launches.at(0).params.tensor[VKF_O] == fakeAddress(6)); // scratch memory
    problem.kvSplits = 1;
    problem.batch = 3;
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    const std::string packed = fixture.record(fixture.plan(problem)); // a table and a list of tile sequences come first
    CHECK(packed.starts_with("pd"));
    CHECK(packed.ends_with("bl"));
    CHECK(std::count(packed.begin(), packed.end(), 'l') == 1);
    CHECK(fixture.driver.launches.at(0).constants.packed_sequences == 1);
    CHECK(fixture.driver.launches.at(0).constants.extra_slot == VKF_EXTRA_SLOT_HAS_TABLE);
}

TEST_CASE("a backward pass on path wgmma launches its kernels between the barriers of dispatches", "[record]") {
    Fixture fixture;
    VkfProblem forward = longProblem(VKF_PATH_WGMMA, VKF_TYPE_BF16);
    vkf::enable(forward, VKF_USE_LSE);
    forward.maxStepOperations = 60000000000;
    auto problem = vkf::make<VkfBackwardProblem>();
    problem.forward = &forward;
    problem.dout.type = VKF_TYPE_BF16;
    problem.dk.type = VKF_TYPE_F16;
    vkf::Backward backward;
    VkfMessage message{};
    const VkfResult created = vkfCreateBackward(fixture.context.get(), &problem, backward.put(), &message);
    INFO(message.text);
    REQUIRE(created == VKF_SUCCESS);
    auto call = vkf::make<VkfBindings>();
    auto bindings = vkf::make<VkfBackwardBindings>();
    bindings.forward = &call;
    uint64_t piece = 0;
    for (VkfBinding* binding : {&call.q, &call.k, &call.v, &call.o, &call.lse, &bindings.dout, &bindings.dq,
                                &bindings.dk, &bindings.dv, &bindings.scratch}) {
        binding->address = fakeAddress(piece++);
    }
    bindings.scratch.size = backward.get()->scratch.bytes();
    commands.clear();
    const VkfResult recorded = vkfCmdBackward(FakeContext::commandBuffer(), backward.get(), &bindings, &message);
    INFO(message.text);
    REQUIRE(recorded == VKF_SUCCESS);
    // The table and the states of rows, both kernels at the same time, then those of path coopmat.
    const size_t firstLaunch = commands.find('l');
    CHECK(commands.at(firstLaunch - 1) == 'b');
    CHECK(std::count(commands.begin(), commands.begin() + static_cast<ptrdiff_t>(firstLaunch), 'b') == 1);
    const size_t lastLaunch = commands.rfind('l');
    CHECK(commands.substr(firstLaunch, lastLaunch + 1 - firstLaunch) == std::string(lastLaunch + 1 - firstLaunch, 'l'));
    CHECK(commands.substr(lastLaunch + 1).starts_with("bpd"));
    uint32_t items[2] = {};
    for (const FakeLaunch& one : fixture.driver.launches) {
        const bool ofKeys = one.entry == "backward_wgmma_keys_bf16_128";
        CHECK((ofKeys || one.entry == "backward_wgmma_rows_bf16_128"));
        const vkf::shared::WgmmaTile& tile =
            vkf::wgmmaTileFor(ofKeys ? vkf::Kernel::backwardWgmmaKeys : vkf::Kernel::backwardWgmmaRows, 128, 128);
        CHECK(one.block == std::array{tile.threads, 1U, 1U});
        CHECK(one.sharedBytes == tile.shared_bytes);
        CHECK(one.params.first_item == items[ofKeys ? 1 : 0]);
        items[ofKeys ? 1 : 0] += one.grid[0];
        CHECK(one.params.tensor[VKF_Q] == fakeAddress(0));
        CHECK(one.params.tensor[VKF_K] == fakeAddress(1));
        CHECK(one.params.tensor[VKF_V] == fakeAddress(2));
        CHECK(one.params.tensor[VKF_DOUT] == fakeAddress(5));
        CHECK(one.params.heads == (16 | 4 << 16));
        CHECK(one.constants.extra_slot == VKF_EXTRA_SLOT_HAS_TABLE);
        CHECK(one.constants.type_dq == VKF_STORED_F32);
        CHECK(one.constants.type_dk == VKF_STORED_F16);
    }
    CHECK(items[0] == 4096 / vkf::shared::WGMMA_BACKWARD_ROW_TILES[1].rows * 16);
    CHECK(items[1] == 4096 / vkf::shared::WGMMA_BACKWARD_KEY_TILES[1].keys * 4);
}

TEST_CASE("each type, head dimension and kind of scores has its kernel, loaded once for all plans of a context",
          "[record]") {
    Fixture fixture;
    std::vector<std::string> expected;
    for (int turn = 0; turn < 2; turn++) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            for (const uint32_t dim : {40U, 128U, 200U}) {
                for (const bool terms : {false, true}) {
                    VkfProblem problem = longProblem(VKF_PATH_WGMMA, type, dim);
                    problem.softcap = terms && dim != 40 ? 20.0F : 0.0F;
                    vkf::enable(problem, VKF_USE_ALIBI, terms && dim != 128);
                    fixture.record(fixture.plan(problem));
                    const std::string entry = std::string("attention_wgmma_") + vkfTypeName(type) +
                                              (dim == 40    ? "_64"
                                               : dim == 128 ? "_128"
                                                            : "_256") +
                                              (terms        ? "_terms"
                                               : dim == 200 ? "_maps"
                                                            : "");
                    REQUIRE(fixture.driver.launches.size() == 1);
                    CHECK(fixture.driver.launches[0].entry == entry);
                    if (turn == 0) {
                        expected.push_back(entry);
                    }
                }
            }
        }
    }
    CHECK(fixture.driver.modules == expected);
}

TEST_CASE("a plan that does not use path wgmma loads no kernel, and a context destroys its kernels", "[record]") {
    FakeLaunches driver;
    {
        FakeContext context(hopperCaps());
        CHECK(driver.modules.empty());
        VkfProblem problem = longProblem(VKF_PATH_COOPMAT);
        vkf::Plan plan;
        CHECK(vkfCreatePlan(context.get(), &problem, plan.put(), nullptr) == VKF_SUCCESS);
        CHECK(driver.modules.empty());
        problem.path = VKF_PATH_WGMMA;
        CHECK(vkfCheckSupport(context.get(), &problem, nullptr) == VKF_SUCCESS);
        CHECK(driver.modules.empty());
        vkf::Plan launched;
        CHECK(vkfCreatePlan(context.get(), &problem, launched.put(), nullptr) == VKF_SUCCESS);
        CHECK(driver.livingModules == 1);
        CHECK(driver.livingFunctions == 1);
    }
    CHECK(driver.livingModules == 0);
    CHECK(driver.livingFunctions == 0);
}

TEST_CASE("a driver that refuses a kernel closes path wgmma: AUTO falls back, and who asks for it gets the reason",
          "[record]") {
    for (const bool ofModule : {true, false}) {
        Fixture fixture;
        (ofModule ? fixture.driver.moduleResult : fixture.driver.functionResult) = VK_ERROR_INITIALIZATION_FAILED;
        const std::string reason = std::string("path wgmma: the driver refused kernel attention_wgmma_f16_128: ") +
                                   (ofModule ? "vkCreateCuModuleNVX" : "vkCreateCuFunctionNVX") +
                                   " returned VkResult -3";
        const vkf::Plan plan = fixture.plan(longProblem());
        CHECK(pathOf(plan) == VKF_PATH_COOPMAT);
        CHECK(whyNot(plan) == reason);
        CHECK(fixture.record(plan).find('l') == std::string::npos);
        CHECK(fixture.driver.livingModules == 0);
        CHECK(fixture.driver.livingFunctions == 0);
        VkfMessage message{};
        CHECK(fixture.refusal(longProblem(VKF_PATH_WGMMA), &message) == VKF_ERROR_UNSUPPORTED);
        CHECK(std::string(message.text) == reason);
        VkfProblem asked = longProblem(VKF_PATH_WGMMA);
        CHECK(vkfCheckSupport(fixture.context.get(), &asked, nullptr) == VKF_ERROR_UNSUPPORTED);
        // The driver is not asked again, for other kernels too.
        fixture.driver.moduleResult = fixture.driver.functionResult = VK_SUCCESS;
        CHECK(pathOf(fixture.plan(longProblem(VKF_PATH_AUTO, VKF_TYPE_BF16, 64))) == VKF_PATH_COOPMAT);
        CHECK(fixture.driver.modules.size() == 1);
        // Another context asks for itself.
        Fixture other;
        CHECK(pathOf(other.plan(longProblem())) == VKF_PATH_WGMMA);
    }
}

TEST_CASE("plans that were made before a refusal go on to launch", "[record]") {
    Fixture fixture;
    const vkf::Plan before = fixture.plan(longProblem(VKF_PATH_WGMMA));
    fixture.driver.moduleResult = VK_ERROR_INITIALIZATION_FAILED;
    CHECK(pathOf(fixture.plan(longProblem(VKF_PATH_AUTO, VKF_TYPE_BF16))) == VKF_PATH_COOPMAT);
    CHECK(pathOf(fixture.plan(longProblem())) == VKF_PATH_COOPMAT);
    CHECK(fixture.record(before) == "l");
    CHECK(fixture.driver.launches.at(0).entry == "attention_wgmma_f16_128");
}

TEST_CASE("who asks for path wgmma first gets the driver's refusal", "[record]") {
    Fixture fixture;
    fixture.driver.moduleResult = VK_ERROR_UNKNOWN;
    VkfMessage message{};
    CHECK(fixture.refusal(longProblem(VKF_PATH_WGMMA), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("vkCreateCuModuleNVX returned VkResult -13"));
    CHECK(fixture.driver.modules.size() == 1);
}

TEST_CASE("a kernel that finds no memory is an error, and the next call tries again", "[record]") {
    for (const bool ofModule : {true, false}) {
        Fixture fixture;
        VkResult& result = ofModule ? fixture.driver.moduleResult : fixture.driver.functionResult;
        for (const VkResult error : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
            result = error;
            VkfMessage message{};
            CHECK(
                fixture.refusal(longProblem(), &message) ==
                (error == VK_ERROR_OUT_OF_HOST_MEMORY ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_ERROR_OUT_OF_DEVICE_MEMORY));
            CHECK_THAT(std::string(message.text), ContainsSubstring("memory"));
            CHECK(fixture.driver.livingModules == 0);
        }
        result = VK_SUCCESS;
        CHECK(pathOf(fixture.plan(longProblem())) == VKF_PATH_WGMMA);
    }
}

TEST_CASE("a kernel that loses the device loses it for the context", "[record]") {
    Fixture fixture;
    fixture.driver.moduleResult = VK_ERROR_DEVICE_LOST;
    VkfMessage message{};
    CHECK(fixture.refusal(longProblem(), &message) == VKF_ERROR_DEVICE_LOST);
    fixture.driver.moduleResult = VK_SUCCESS;
    CHECK(fixture.refusal(longProblem(), &message) == VKF_ERROR_DEVICE_LOST);
    CHECK(fixture.refusal(longProblem(VKF_PATH_COOPMAT), &message) == VKF_ERROR_DEVICE_LOST);
    CHECK(fixture.driver.modules.size() == 1);
}

TEST_CASE("a context without the extension or without the kernels has no path wgmma", "[record]") {
    const VkfContextCreateInfo info{};
    const auto reasonOf = [&info](const vkf::DeviceFunctions& functions, const vkf::PtxTexts& texts) {
        const VkfContext_T context(info, hopperCaps(), {}, functions, texts);
        const char* reason = context.tunedDevice().noLaunches;
        return std::string(reason != nullptr ? reason : "");
    };
    vkf::DeviceFunctions functions;
    CHECK(reasonOf(functions, FakeLaunches::texts()) == "the device was created without VK_NVX_binary_import");
    FakeLaunches::addTo(&functions);
    CHECK(reasonOf(functions, FakeLaunches::texts()).empty());
    CHECK(reasonOf(functions, {}) == "its kernels are left out of this build");
    const vkf::PtxText missing[] = {{"attention_wgmma_f16_128", 0, 0, "built without a compiler for it"}};
    CHECK(reasonOf(functions, {missing, {}}) == "built without a compiler for it");
}

TEST_CASE("a kernel that the build lacks closes path wgmma", "[record]") {
    FakeLaunches driver;
    vkf::DeviceFunctions functions = (*FakeContext(hopperCaps())).functions;
    const VkfContextCreateInfo info{};
    vkf::PtxTexts few = FakeLaunches::texts();
    few.all = few.all.first(1); // of fp16, 64 columns
    VkfContext_T context(info, hopperCaps(), {}, functions, few);
    vkf::Plan plan;
    const VkfProblem narrow = longProblem(VKF_PATH_WGMMA, VKF_TYPE_F16, 64);
    CHECK(vkfCreatePlan(&context, &narrow, plan.put(), nullptr) == VKF_SUCCESS);
    vkf::Plan wide;
    VkfMessage message{};
    const VkfProblem problem = longProblem(VKF_PATH_WGMMA);
    CHECK(vkfCreatePlan(&context, &problem, wide.put(), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "path wgmma: kernel attention_wgmma_f16_128 is left out of this build");
}

TEST_CASE("damaged kernels close path wgmma", "[record]") {
    FakeLaunches driver;
    const vkf::DeviceFunctions functions = (*FakeContext(hopperCaps())).functions;
    const VkfContextCreateInfo info{};
    vkf::PtxTexts damaged = FakeLaunches::texts();
    damaged.isPlain = false; // the names are no XZ stream
    VkfContext_T context(info, hopperCaps(), {}, functions, damaged);
    vkf::Plan plan;
    VkfMessage message{};
    const VkfProblem problem = longProblem(VKF_PATH_WGMMA);
    CHECK(vkfCreatePlan(&context, &problem, plan.put(), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "path wgmma: the kernels of this build are damaged");
}

TEST_CASE("threads that make plans load a kernel once, and a refusal reaches all of them", "[record]") {
    for (const VkResult result : {VK_SUCCESS, VK_ERROR_INITIALIZATION_FAILED}) {
        Fixture fixture;
        fixture.driver.moduleResult = result;
        std::vector<vkf::Plan> plans(8);
        std::vector<VkfResult> results(plans.size(), VKF_ERROR_VULKAN);
        std::vector<std::thread> threads;
        const VkfProblem problem = longProblem();
        for (size_t i = 0; i < plans.size(); i++) {
            threads.emplace_back(
                [&, i] { results[i] = vkfCreatePlan(fixture.context.get(), &problem, plans[i].put(), nullptr); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        for (size_t i = 0; i < plans.size(); i++) {
            CHECK(results[i] == VKF_SUCCESS);
            CHECK(pathOf(plans[i]) == (result == VK_SUCCESS ? VKF_PATH_WGMMA : VKF_PATH_COOPMAT));
        }
        CHECK(fixture.driver.modules.size() == 1); // a refused kernel is not asked for again
    }
}

// SPDX-License-Identifier: MIT
//
// Maps of tiles in memory of the caller (VKF_USE_TILE_MAP): made once, read by many calls, with the bits of a call that
// makes its own map.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "functions/compiled_example.hpp"
#include "functions/situations.hpp"
#include "support/call.hpp"
#include "support/device.hpp"
#include "support/guarded.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::CompiledExample;
using vkf::test::Data;
using vkf::test::Example;
using vkf::test::Guarded;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Variation;

constexpr std::array<uint32_t, 2> pathsWithMaps = {0, 4}; // scalar, coopmat

void require(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw vkf::host::Error(result, message.text);
    }
}

// A call whose map lies in memory of its own. Everything but the map is poisoned before each run.
class KeptMap {
public:
    KeptMap(vkf::host::Device& device, VkfProblem problem, const Inputs& inputs)
        : device_(device), problem_(withMap(problem)), plan_(device, problem_), memory_(device, inputs),
          o_(device, vkf::layoutOf(problem_, VKF_TENSOR_O).elements * vkfTypeBytes(problem_.o.type)),
          lse_(device, vkfGetArrayBytes(&problem_, VKF_ARRAY_LSE)), scratch_(device, plan_.info().scratchBytes),
          tileMap_(device, plan_.info().tileMapBytes) {}

    const VkfPlanInfo& info() const { return plan_.info(); }
    std::vector<std::byte> map() const { return tileMap_.download(device_); }
    bool guardsIntact() const {
        return o_.intact(o_.download(device_)) && lse_.intact(lse_.download(device_)) &&
               scratch_.intact(scratch_.download(device_)) && tileMap_.intact(tileMap_.download(device_));
    }

    void makeMap() {
        device_.submit([&](VkCommandBuffer commands) {
            VkfMessage message{};
            const VkfBindings all = bindings();
            require(vkfCmdMapTiles(commands, plan_.handle(), &all, &message), message);
        });
    }

    // Returns o.
    std::vector<std::byte> run() {
        for (const Guarded* written : {&o_, &lse_, &scratch_}) {
            device_.fill(written->buffer, vkf::test::poison);
        }
        device_.submit([&](VkCommandBuffer commands) {
            VkfMessage message{};
            const VkfBindings all = bindings();
            require(vkfCmdAttention(commands, plan_.handle(), &all, &message), message);
        });
        const std::vector<std::byte> all = o_.download(device_);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(o_.offset);
        return {first, first + static_cast<std::ptrdiff_t>(o_.bytes)};
    }

private:
    static VkfProblem withMap(VkfProblem problem) {
        vkf::enable(problem, VKF_USE_TILE_MAP);
        return problem;
    }

    VkfBindings bindings() const {
        VkfBindings bindings = memory_.bindings(problem_);
        bindings.o = o_.binding();
        bindings.lse = lse_.binding();
        bindings.scratch = scratch_.binding();
        bindings.tileMap = tileMap_.binding();
        return bindings;
    }

    vkf::host::Device& device_;
    VkfProblem problem_;
    vkf::host::Plan plan_;
    vkf::test::DeviceInputs memory_;
    Guarded o_, lse_, scratch_, tileMap_;
};

// Runs the problem with a map of its own, and twice with one kept map.
void check(vkf::host::Device& device, const VkfProblem& problem, const Data& data) {
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    const Outcome own = vkf::test::runCall(device, problem, inputs);
    INFO(own.text());
    CHECK(own.passed());
    KeptMap kept(device, problem, inputs);
    REQUIRE(kept.info().tileMapBytes > 0);
    CHECK(kept.info().tileMapBytes == own.plan.tileMapBytes);
    CHECK(kept.info().scratchBytes + kept.info().tileMapBytes <= own.plan.scratchBytes);
    kept.makeMap();
    const std::vector<std::byte> map = kept.map();
    CHECK((kept.run() == own.o));
    CHECK((kept.run() == own.o));
    CHECK((kept.map() == map)); // calls only read it
    CHECK(kept.guardsIntact());
}

// Functions that keep all pairs, some pairs of all heads, and some pairs of each head.
std::vector<Example> someExamples() {
    std::vector<Example> some;
    for (const Example& example : vkf::test::examples()) {
        for (const char* file : {"masks/natten.glsl", "masks/document.glsl", "masks/spatial_temporal_heads.glsl"}) {
            if (example.file == file) {
                some.push_back(example);
            }
        }
    }
    return some;
}

} // namespace

TEST_CASE("a kept map of functions gives the bits of a map of each call", "[kept_map]") {
    const std::vector<vkf::test::Situation>& situations = vkf::test::situations();
    size_t turn = 0;
    for (const Example& example : someExamples()) {
        const CompiledExample compiled(example);
        for (const char* name : {"as it is", "key lengths", "bias and sinks", "blocks of keys", "mask and documents"}) {
            const size_t number = turn++;
            const size_t ofExample = number % 5;
            // The second example has every situation, the others have two and three. So each example and each situation
            // still has both paths.
            const bool isExtra = (number < 5 && ofExample >= 2) || (number >= 10 && ofExample < 2);
            if (isExtra && !vkf::test::wholeSweeps()) {
                continue;
            }
            const Variation& variation = vkf::test::variations[pathsWithMaps[number % pathsWithMaps.size()]];
            const auto situation = std::find_if(situations.begin(), situations.end(),
                                                [name](const auto& one) { return std::string(name) == one.name; });
            VkfProblem problem = problemOf({2, 4, 2, example.rows, example.keys, 32, 0, VKF_TYPE_F16});
            Data data;
            situation->change(problem, data);
            compiled.use(problem, data);
            problem = vkf::test::fitted(deviceOf(variation), problem);
            if (!takes(variation, problem)) {
                continue;
            }
            apply(variation, problem);
            INFO(example.file << " on " << variation.name << ", " << name);
            check(deviceOf(variation), problem, data);
        }
    }
}

TEST_CASE("a kept map of a mask gives the bits of a map of each call", "[kept_map]") {
    for (const uint32_t number : pathsWithMaps) {
        const Variation& variation = vkf::test::variations[number];
        VkfProblem problem = problemOf({2, 4, 2, 150, 700, 40, 0, VKF_TYPE_F16});
        problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL8, false, true, true);
        vkf::enable(problem, VKF_USE_MASK | VKF_USE_CAUSAL);
        problem = vkf::test::fitted(deviceOf(variation), problem);
        if (!takes(variation, problem)) {
            continue;
        }
        apply(variation, problem);
        Data data;
        data.maskSquare = 100;
        INFO(variation.name);
        check(deviceOf(variation), problem, data);
    }
}

TEST_CASE("one map serves calls with other tensors", "[kept_map]") {
    vkf::host::Device& device = deviceOf(vkf::test::variations[0]);
    VkfProblem problem = problemOf({1, 2, 2, 150, 300, 32, 0, VKF_TYPE_F32});
    problem.path = VKF_PATH_SCALAR;
    problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL8, false, false, true);
    vkf::enable(problem, VKF_USE_MASK);
    Data data;
    data.maskSquare = 64;
    data.poisonInvisibleKeys = false;
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    Inputs other = inputs;
    std::swap(other.k, other.v);
    const Outcome own = vkf::test::runCall(device, problem, other);
    CHECK(own.passed());

    vkf::enable(problem, VKF_USE_TILE_MAP);
    vkf::host::Attention attention(device, problem);
    std::vector<std::byte> o(own.o.size());
    std::vector<float> lse(own.lse.size());
    vkf::host::HostTensors tensors;
    tensors.q = other.q.data();
    tensors.k = other.k.data();
    tensors.v = other.v.data();
    tensors.mask = other.mask.data();
    tensors.o = o.data();
    tensors.lse = lse.data();
    attention.upload(tensors);
    for (int run = 0; run < 2; run++) { // only the first one makes the map
        attention.run();
        attention.download(tensors);
        CHECK((o == own.o));
    }
}

TEST_CASE("a plan without a map makes none and reads none", "[kept_map]") {
    vkf::host::Device& device = vkf::test::testDevice();
    VkfProblem problem = problemOf({1, 2, 2, 20, 30, 32, 0, VKF_TYPE_F32});
    problem.path = VKF_PATH_SCALAR;
    const Inputs inputs = vkf::test::makeInputs(problem, {});
    const Outcome own = vkf::test::runCall(device, problem, inputs);
    KeptMap kept(device, problem, inputs);
    CHECK(kept.info().tileMapBytes == 0);
    kept.makeMap();
    CHECK((kept.run() == own.o));
}

TEST_CASE("the map of a monotone mask looks at the corners of tiles", "[kept_map]") {
    // The promise is wrong, so that the result shows who looked at the pairs inside of tiles.
    const std::string keep = "bool keep(Position at) { return at.key % 64 != 20; }\n";
    VkfReferenceFunctions formulas{};
    formulas.keep = [](const VkfPosition* at, void*) -> int32_t { return at->key % 64 != 20; };
    const CompiledExample honest(keep, formulas);
    const CompiledExample promised("const bool keepIsMonotone = true;\n" + keep, formulas);
    for (const uint32_t number : pathsWithMaps) {
        const Variation& variation = vkf::test::variations[number];
        VkfProblem plain = problemOf({1, 2, 2, 150, 300, 32, 0, VKF_TYPE_F16});
        plain = vkf::test::fitted(deviceOf(variation), plain);
        if (!takes(variation, plain)) {
            continue;
        }
        apply(variation, plain);
        INFO(variation.name);
        Data data;
        data.poisonInvisibleKeys = false;
        VkfProblem problem = plain;
        honest.use(problem, data);
        CHECK(vkf::test::runCall(deviceOf(variation), problem, vkf::test::makeInputs(problem, data)).passed());
        promised.use(problem, data);
        const Inputs inputs = vkf::test::makeInputs(problem, data);
        CHECK_FALSE(vkf::test::runCall(deviceOf(variation), problem, inputs).passed());
        CHECK(vkf::test::runCall(deviceOf(variation), plain, inputs).passed());
        vkf::enable(problem, VKF_USE_MASK); // then every pair is looked at
        problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL8, false, false, true);
        data.maskDensity = 1.0;
        CHECK(vkf::test::runCall(deviceOf(variation), problem, vkf::test::makeInputs(problem, data)).passed());
    }
}

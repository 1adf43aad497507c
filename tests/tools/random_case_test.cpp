// SPDX-License-Identifier: MIT
//
// The random calls of `vkflash soak`.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <vkflash/reference.h>

#include "soak/random_case.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"
#include "vkflash/problem.hpp"

namespace {

using vkf::tools::CaseInputs;
using vkf::tools::RandomCase;

// Names of the features that a call has.
std::map<std::string, int> featuresOf(const RandomCase& random) {
    const VkfProblem& p = random.problem;
    std::map<std::string, int> features;
    for (uint32_t bit = 0; bit < 15; bit++) {
        features["array " + std::to_string(bit)] = (p.use >> bit & 1) != 0 ? 1 : 0;
    }
    features[std::string("path ") + vkfPathName(p.path)] = 1;
    features[std::string("q ") + vkfTypeName(p.q.type)] = 1;
    features[std::string("k ") + vkfTypeName(p.k.type)] = 1;
    features["strides"] = p.q.rowStride != 0 || p.k.rowStride != 0 ? 1 : 0;
    features["chosen keys"] = vkf::has(p, VKF_USE_CHOSEN_KEYS) ? 1 : 0;
    features["chosen keys in pages"] = vkf::has(p, VKF_USE_CHOSEN_KEYS) && vkf::has(p, VKF_USE_BLOCK_TABLE) ? 1 : 0;
    features["causal"] = vkf::has(p, VKF_USE_CAUSAL) ? 1 : 0;
    features["window"] = vkf::has(p, VKF_USE_WINDOW) ? 1 : 0;
    features["softcap"] = p.softcap != 0 ? 1 : 0;
    features["dropout"] = p.dropout.probability != 0 ? 1 : 0;
    features[std::string("backward ") + vkfPathName(random.backwardPath)] = random.backward ? 1 : 0;
    return features;
}

} // namespace

TEST_CASE("random calls are valid, and together have every feature", "[files]") {
    std::map<std::string, int> seen;
    int unsupported = 0;
    constexpr int cases = 2000;
    for (uint64_t seed = 1; seed <= cases; seed++) {
        const RandomCase random(seed);
        VkfMessage message{};
        const VkfResult code = vkfCheckProblem(&random.problem, &message);
        INFO("seed " << seed << ": " << message.text);
        CHECK((code == VKF_SUCCESS || code == VKF_ERROR_UNSUPPORTED));
        unsupported += code == VKF_ERROR_UNSUPPORTED ? 1 : 0;
        for (const auto& [feature, has] : featuresOf(random)) {
            seen[feature] += has;
        }
    }
    CHECK(unsupported < cases / 4);
    for (const auto& [feature, count] : seen) {
        INFO(feature);
        if (feature != "array 2") { // rows of probabilities, which the program does not choose at random
            CHECK(count > 10);
        }
    }
}

TEST_CASE("random calls on path wgmma are calls that the path takes", "[files]") {
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        RandomCase random(seed);
        random.takeWgmma();
        VkfMessage message{};
        INFO("seed " << seed << ": " << vkf::test::describe(random.problem));
        REQUIRE(vkfCheckProblem(&random.problem, &message) == VKF_SUCCESS);
        CHECK(vkf::test::planOf(vkf::test::hopperCaps(), random.problem).path == VKF_PATH_WGMMA);
    }
}

TEST_CASE("a seed gives the same call and the same tensors", "[files]") {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const RandomCase one(seed);
        const RandomCase other(seed);
        CHECK(vkf::test::describe(one.problem) == vkf::test::describe(other.problem));
        CHECK(one.starts == other.starts);
        if (vkfCheckProblem(&one.problem, nullptr) != VKF_SUCCESS) {
            continue;
        }
        CaseInputs first(one, seed);
        CaseInputs second(other, seed);
        const VkfTensorLayout q = vkf::layoutOf(one.problem, VKF_TENSOR_Q);
        CHECK(std::memcmp(first.pointers().q, second.pointers().q, vkfStoredBytes(q.type, q.elements)) == 0);
        const uint64_t bias = vkfGetArrayBytes(&one.problem, VKF_ARRAY_BIAS);
        CHECK((bias == 0 || std::memcmp(first.pointers().bias, second.pointers().bias, bias) == 0));
    }
}

TEST_CASE("one call in twenty has large finite numbers in every tensor that may hold them", "[files]") {
    std::map<std::string, int> grown;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const RandomCase random(seed);
        if (!random.extreme || vkfCheckProblem(&random.problem, nullptr) != VKF_SUCCESS) {
            CHECK((random.extreme || random.growth.q + random.growth.k + random.growth.v == 0));
            continue;
        }
        grown["q"] += random.growth.q > 8 ? 1 : 0;
        grown["k"] += random.growth.k > 8 ? 1 : 0;
        grown["v"] += random.growth.v > 8 ? 1 : 0;
        grown["dout"] += random.growth.dout > 2 ? 1 : 0;
        grown["dlse"] += random.growth.dlse > 8 ? 1 : 0;
        CaseInputs inputs(random, seed);
        const VkfTensorLayout q = vkf::layoutOf(random.problem, VKF_TENSOR_Q);
        double largest = 0.0;
        for (uint64_t i = 0; i < q.elements; i++) {
            const double x = vkfLoadElement(q.type, inputs.pointers().q, i);
            REQUIRE(std::isfinite(x));
            largest = std::max(largest, std::abs(x));
        }
        CHECK((random.growth.q < 8 || q.elements < 4000 || largest > 64.0));
    }
    for (const char* name : {"q", "k", "v", "dout", "dlse"}) {
        INFO(name);
        CHECK(grown[name] > 3);
    }
}

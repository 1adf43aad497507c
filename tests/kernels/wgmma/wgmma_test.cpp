// SPDX-License-Identifier: MIT
//
// Path wgmma against the reference: sizes around its tiles, everything that it takes, and numbers that its types hold
// only just. Devices without the path skip these tests. The random tests and the pairs of features cover the path too.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/wgmma/checked_call.hpp"
#include "pipelines/wgmma_kernels.hpp"
#include "support/call.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::problemOf;
using Bytes = std::vector<std::byte>;

constexpr std::array types = {VKF_TYPE_F16, VKF_TYPE_BF16};

vkf::test::Outcome check(const VkfProblem& problem, const Data& data = {}) {
    return vkf::test::checkOnWgmma(problem, data);
}

// Numbers around multiples of a tile's side.
std::vector<uint32_t> around(uint32_t side) {
    return {1, side / 2, side - 1, side, side + 1, 2 * side, 2 * side + 1, 5 * side - 1};
}

void setElements(VkfType type, Bytes& bytes, double (*number)(uint64_t index)) {
    const uint64_t count = bytes.size() / vkfTypeBytes(type);
    for (uint64_t i = 0; i < count; i++) {
        vkfStoreElement(type, bytes.data(), i, number(i));
    }
}

} // namespace

TEST_CASE("path wgmma agrees with the reference for rows and keys around its tiles", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const VkfType type : types) {
        for (const vkf::shared::WgmmaTile& tile : vkf::shared::WGMMA_TILES) {
            const std::vector<uint32_t> rows = around(tile.rows);
            const std::vector<uint32_t> keys = around(tile.keys);
            for (size_t i = 0; i < rows.size(); i++) {
                for (size_t j = 0; j < keys.size(); j++) {
                    VkfProblem problem = problemOf({1, 2, 1, rows[i], keys[j], tile.dim, 0, type});
                    vkf::enable(problem, VKF_USE_CAUSAL, (i + j) % 2 == 1);
                    check(problem);
                }
            }
        }
    }
}

TEST_CASE("path wgmma agrees with the reference for every multiple of 8 columns", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (uint32_t dim = 8; dim <= 256; dim += 8) {
        const VkfType type = types[dim / 8 % 2];
        check(problemOf({2, 3, 1, 70, 150, dim, 0, type}));
        check(problemOf({1, 2, 2, 70, 150, dim, 264 - dim, type}));
    }
}

TEST_CASE("path wgmma agrees with the reference with each of its masks, terms and outputs", "[attention_wgmma]") {
    vkf::test::needWgmma();
    struct Feature {
        const char* name;
        void (*set)(VkfProblem& p, Data& data);
    };
    const Feature features[] = {
        {"o of fp32", [](VkfProblem& p, Data&) { p.o.type = VKF_TYPE_F32; }},
        {"o of bf16", [](VkfProblem& p, Data&) { p.o.type = VKF_TYPE_BF16; }},
        {"no lse", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_LSE, false); }},
        {"causal, top left",
         [](VkfProblem& p, Data&) {
             vkf::enable(p, VKF_USE_CAUSAL);
             p.alignment = VKF_ALIGNMENT_TOP_LEFT;
         }},
        {"a window", [](VkfProblem& p, Data&) { vkf::test::setWindow(p, 100, 30); }},
        {"a narrow window", [](VkfProblem& p, Data&) { vkf::test::setWindow(p, 0, 0); }},
        {"a window and first keys",
         [](VkfProblem& p, Data&) {
             vkf::test::setWindow(p, 100, -1);
             p.window.firstKeys = 11;
         }},
        {"key lengths",
         [](VkfProblem& p, Data& data) {
             vkf::enable(p, VKF_USE_KEY_LENGTHS);
             data.keyLengths = {0, 333};
         }},
        {"packed sequences",
         [](VkfProblem& p, Data& data) {
             vkf::test::setPacked(p, data, {200, 0, 193, 1, 40}, {100, 7, 333, 0, 65});
         }},
        {"scale", [](VkfProblem& p, Data&) { p.scale = -0.3F; }},
        {"softcap", [](VkfProblem& p, Data&) { p.softcap = 3.0F; }},
        {"ALiBi", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_ALIBI); }},
        {"ALiBi with slopes", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_ALIBI | VKF_USE_ALIBI_SLOPES); }},
        {"sinks", [](VkfProblem& p, Data&) { vkf::enable(p, VKF_USE_SINKS); }},
        {"key splits", [](VkfProblem& p, Data&) { p.kvSplits = 3; }},
        {"more key splits than tiles", [](VkfProblem& p, Data&) { p.kvSplits = 40; }},
        {"many steps", [](VkfProblem& p, Data&) { p.maxStepOperations = 1; }},
    };
    for (const VkfType type : types) {
        for (const uint32_t dim : {64U, 128U, 256U}) {
            for (const Feature& feature : features) {
                for (const bool causal : {false, true}) {
                    INFO(feature.name);
                    Data data;
                    VkfProblem problem = problemOf({2, 6, 2, 150, 400, dim, 0, type});
                    vkf::enable(problem, VKF_USE_CAUSAL, causal);
                    feature.set(problem, data);
                    vkf::test::endAtDiagonal(problem);
                    check(problem, data);
                }
            }
        }
    }
}

TEST_CASE("path wgmma keeps probabilities and outputs that grow from tile to tile finite", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const VkfType type : types) {
        for (const uint32_t dim : {64U, 128U, 256U}) {
            // The score of a key is its number times a step. Later keys outweigh all keys before, or the other way.
            for (const double step : {0.01, 0.7, 3.0, -0.7}) {
                VkfProblem problem = problemOf({1, 1, 1, 200, 700, dim, 0, type});
                problem.scale = static_cast<float>(step);
                Data data;
                data.edit = [&](Bytes& q, Bytes& k, Bytes& v) {
                    setElements(type, q, [](uint64_t) { return 0.0; });
                    setElements(type, k, [](uint64_t) { return 0.0; });
                    for (uint64_t row = 0; row < 200; row++) {
                        vkfStoreElement(type, q.data(), row * dim, 1.0);
                    }
                    for (uint64_t key = 0; key < 700; key++) {
                        vkfStoreElement(type, k.data(), key * dim, static_cast<double>(key));
                    }
                    setElements(type, v, [](uint64_t i) { return i % 2 == 0 ? 60000.0 : -60000.0; });
                };
                check(problem, data);
            }
        }
    }
}

TEST_CASE("on path wgmma infinity and NaN in v reach the rows that see them", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const VkfType type : types) {
        for (const uint32_t dim : {64U, 128U, 256U}) {
            VkfProblem problem = problemOf({2, 2, 1, 200, 300, dim, 0, type});
            vkf::enable(problem, VKF_USE_CAUSAL);
            Data data;
            data.edit = [&](Bytes&, Bytes&, Bytes& v) {
                for (const uint64_t key : {47U, 190U, 299U, 300U + 120}) {
                    vkfStoreElement(type, v.data(), key * dim + key % 8,
                                    key == 190 ? std::numeric_limits<double>::quiet_NaN()
                                               : std::numeric_limits<double>::infinity());
                }
            };
            check(problem, data);
        }
    }
}

TEST_CASE("on path wgmma rows, heads and sequences may share k and v by strides of 0", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : {64U, 128U, 256U}) {
        VkfProblem problem = problemOf({3, 4, 4, 200, 300, dim, 0, VKF_TYPE_F16});
        problem.k.rowStride = problem.v.rowStride = dim + 8;
        problem.v.batchStride = 300 * (dim + 8);
        check(problem);
        problem.k.rowStride = 0;
        problem.k.headStride = dim;
        check(problem);
    }
}

TEST_CASE("path wgmma gives the same bits in each call", "[attention_wgmma]") {
    vkf::test::needWgmma();
    for (const uint32_t dim : {64U, 128U, 256U}) {
        VkfProblem problem = problemOf({2, 4, 2, 300, 500, dim, 0, VKF_TYPE_F16});
        vkf::enable(problem, VKF_USE_CAUSAL);
        const vkf::test::Outcome first = check(problem);
        for (int i = 0; i < 3; i++) {
            const vkf::test::Outcome again = check(problem);
            CHECK(again.o == first.o);
            CHECK(again.lse == first.lse);
        }
    }
}

TEST_CASE("a device with the extension and with the kernels offers path wgmma, and AUTO takes it for long calls",
          "[attention_wgmma]") {
    const vkf::host::Device& device = vkf::test::testDevice();
    if ((device.summary().features & VKF_FEATURE_BINARY_IMPORT) == 0) {
        vkf::test::needWgmma(); // skips
    }
    VkfProblem problem = problemOf({1, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16});
    VkfMessage message{};
    vkf::Plan plan;
    const VkfResult result = vkfCreatePlan(device.context(), &problem, plan.put(), &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    auto info = vkf::make<VkfPlanInfo>();
    REQUIRE(vkfGetPlanInfo(plan.get(), &info, nullptr) == VKF_SUCCESS);
    INFO(info.description);
    CHECK((info.path == VKF_PATH_WGMMA || !vkf::test::hasWgmma()));
    problem.path = VKF_PATH_WGMMA;
    const VkfResult asked = vkfCreatePlan(device.context(), &problem, plan.put(), &message);
    INFO(message.text);
    CHECK((asked == VKF_SUCCESS) == vkf::test::hasWgmma());
}

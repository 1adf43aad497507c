// SPDX-License-Identifier: MIT
//
// Tiles of path coopmat whose subgroups have two matrices of rows. Under most masks these matrices are spread over the
// tile, and where registers are short, depths of q lie in shared memory. The library chooses such tiles for large
// problems on GPUs; tuning data chooses them here, for small problems on any device.
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::problemOf;
using vkf::test::setWindow;
using vkf::test::testDevice;

// Four subgroups with two matrices each, and few keys in a tile: many tiles are seen by some matrices only.
std::string tuningOfTwoMatrices() {
    std::string text = vkf::test::tuningHead(testDevice());
    for (const char* type : {"f16", "bf16", "f32"}) {
        for (const char* masked : {"no", "yes"}) {
            text += fmt::format("coopmat type={} masked={} headDim=1..256 valueDim=1..256 rows=1..9999 keys=1..9999 "
                                "heads=1..99 subgroups=4 rowTiles=2 keyTiles=1 splits=1\n",
                                type, masked);
        }
    }
    return text;
}

void causal(VkfProblem& p) { p.causal = 1; }
void topLeft(VkfProblem& p) {
    causal(p);
    p.alignment = VKF_ALIGNMENT_TOP_LEFT;
}
void window(VkfProblem& p) { setWindow(p, 50, 9); }
void narrowWindow(VkfProblem& p) { setWindow(p, 3, 0); }
void firstKeys(VkfProblem& p) { setWindow(p, 40, 0, 19); }
void keyLengths(VkfProblem& p) {
    causal(p);
    vkf::enable(p, VKF_ARRAY_KEY_LENGTHS);
}
void softcap(VkfProblem& p) {
    causal(p);
    p.softcap = 2.0F;
}
void alibi(VkfProblem& p) {
    causal(p);
    p.alibi = 1;
}
void bias(VkfProblem& p) {
    causal(p);
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F16, false, true, true, 3);
    vkf::enable(p, VKF_ARRAY_BIAS);
}
void mask(VkfProblem& p) {
    window(p);
    p.mask = vkf::test::broadcast(p, VKF_TYPE_BOOL1, false, false, true);
    vkf::enable(p, VKF_ARRAY_MASK);
}
void documents(VkfProblem& p) {
    causal(p);
    vkf::enable(p, VKF_ARRAY_DOCUMENT_IDS);
}
void dropout(VkfProblem& p) {
    causal(p);
    p.dropout = {0.3F, 0, 1};
}

struct Case {
    const char* name;
    void (*set)(VkfProblem&);
};
const std::vector<Case> cases = {
    Case{"no mask", [](VkfProblem&) {}},
    Case{"causal", causal},
    Case{"causal, top left", topLeft},
    Case{"window", window},
    Case{"narrow window", narrowWindow},
    Case{"window and first keys", firstKeys},
    Case{"key lengths", keyLengths},
    Case{"bias", bias},
    Case{"ALiBi", alibi},
    Case{"softcap", softcap},
    Case{"mask", mask},
    Case{"documents", documents},
    Case{"dropout", dropout},
};

// 128 keeps depths of q in shared memory, 64 has a kernel of its own for most masks, and 37 fills no matrix. Types that
// not every device multiplies come last.
const std::vector<vkf::test::Shape> shapes = {
    {2, 1, 1, 150, 150, 128, 128, VKF_TYPE_F16}, {1, 6, 2, 45, 97, 128, 120, VKF_TYPE_F16},
    {1, 4, 2, 131, 201, 64, 64, VKF_TYPE_F16},   {1, 2, 1, 140, 139, 37, 53, VKF_TYPE_F16},
    {1, 6, 2, 45, 97, 128, 120, VKF_TYPE_BF16},  {1, 2, 1, 140, 139, 37, 53, VKF_TYPE_F32},
};

} // namespace

TEST_CASE("rows of subgroups with two matrices of rows, spread and side by side", "[matrix_rows]") {
    vkf::host::DeviceOptions options;
    options.tuning = tuningOfTwoMatrices();
    vkf::host::Device device = vkf::test::openTestDevice(options);
    uint32_t ran = 0;
    size_t first = 0; // each case gets the next shape, or all in a whole sweep
    for (const Case& masked : vkf::test::eachNth(cases, 2, 1)) {
        for (const vkf::test::Shape& shape : vkf::test::eachNth(shapes, shapes.size(), first++ % shapes.size())) {
            VkfProblem problem = problemOf(shape);
            problem.path = VKF_PATH_COOPMAT;
            vkf::enable(problem, VKF_ARRAY_LSE);
            masked.set(problem);
            INFO(masked.name << ", " << vkf::test::describe(problem));
            if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
                continue;
            }
            vkf::test::Data data;
            data.keyLengths = {static_cast<int32_t>(problem.keys) - 20, 77};
            data.biasSquare = 40; // some squares of the bias are a mask
            const vkf::test::Outcome outcome = vkf::test::runCall(device, problem, data);
            INFO(outcome.text());
            CHECK(outcome.passed());
            CHECK(outcome.plan.tuned == 1);
            ran++;
        }
    }
    if (ran == 0) {
        SKIP("the device has no matrices for path coopmat");
    }
}

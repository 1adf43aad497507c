// SPDX-License-Identifier: MIT
//
// Tensors that PyTorch computed (tests/golden/make_golden.py). The CPU reference must agree with them, and every kernel
// with the reference.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "support/call.hpp"
#include "support/variations.hpp"
#include "tensors/safetensors.hpp"
#include "tensors/tensor_file.hpp"

namespace {

struct Golden {
    const char* file;
    void (*options)(VkfProblem&);
    std::vector<int32_t> keyLengths{};
};

const Golden goldens[] = {
    {"plain", [](VkfProblem&) {}},
    {"plain_f16", [](VkfProblem&) {}},
    {"plain_bf16", [](VkfProblem&) {}},
    {"causal_top_left",
     [](VkfProblem& p) {
         p.use |= VKF_USE_CAUSAL;
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"causal_bottom_right", [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }},
    {"causal_more_rows", [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }},
    {"window",
     [](VkfProblem& p) {
         p.use |= VKF_USE_WINDOW;
         p.window.left = 7;
         p.window.right = 3;
     }},
    {"lengths", [](VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }, {30, 0, 1, 17}},
    {"softcap",
     [](VkfProblem& p) {
         p.softcap = 3.0F;
         p.scale = 0.4F;
     }},
};

struct Loaded {
    VkfProblem problem;
    vkf::test::Inputs inputs;
    std::vector<float> o;
    std::vector<float> lse;
};

VkfType typeOf(vkf::tools::ElementType type) {
    switch (type) {
    case vkf::tools::ElementType::f16:
        return VKF_TYPE_F16;
    case vkf::tools::ElementType::bf16:
        return VKF_TYPE_BF16;
    default:
        return VKF_TYPE_F32;
    }
}

std::vector<float> floatsOf(const vkf::tools::Tensor& tensor) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
}

Loaded load(const Golden& golden) {
    const std::vector<std::string> names = {"q", "k", "v", "o", "lse"};
    const auto tensors =
        vkf::tools::loadSafetensors(std::string("tests/golden/") + golden.file + ".safetensors", names);
    const auto dimension = [](const vkf::tools::Tensor& tensor, size_t i) {
        return static_cast<uint32_t>(tensor.shape.at(i));
    };
    Loaded loaded{};
    loaded.problem = vkf::test::problemOf({dimension(tensors[0], 0), dimension(tensors[0], 1), dimension(tensors[1], 1),
                                           dimension(tensors[0], 2), dimension(tensors[1], 2), dimension(tensors[0], 3),
                                           dimension(tensors[2], 3), typeOf(tensors[0].type)});
    loaded.problem.o.type = VKF_TYPE_F32;
    golden.options(loaded.problem);
    loaded.inputs = {tensors[0].bytes, tensors[1].bytes, tensors[2].bytes, golden.keyLengths};
    loaded.o = floatsOf(tensors[3]);
    loaded.lse = floatsOf(tensors[4]);
    return loaded;
}

// PyTorch computed in fp64 and rounded to fp32.
bool agrees(double value, float golden) {
    const double expected = golden;
    return value == expected || std::abs(value - expected) <= 1e-6 * std::max(1.0, std::abs(expected));
}

} // namespace

TEST_CASE("the reference agrees with PyTorch's attention", "[golden]") {
    for (const Golden& golden : goldens) {
        DYNAMIC_SECTION(golden.file) {
            const Loaded loaded = load(golden);
            std::vector<double> o(loaded.o.size());
            std::vector<double> lse(loaded.lse.size());
            const VkfReferenceInputs inputs = loaded.inputs.reference();
            VkfMessage message{};
            const VkfResult result =
                vkfReferenceAttention(&loaded.problem, &inputs, nullptr, o.data(), lse.data(), &message);
            INFO(message.text);
            REQUIRE(result == VKF_SUCCESS);
            for (size_t i = 0; i < o.size(); i++) {
                INFO("o[" << i << "] = " << o[i] << ", PyTorch has " << loaded.o[i]);
                REQUIRE(agrees(o[i], loaded.o[i]));
            }
            for (size_t i = 0; i < lse.size(); i++) {
                INFO("lse[" << i << "] = " << lse[i] << ", PyTorch has " << loaded.lse[i]);
                REQUIRE(agrees(lse[i], loaded.lse[i]));
            }
        }
    }
}

TEST_CASE("every path agrees with the reference on PyTorch's tensors", "[golden]") {
    for (const Golden& golden : goldens) {
        DYNAMIC_SECTION(golden.file) {
            Loaded loaded = load(golden);
            for (const vkf::test::Variation* variation : vkf::test::variationsInTurn(loaded.problem, 4)) {
                apply(*variation, loaded.problem);
                const vkf::test::Outcome outcome =
                    vkf::test::runCall(vkf::test::deviceOf(*variation), loaded.problem, loaded.inputs);
                INFO(variation->name << ": " << outcome.text());
                CHECK(outcome.passed());
            }
        }
    }
}

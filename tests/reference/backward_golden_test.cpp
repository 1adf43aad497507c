// SPDX-License-Identifier: MIT
//
// Gradients that PyTorch's autograd computed (tests/golden/make_backward.py). The CPU reference must agree with them.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "reference/backward_cases.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "tensors/safetensors.hpp"
#include "tensors/tensor_file.hpp"

namespace {

struct Golden {
    const char* name;
    void (*options)(VkfProblem&);
    std::vector<std::string> more{}; // tensors besides q, k, v and dout
    std::vector<int32_t> keyLengths{};
};

const Golden goldens[] = {
    {"plain", [](VkfProblem&) {}},
    {"f16", [](VkfProblem&) {}},
    {"bf16", [](VkfProblem&) {}},
    {"causal", [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }},
    {"causal_top_left",
     [](VkfProblem& p) {
         p.use |= VKF_USE_CAUSAL;
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"causal_more_rows", [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }, {"dlse"}},
    {"window", [](VkfProblem& p) { vkf::test::setWindow(p, 5, 2); }},
    {"lengths", [](VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }, {}, {14, 0, 1, 9}},
    {"softcap",
     [](VkfProblem& p) {
         p.softcap = 1.5F;
         p.scale = 0.4F;
     }},
    {"bias",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias = vkf::test::broadcast(p, VKF_TYPE_F32, false, true, true);
     },
     {"dlse", "bias"}},
    {"sinks", [](VkfProblem& p) { vkf::enable(p, VKF_USE_SINKS); }, {"dlse", "sinks"}},
    {"dropout",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_DROPOUT_MASK);
         p.dropoutMask = vkf::test::broadcast(p, VKF_TYPE_BOOL8, true, true, true);
         p.dropout.probability = 0.25F;
     },
     {"kept"}},
};

std::vector<vkf::tools::Tensor> load(const Golden& golden, const std::vector<std::string>& names) {
    return vkf::tools::loadSafetensors(std::string("tests/golden/backward_") + golden.name + ".safetensors", names);
}

std::vector<float> floatsOf(const vkf::tools::Tensor& tensor) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
}

VkfType typeOf(vkf::tools::ElementType type) {
    return type == vkf::tools::ElementType::f16    ? VKF_TYPE_F16
           : type == vkf::tools::ElementType::bf16 ? VKF_TYPE_BF16
                                                   : VKF_TYPE_F32;
}

VkfProblem forwardOf(const Golden& golden, const std::vector<vkf::tools::Tensor>& qkv) {
    const auto dimension = [](const vkf::tools::Tensor& tensor, size_t i) {
        return static_cast<uint32_t>(tensor.shape.at(i));
    };
    VkfProblem p =
        vkf::test::problemOf({dimension(qkv[0], 0), dimension(qkv[0], 1), dimension(qkv[1], 1), dimension(qkv[0], 2),
                              dimension(qkv[1], 2), dimension(qkv[0], 3), dimension(qkv[2], 3), typeOf(qkv[0].type)});
    golden.options(p);
    return p;
}

// PyTorch computed in fp64 and rounded to fp32.
void checkAgrees(const char* name, const std::vector<double>& values, const std::vector<float>& golden) {
    REQUIRE(values.size() == golden.size());
    float largest = 0.0F;
    for (const float x : golden) {
        largest = std::max(largest, std::abs(x));
    }
    CHECK(largest > 0.01F);
    for (size_t i = 0; i < values.size(); i++) {
        const auto expected = static_cast<double>(golden[i]);
        INFO(name << "[" << i << "] = " << values[i] << ", PyTorch has " << expected);
        REQUIRE(std::abs(values[i] - expected) <= 1e-6 * static_cast<double>(largest));
    }
}

} // namespace

TEST_CASE("the backward pass of the reference agrees with PyTorch's autograd", "[reference_backward]") {
    for (const Golden& golden : goldens) {
        INFO(golden.name);
        const auto tensors = load(golden, {"q", "k", "v", "dout"});
        const VkfProblem forward = forwardOf(golden, tensors);
        VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
        vkf::test::Inputs inputs{tensors[0].bytes, tensors[1].bytes, tensors[2].bytes, golden.keyLengths};
        vkf::test::BackwardInputs more{tensors[3].bytes};
        for (const std::string& name : golden.more) {
            const vkf::tools::Tensor tensor = load(golden, {name}).front();
            if (name == "dlse") {
                problem.use |= VKF_USE_DLSE;
                more.dlse = floatsOf(tensor);
            } else if (name == "bias") {
                inputs.bias = tensor.bytes;
            } else if (name == "sinks") {
                inputs.sinks = floatsOf(tensor);
            } else {
                for (const float kept : floatsOf(tensor)) {
                    inputs.dropoutMask.push_back(kept != 0.0F ? std::byte{1} : std::byte{0});
                }
            }
        }
        for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED}) {
            const vkf::test::Gradients gradients =
                referenceBackward(problem, inputs, more, vkf::test::referenceOptions(algorithm, 5, 3));
            const auto expected = load(golden, {"dq", "dk", "dv"});
            checkAgrees("dq", gradients.dq, floatsOf(expected[0]));
            checkAgrees("dk", gradients.dk, floatsOf(expected[1]));
            checkAgrees("dv", gradients.dv, floatsOf(expected[2]));
            if (!gradients.dbias.empty()) {
                checkAgrees("dbias", gradients.dbias, floatsOf(load(golden, {"dbias"}).front()));
            }
            if (!gradients.dsinks.empty()) {
                checkAgrees("dsinks", gradients.dsinks, floatsOf(load(golden, {"dsinks"}).front()));
            }
        }
    }
}

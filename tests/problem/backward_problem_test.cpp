// SPDX-License-Identifier: MIT
//
// The refusals of vkfCheckBackward with their texts, and the layouts of the gradients. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstring>

#include "problem/backward.hpp"
#include "reference/backward_cases.hpp"
#include "support/masks.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;

struct Refusal {
    const char* name;
    void (*spoil)(VkfProblem&, VkfBackwardProblem&);
    VkfResult result;
    const char* words;
};

const Refusal refusals[] = {
    {"no forward problem", [](VkfProblem&, VkfBackwardProblem& g) { g.forward = nullptr; }, VKF_ERROR_INVALID_ARGUMENT,
     "forward is null"},
    {"a struct of size 0", [](VkfProblem&, VkfBackwardProblem& g) { g.structSize = 0; }, VKF_ERROR_STRUCT_SIZE,
     "structSize of problem is 0"},
    {"a struct that is far too large", [](VkfProblem&, VkfBackwardProblem& g) { g.structSize += 4104; },
     VKF_ERROR_STRUCT_SIZE, "structSize of problem is"},
    {"a forward struct of size 0", [](VkfProblem& p, VkfBackwardProblem&) { p.structSize = 0; }, VKF_ERROR_STRUCT_SIZE,
     "structSize"},
    {"a reserved field", [](VkfProblem&, VkfBackwardProblem& g) { g.reserved = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "a reserved field of the backward problem is not zero"},
    {"the last reserved field", [](VkfProblem&, VkfBackwardProblem& g) { g.reserved2[3] = 1; },
     VKF_ERROR_INVALID_ARGUMENT, "a reserved field of the backward problem is not zero"},
    {"a gradient of a later version", [](VkfProblem&, VkfBackwardProblem& g) { g.gradients = 0x21; },
     VKF_ERROR_UNSUPPORTED, "gradients has bits 0x20, which this version does not know"},
    {"a bit of attention", [](VkfProblem&, VkfBackwardProblem& g) { g.use = VKF_USE_CAUSAL; },
     VKF_ERROR_INVALID_ARGUMENT, "use has VKF_USE_CAUSAL, which a backward pass does not have"},
    {"a wrong forward problem", [](VkfProblem& p, VkfBackwardProblem&) { p.softcap = -1; }, VKF_ERROR_INVALID_ARGUMENT,
     "softcap is -1"},
    {"no lse", [](VkfProblem& p, VkfBackwardProblem&) { vkf::enable(p, VKF_USE_LSE, false); },
     VKF_ERROR_INVALID_ARGUMENT, "lacks VKF_USE_LSE, which the backward pass needs"},
    {"path standard", [](VkfProblem& p, VkfBackwardProblem&) { p.path = VKF_PATH_STANDARD; }, VKF_ERROR_UNSUPPORTED,
     "the backward pass is not on path standard in this version"},
    {"path decode", [](VkfProblem& p, VkfBackwardProblem&) { p.path = VKF_PATH_DECODE; }, VKF_ERROR_UNSUPPORTED,
     "not on path decode"},
    {"path key_outer", [](VkfProblem& p, VkfBackwardProblem&) { p.path = VKF_PATH_KEY_OUTER; }, VKF_ERROR_UNSUPPORTED,
     "not on path key_outer"},
    {"a head dimension over the limit",
     [](VkfProblem& p, VkfBackwardProblem&) {
         p.headDim = 257;
         p.valueDim = 8;
     },
     VKF_ERROR_UNSUPPORTED, "headDim 257 is over the limit of 256 of the backward pass"},
    {"a value dimension over the limit", [](VkfProblem& p, VkfBackwardProblem&) { p.valueDim = 300; },
     VKF_ERROR_UNSUPPORTED, "valueDim 300 is over the limit of 256 of the backward pass"},
    {"pages", [](VkfProblem& p, VkfBackwardProblem&) { vkf::test::setPages(p, 4, 1); }, VKF_ERROR_UNSUPPORTED,
     "blockTable in the backward pass is not in this version"},
    {"k of a block type", [](VkfProblem& p, VkfBackwardProblem&) { p.k.type = VKF_TYPE_Q8_0; }, VKF_ERROR_UNSUPPORTED,
     "k of a block type in the backward pass is not"},
    {"v of a block type", [](VkfProblem& p, VkfBackwardProblem&) { p.v.type = VKF_TYPE_Q4_0; }, VKF_ERROR_UNSUPPORTED,
     "v of a block type in the backward pass is not"},
    {"dbias without a bias", [](VkfProblem&, VkfBackwardProblem& g) { g.gradients = VKF_GRADIENT_BIAS; },
     VKF_ERROR_INVALID_ARGUMENT, "gradients has VKF_GRADIENT_BIAS, but use lacks VKF_USE_BIAS"},
    {"dsinks without sinks", [](VkfProblem&, VkfBackwardProblem& g) { g.gradients = VKF_GRADIENT_SINKS; },
     VKF_ERROR_INVALID_ARGUMENT, "gradients has VKF_GRADIENT_SINKS, but use lacks VKF_USE_SINKS"},
    {"dq that is not wanted",
     [](VkfProblem&, VkfBackwardProblem& g) {
         g.gradients = VKF_GRADIENT_K | VKF_GRADIENT_V;
         g.dq.rowStride = 64;
     },
     VKF_ERROR_INVALID_ARGUMENT, "dq is not zero, but gradients lacks VKF_GRADIENT_Q"},
    {"dk that is not wanted",
     [](VkfProblem&, VkfBackwardProblem& g) {
         g.gradients = VKF_GRADIENT_Q;
         g.dk.type = VKF_TYPE_F16;
     },
     VKF_ERROR_INVALID_ARGUMENT, "dk is not zero, but gradients lacks VKF_GRADIENT_K"},
    {"dv that is not wanted",
     [](VkfProblem&, VkfBackwardProblem& g) {
         g.gradients = VKF_GRADIENT_Q;
         g.dv.type = VKF_TYPE_F16;
     },
     VKF_ERROR_INVALID_ARGUMENT, "dv is not zero, but gradients lacks VKF_GRADIENT_V"},
    {"a type of dbias without dbias", [](VkfProblem&, VkfBackwardProblem& g) { g.dbiasType = VKF_TYPE_F16; },
     VKF_ERROR_INVALID_ARGUMENT, "dbiasType is not zero, but gradients lacks VKF_GRADIENT_BIAS"},
    {"dout of a block type", [](VkfProblem&, VkfBackwardProblem& g) { g.dout.type = VKF_TYPE_Q8_0; },
     VKF_ERROR_UNSUPPORTED, "type of dout is 4 (q8_0); this version takes f32, f16, bf16"},
    {"a reserved field of dk", [](VkfProblem&, VkfBackwardProblem& g) { g.dk.reserved2[0] = 1; },
     VKF_ERROR_INVALID_ARGUMENT, "a reserved field of dk is not zero"},
    {"dq with overlapping rows",
     [](VkfProblem&, VkfBackwardProblem& g) { g.dq = {VKF_TYPE_F32, 0, 100000, 10000, 63, {}}; },
     VKF_ERROR_INVALID_ARGUMENT, "the strides of dq make elements overlap"},
    {"dk whose heads share memory", [](VkfProblem&, VkfBackwardProblem& g) { g.dk.rowStride = 64; },
     VKF_ERROR_INVALID_ARGUMENT, "the strides of dk make elements overlap"},
    {"dv past the address space", [](VkfProblem&, VkfBackwardProblem& g) { g.dv.rowStride = UINT64_MAX / 2; },
     VKF_ERROR_INVALID_ARGUMENT, "the strides of dv reach past"},
};

VkfProblem forwardProblem() { return vkf::test::problemOf({3, 4, 2, 6, 8, 64, 32}); }

void addBias(VkfProblem& p, bool batches, bool heads, bool rows, uint64_t gap = 0) {
    vkf::enable(p, VKF_USE_BIAS);
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F32, batches, heads, rows, gap);
}

} // namespace

TEST_CASE("vkfCheckBackward refuses bad problems and says why", "[problem]") {
    for (const Refusal& refusal : refusals) {
        INFO(refusal.name);
        VkfProblem forward = forwardProblem();
        VkfBackwardProblem problem = vkf::test::backwardOf(forward);
        CHECK(vkfCheckBackward(&problem, nullptr) == VKF_SUCCESS);
        refusal.spoil(forward, problem);
        VkfMessage message{};
        CHECK(vkfCheckBackward(&problem, &message) == refusal.result);
        CHECK_THAT(message.text, ContainsSubstring(refusal.words));
        CHECK(vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS) == 0);
        auto layout = vkf::make<VkfTensorLayout>();
        CHECK(vkfGetBackwardTensorLayout(&problem, VKF_BACKWARD_DQ, &layout, nullptr) == refusal.result);
        CHECK(layout.dim == 0);
    }
    CHECK(vkfCheckBackward(nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("gradients have the shapes of their tensors", "[problem]") {
    const VkfProblem forward = forwardProblem();
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.dk = {VKF_TYPE_F16, 0, 5000, 64, 200, {}};
    const VkfTensorRole shapes[] = {VKF_TENSOR_O, VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V};
    for (const VkfBackwardRole role : {VKF_BACKWARD_DOUT, VKF_BACKWARD_DQ, VKF_BACKWARD_DK, VKF_BACKWARD_DV}) {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        const VkfTensorLayout shape = vkf::layoutOf(forward, shapes[role]);
        CHECK((layout.batch == shape.batch && layout.heads == shape.heads));
        CHECK((layout.rows == shape.rows && layout.dim == shape.dim));
        if (role == VKF_BACKWARD_DK) {
            CHECK(layout.type == VKF_TYPE_F16);
            CHECK((layout.batchStride == 5000 && layout.headStride == 64 && layout.rowStride == 200));
            CHECK(layout.elements == 2 * 5000 + 64 + 7 * 200 + 64);
        } else {
            CHECK(layout.elements == shape.elements);
        }
    }
    auto layout = vkf::make<VkfTensorLayout>();
    const int32_t noRole = 4;
    VkfBackwardRole role{};
    std::memcpy(&role, &noRole, sizeof role);
    VkfMessage message{};
    CHECK(vkfGetBackwardTensorLayout(&problem, role, &layout, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(message.text, ContainsSubstring("role is 4; it must be 0 to 3"));
    CHECK(vkfGetBackwardTensorLayout(&problem, VKF_BACKWARD_DQ, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a checked backward problem is a copy with its defaults", "[problem]") {
    VkfProblem forward = forwardProblem();
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    vkf::CheckedBackward checked{};
    REQUIRE(vkf::checkBackward(&problem, &checked, nullptr) == VKF_SUCCESS);
    forward.headDim = 0;
    CHECK(checked.forward.fields.headDim == 64);
    CHECK(checked.forward.fields.scale == 0.125F);
    CHECK(checked.fields.forward == nullptr);
    CHECK((checked.wants(VKF_GRADIENT_Q) && checked.wants(VKF_GRADIENT_K) && checked.wants(VKF_GRADIENT_V)));
    CHECK((!checked.wants(VKF_GRADIENT_BIAS) && !checked.wants(VKF_GRADIENT_SINKS)));
    CHECK(checked.layout(VKF_BACKWARD_DV).dim == 32);
    CHECK(checked.biasElements == 0);
}

TEST_CASE("packed gradients have a batch of 1, whose stride is ignored", "[problem]") {
    VkfProblem forward = forwardProblem();
    vkf::test::Data data;
    vkf::test::setPacked(forward, data, {3, 4}, {5, 6});
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.dq = {VKF_TYPE_F32, 0, 7, 64, 4 * 64, {}};
    const VkfTensorLayout dq = vkf::layoutOf(problem, VKF_BACKWARD_DQ);
    CHECK((dq.batch == 1 && dq.rows == 7 && dq.batchStride == 0 && dq.rowStride == 256));
    const VkfTensorLayout dk = vkf::layoutOf(problem, VKF_BACKWARD_DK);
    CHECK((dk.batch == 1 && dk.rows == 11 && dk.batchStride == 0 && dk.rowStride == 64));
}

TEST_CASE("dbias lies like the bias, unless elements overlap", "[problem]") {
    const struct {
        const char* name;
        void (*change)(VkfProblem&);
        uint64_t elements; // 0 = refused
    } sides[] = {
        {"all", [](VkfProblem& p) { addBias(p, true, true, true); }, 3 * 4 * 6 * 8},
        {"gaps", [](VkfProblem& p) { addBias(p, true, true, true, 5); }, 3 * 4 * 6 * 13 - 5},
        {"one for all sequences", [](VkfProblem& p) { addBias(p, false, true, true); }, 4 * 6 * 8},
        {"one row", [](VkfProblem& p) { addBias(p, false, false, false); }, 8},
        {"heads by modulo",
         [](VkfProblem& p) {
             addBias(p, true, true, true);
             p.bias.heads = 2;
             p.bias.batchStride = 2 * 6 * 8;
         },
         3 * 2 * 6 * 8},
        {"rows that overlap",
         [](VkfProblem& p) {
             addBias(p, true, true, true);
             p.bias.rowStride = 7;
         },
         0},
        {"a bias along the diagonals",
         [](VkfProblem& p) {
             addBias(p, false, false, true);
             p.bias.rowStride = 1;
         },
         0},
        {"heads over rows",
         [](VkfProblem& p) {
             addBias(p, false, true, true);
             p.bias.headStride = 8;
         },
         0},
    };
    for (const auto& side : sides) {
        INFO(side.name);
        VkfProblem forward = forwardProblem();
        side.change(forward);
        VkfBackwardProblem problem = vkf::test::backwardOf(forward, VKF_GRADIENT_BIAS);
        problem.dq = problem.dk = problem.dv = VkfTensor{};
        problem.dbiasType = VKF_TYPE_BF16;
        VkfMessage message{};
        const VkfResult result = vkfCheckBackward(&problem, &message);
        CHECK(result == (side.elements != 0 ? VKF_SUCCESS : VKF_ERROR_UNSUPPORTED));
        CHECK(vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS) == 2 * side.elements);
        if (side.elements == 0) {
            CHECK_THAT(message.text, ContainsSubstring("the strides of bias make elements of dbias overlap"));
        }
        problem.dbiasType = VKF_TYPE_BOOL8;
        CHECK(vkfCheckBackward(&problem, &message) == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(message.text, ContainsSubstring("dbiasType is 9 (bool8)"));
    }
}

// SPDX-License-Identifier: MIT
#include "reference/backward_cases.hpp"

#include <random>

#include <catch2/catch_test_macros.hpp>

#include "support/masks.hpp"
#include "support/reference.hpp"

namespace vkf::test {

VkfBackwardProblem backwardOf(const VkfProblem& forward, VkfGradients gradients) {
    auto problem = make<VkfBackwardProblem>();
    problem.forward = &forward;
    problem.gradients = gradients;
    const auto typeIf = [&](VkfGradients bit) {
        return gradients == 0 || (gradients & bit) != 0 ? forward.q.type : VKF_TYPE_F32;
    };
    problem.dout.type = forward.q.type;
    problem.dq.type = typeIf(VKF_GRADIENT_Q);
    problem.dk.type = typeIf(VKF_GRADIENT_K);
    problem.dv.type = typeIf(VKF_GRADIENT_V);
    return problem;
}

VkfGradients allGradients(const VkfProblem& forward) {
    VkfGradients gradients = VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;
    if (has(forward, VKF_USE_BIAS)) {
        gradients |= VKF_GRADIENT_BIAS;
    }
    if (has(forward, VKF_USE_SINKS)) {
        gradients |= VKF_GRADIENT_SINKS;
    }
    return gradients;
}

VkfReferenceBackwardInputs BackwardInputs::reference() const {
    auto inputs = make<VkfReferenceBackwardInputs>();
    inputs.dout = dout.data();
    inputs.o = o.empty() ? nullptr : o.data();
    inputs.lse = lse.empty() ? nullptr : lse.data();
    inputs.dlse = dlse.empty() ? nullptr : dlse.data();
    return inputs;
}

namespace {

// Calls visit(element, dense index) for every element of a tensor.
template <typename Visit> void forEachElement(const VkfTensorLayout& layout, const Visit& visit) {
    uint64_t dense = 0;
    for (uint64_t row = 0; row < uint64_t{layout.batch} * layout.heads * layout.rows; row++) {
        const uint64_t head = row / layout.rows;
        const uint64_t first = head / layout.heads * layout.batchStride + head % layout.heads * layout.headStride +
                               row % layout.rows * layout.rowStride;
        for (uint64_t d = 0; d < layout.dim; d++) {
            visit(first + d, dense++);
        }
    }
}

} // namespace

BackwardInputs makeBackwardInputs(const VkfBackwardProblem& problem, uint32_t seed, double magnitude) {
    std::mt19937_64 random(seed + 1000);
    std::normal_distribution<double> normal(0.0, magnitude);
    const VkfTensorLayout dout = layoutOf(problem, VKF_BACKWARD_DOUT);
    BackwardInputs inputs{std::vector<std::byte>(vkfStoredBytes(dout.type, dout.elements), std::byte{0xff})};
    forEachElement(dout, [&](uint64_t element, uint64_t) {
        vkfStoreElement(dout.type, inputs.dout.data(), element, normal(random));
    });
    if (vkf::has(problem, VKF_USE_DLSE)) {
        inputs.dlse.resize(uint64_t{dout.batch} * dout.heads * dout.rows);
        for (float& x : inputs.dlse) {
            x = static_cast<float>(normal(random));
        }
    }
    return inputs;
}

void computeForward(const VkfProblem& forward, const Inputs& inputs, VkfType productType, BackwardInputs* to) {
    VkfReferenceOptions options = referenceOptions(VKF_REFERENCE_TILED_FP32);
    options.productType = productType;
    const Result result = vkf::test::reference(forward, inputs, options);
    const VkfTensorLayout o = layoutOf(forward, VKF_TENSOR_O);
    to->o.assign(vkfStoredBytes(o.type, o.elements), std::byte{0xff});
    forEachElement(
        o, [&](uint64_t element, uint64_t dense) { vkfStoreElement(o.type, to->o.data(), element, result.o[dense]); });
    to->lse.assign(result.lse.begin(), result.lse.end());
}

Gradients referenceBackward(const VkfBackwardProblem& problem, const Inputs& inputs, const BackwardInputs& more,
                            const VkfReferenceOptions& options) {
    const VkfGradients wanted =
        problem.gradients != 0 ? problem.gradients : VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;
    const auto memory = [&](VkfGradientBits bit, uint64_t count) {
        return std::vector<double>((wanted & static_cast<VkfGradients>(bit)) != 0 ? count : 0, untouched);
    };
    const auto elements = [&](VkfBackwardRole role) {
        const VkfTensorLayout layout = layoutOf(problem, role);
        return uint64_t{layout.batch} * layout.heads * layout.rows * layout.dim;
    };
    Gradients gradients;
    gradients.dq = memory(VKF_GRADIENT_Q, elements(VKF_BACKWARD_DQ));
    gradients.dk = memory(VKF_GRADIENT_K, elements(VKF_BACKWARD_DK));
    gradients.dv = memory(VKF_GRADIENT_V, elements(VKF_BACKWARD_DV));
    gradients.dbias = memory(VKF_GRADIENT_BIAS, vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS) /
                                                    std::max<size_t>(vkfTypeBytes(problem.dbiasType), 1));
    gradients.dsinks = memory(VKF_GRADIENT_SINKS, problem.forward->queryHeads);
    auto outputs = make<VkfReferenceGradients>();
    const auto pointer = [](std::vector<double>& of) { return of.empty() ? nullptr : of.data(); };
    outputs.dq = pointer(gradients.dq);
    outputs.dk = pointer(gradients.dk);
    outputs.dv = pointer(gradients.dv);
    outputs.dbias = pointer(gradients.dbias);
    outputs.dsinks = pointer(gradients.dsinks);
    const VkfReferenceInputs memoryOfForward = inputs.reference();
    const VkfReferenceBackwardInputs backwardMemory = more.reference();
    VkfMessage message{};
    INFO(describe(*problem.forward));
    const VkfResult result =
        vkfReferenceBackward(&problem, &memoryOfForward, &backwardMemory, &options, &outputs, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return gradients;
}

namespace {

void addBias(VkfProblem& p, bool batches, bool heads, bool rows, uint64_t gap = 0) {
    enable(p, VKF_USE_BIAS);
    p.bias = broadcast(p, VKF_TYPE_F32, batches, heads, rows, gap);
}

void addMask(VkfProblem& p, VkfUseBits array, VkfType type) {
    enable(p, static_cast<VkfUse>(array));
    (array == VKF_USE_MASK ? p.mask : p.dropoutMask) = broadcast(p, type, true, true, true);
}

// [batch, rows, heads, dim] with gaps.
void putRowsOutermost(VkfProblem& p) {
    for (VkfTensor* tensor : {&p.q, &p.k, &p.v, &p.o}) {
        const bool ofQueries = tensor == &p.q || tensor == &p.o;
        tensor->headStride = std::max(p.headDim, p.valueDim) + 3;
        tensor->rowStride = tensor->headStride * (ofQueries ? p.queryHeads : p.kvHeads) + 2;
        tensor->batchStride = tensor->rowStride * (ofQueries ? p.queryRows : p.keys) + 1;
    }
}

const BackwardCase cases[] = {
    {"plain", {2, 2, 2, 7, 9, 5}, [](VkfProblem&, Data&) {}},
    {"grouped heads, value dim of its own", {1, 6, 2, 5, 11, 8, 3}, [](VkfProblem&, Data&) {}},
    {"a gradient of lse", {1, 2, 1, 5, 6, 4}, [](VkfProblem&, Data&) {}, true},
    {"scale", {1, 2, 1, 5, 6, 4}, [](VkfProblem& p, Data&) { p.scale = -0.7F; }},
    {"causal", {1, 2, 1, 6, 9, 4}, [](VkfProblem& p, Data&) { p.use |= VKF_USE_CAUSAL; }},
    {"causal, more rows", {1, 2, 1, 9, 4, 4}, [](VkfProblem& p, Data&) { p.use |= VKF_USE_CAUSAL; }, true},
    {"causal, top-left",
     {1, 2, 1, 6, 9, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"window", {1, 2, 1, 9, 12, 4}, [](VkfProblem& p, Data&) { setWindow(p, 2, 1); }},
    {"window, causal, first keys",
     {1, 2, 1, 12, 12, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         setWindow(p, 2, 0, 3);
     }},
    {"window, first keys", {1, 1, 1, 12, 14, 4}, [](VkfProblem& p, Data&) { setWindow(p, 1, 1, 4); }},
    {"key lengths",
     {4, 2, 1, 5, 9, 4},
     [](VkfProblem& p, Data& data) {
         enable(p, VKF_USE_KEY_LENGTHS);
         p.use |= VKF_USE_CAUSAL;
         data.keyLengths = {9, 0, 1, 6};
     },
     true},
    {"packed",
     {1, 4, 2, 1, 1, 4},
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {3, 0, 5, 2}, {4, 3, 0, 6});
         p.use |= VKF_USE_CAUSAL;
     },
     true},
    {"packed, strides, lengths",
     {1, 2, 1, 1, 1, 4},
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {3, 4}, {5, 6});
         enable(p, VKF_USE_KEY_LENGTHS);
         data.keyLengths = {2, 10};
         putRowsOutermost(p);
     }},
    {"documents",
     {2, 2, 1, 8, 8, 4},
     [](VkfProblem& p, Data& data) {
         enable(p, VKF_USE_DOCUMENT_IDS);
         data.documentKeys = 3;
     }},
    {"mask of bytes", {2, 2, 1, 6, 9, 4}, [](VkfProblem& p, Data&) { addMask(p, VKF_USE_MASK, VKF_TYPE_BOOL8); }},
    {"mask of bits, causal",
     {2, 2, 1, 6, 9, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         addMask(p, VKF_USE_MASK, VKF_TYPE_BOOL1);
     }},
    {"block mask",
     {1, 2, 1, 35, 40, 3},
     [](VkfProblem& p, Data&) {
         enable(p, VKF_USE_BLOCK_MASK);
         p.blockMask.blockSize = 16;
         p.blockMask.headStride = 3;
     }},
    {"softcap",
     {1, 2, 1, 6, 9, 4},
     [](VkfProblem& p, Data&) {
         p.softcap = 1.5F;
         p.scale = 0.8F;
     }},
    {"softcap, causal, window, ALiBi, bias",
     {1, 2, 1, 9, 9, 4},
     [](VkfProblem& p, Data&) {
         p.softcap = 2.0F;
         p.use |= VKF_USE_CAUSAL;
         p.use |= VKF_USE_ALIBI;
         setWindow(p, 5, 0);
         addBias(p, true, true, true);
     }},
    {"ALiBi", {1, 3, 1, 6, 9, 4}, [](VkfProblem& p, Data&) { p.use |= VKF_USE_ALIBI; }},
    {"slopes",
     {1, 2, 1, 6, 9, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_ALIBI;
         enable(p, VKF_USE_ALIBI_SLOPES);
     }},
    {"bias with gaps", {2, 2, 1, 4, 5, 4}, [](VkfProblem& p, Data&) { addBias(p, true, true, true, 3); }},
    {"bias for all sequences and heads",
     {2, 2, 1, 4, 5, 4},
     [](VkfProblem& p, Data&) { addBias(p, false, false, true); }},
    {"bias for all rows", {2, 2, 1, 4, 5, 4}, [](VkfProblem& p, Data&) { addBias(p, true, true, false); }},
    {"bias for all", {2, 4, 1, 4, 5, 4}, [](VkfProblem& p, Data&) { addBias(p, false, false, false); }},
    {"bias that repeats by modulo, factors",
     {4, 4, 2, 3, 4, 4},
     [](VkfProblem& p, Data&) {
         addBias(p, true, true, true);
         p.bias.heads = 2;
         p.bias.sequences = 2;
         enable(p, VKF_USE_BIAS_FACTORS);
     }},
    {"bias of -infinity",
     {1, 2, 1, 8, 8, 4},
     [](VkfProblem& p, Data& data) {
         addBias(p, true, true, true);
         data.biasSquare = 2;
         data.poisonInvisibleKeys = false;
     }},
    {"packed bias",
     {1, 2, 1, 1, 1, 4},
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {3, 5}, {4, 2});
         addBias(p, true, true, true);
     }},
    {"sinks", {2, 4, 2, 6, 9, 4}, [](VkfProblem& p, Data&) { enable(p, VKF_USE_SINKS); }, true},
    {"sinks of rows that see nothing",
     {1, 2, 1, 9, 4, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         enable(p, VKF_USE_SINKS);
     },
     true},
    {"dropout",
     {2, 2, 1, 9, 9, 4},
     [](VkfProblem& p, Data&) {
         p.dropout = {0.3F, 0, 99, {}};
     },
     true},
    {"dropout with a bound seed, bias",
     {1, 2, 1, 7, 9, 4},
     [](VkfProblem& p, Data&) {
         p.dropout.probability = 0.4F;
         enable(p, VKF_USE_DROPOUT_SEED);
         addBias(p, true, true, true);
     }},
    {"dropout mask",
     {2, 2, 1, 7, 9, 4},
     [](VkfProblem& p, Data&) {
         p.dropout.probability = 0.25F;
         addMask(p, VKF_USE_DROPOUT_MASK, VKF_TYPE_BOOL8);
     }},
    {"strides", {2, 4, 2, 6, 7, 4}, [](VkfProblem& p, Data&) { putRowsOutermost(p); }},
    {"no keys", {1, 2, 1, 3, 0, 4}, [](VkfProblem&, Data&) {}},
    {"no rows", {1, 2, 1, 0, 3, 4}, [](VkfProblem&, Data&) {}},
    {"no query heads", {2, 0, 3, 3, 4, 4}, [](VkfProblem&, Data&) {}},
    {"no heads", {2, 0, 0, 3, 4, 4}, [](VkfProblem&, Data&) {}},
};

const BackwardCase combinedCases[] = {
    {"grouped heads, value dim of its own, scale, strides",
     {2, 6, 2, 15, 31, 8, 3},
     [](VkfProblem& p, Data&) {
         p.scale = -0.7F;
         putRowsOutermost(p);
     }},
    {"causal, key lengths, ALiBi, sinks",
     {4, 2, 1, 9, 9, 4},
     [](VkfProblem& p, Data& data) {
         p.use |= VKF_USE_CAUSAL | VKF_USE_ALIBI;
         enable(p, VKF_USE_KEY_LENGTHS | VKF_USE_SINKS);
         data.keyLengths = {9, 0, 1, 6};
     },
     true},
    {"window, top-left, softcap, slopes, bias with gaps",
     {2, 2, 1, 9, 12, 4},
     [](VkfProblem& p, Data&) {
         setWindow(p, 2, 1);
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
         p.softcap = 1.5F;
         p.use |= VKF_USE_ALIBI;
         enable(p, VKF_USE_ALIBI_SLOPES);
         addBias(p, true, true, true, 3);
     }},
    {"causal, window, first keys, documents, dropout",
     {2, 2, 1, 12, 12, 4},
     [](VkfProblem& p, Data& data) {
         p.use |= VKF_USE_CAUSAL;
         setWindow(p, 2, 0, 3);
         enable(p, VKF_USE_DOCUMENT_IDS);
         data.documentKeys = 6;
         p.dropout = {0.3F, 0, 99, {}};
     },
     true},
    {"packed, causal, strides, lengths",
     {1, 4, 2, 1, 1, 4},
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {3, 0, 5, 2}, {4, 3, 0, 6});
         p.use |= VKF_USE_CAUSAL;
         enable(p, VKF_USE_KEY_LENGTHS);
         data.keyLengths = {2, 10, 0, 6};
         putRowsOutermost(p);
     },
     true},
    {"packed bias for all rows",
     {1, 2, 1, 1, 1, 4},
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {3, 5}, {4, 2});
         addBias(p, true, true, false);
     }},
    {"mask of bytes, dropout mask, bias for all sequences and heads, with -infinity",
     {2, 2, 1, 8, 9, 4},
     [](VkfProblem& p, Data& data) {
         addMask(p, VKF_USE_MASK, VKF_TYPE_BOOL8);
         addMask(p, VKF_USE_DROPOUT_MASK, VKF_TYPE_BOOL8);
         p.dropout.probability = 0.25F;
         addBias(p, false, false, true);
         data.biasSquare = 2;
         data.poisonInvisibleKeys = false;
     }},
    {"mask of bits, causal, more rows, sinks, bound seed, bias that repeats by modulo, factors",
     {4, 4, 2, 9, 7, 4},
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         addMask(p, VKF_USE_MASK, VKF_TYPE_BOOL1);
         enable(p, VKF_USE_SINKS | VKF_USE_DROPOUT_SEED | VKF_USE_BIAS_FACTORS);
         p.dropout.probability = 0.4F;
         addBias(p, true, true, true);
         p.bias.heads = 2;
         p.bias.sequences = 2;
     },
     true},
    {"block mask, bias for all",
     {1, 2, 1, 35, 40, 3},
     [](VkfProblem& p, Data&) {
         enable(p, VKF_USE_BLOCK_MASK);
         p.blockMask.blockSize = 16;
         p.blockMask.headStride = 3;
         addBias(p, false, false, false);
     }},
    {"no keys", {1, 2, 1, 3, 0, 4}, [](VkfProblem&, Data&) {}},
    {"no rows", {1, 2, 1, 0, 3, 4}, [](VkfProblem&, Data&) {}},
    {"no heads", {2, 0, 0, 3, 4, 4}, [](VkfProblem&, Data&) {}},
};

} // namespace

std::span<const BackwardCase> backwardCases() { return cases; }
std::span<const BackwardCase> combinedBackwardCases() { return combinedCases; }

} // namespace vkf::test

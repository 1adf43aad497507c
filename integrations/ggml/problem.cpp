// SPDX-License-Identifier: MIT
#include "problem.hpp"

#include <array>
#include <cstring>
#include <limits>

namespace vkf::ggml {
namespace {

// Types that both sides store alike.
struct TypePair {
    ggml_type theirs;
    VkfType ours;
};
constexpr std::array typePairs = {
    TypePair{GGML_TYPE_F32, VKF_TYPE_F32},       TypePair{GGML_TYPE_F16, VKF_TYPE_F16},
    TypePair{GGML_TYPE_BF16, VKF_TYPE_BF16},     TypePair{GGML_TYPE_Q8_0, VKF_TYPE_Q8_0},
    TypePair{GGML_TYPE_Q4_0, VKF_TYPE_Q4_0},     TypePair{GGML_TYPE_Q4_1, VKF_TYPE_Q4_1},
    TypePair{GGML_TYPE_Q5_0, VKF_TYPE_Q5_0},     TypePair{GGML_TYPE_Q5_1, VKF_TYPE_Q5_1},
    TypePair{GGML_TYPE_IQ4_NL, VKF_TYPE_IQ4_NL},
};

// Kernels that load whole rows at once need addresses that are multiples of it.
constexpr size_t wordBytes = 16;
constexpr size_t blockWordBytes = 4;
// The kernels read a mask in words of 4 bytes.
constexpr size_t maskWordBytes = 4;

// Why a node is refused. An exception, because the checks are many and shallow.
struct Refusal {
    std::string reason;
};
void require(bool condition, const char* name, const char* reason) {
    if (!condition) {
        throw Refusal{std::string(name) + " " + reason};
    }
}

uint32_t small(int64_t n) {
    if (n < 0 || n > std::numeric_limits<uint32_t>::max()) {
        throw Refusal{"a dimension of " + std::to_string(n) + " does not fit 32 bits"};
    }
    return static_cast<uint32_t>(n);
}

VkfType typeOf(const ggml_tensor& tensor, const char* name) {
    for (const TypePair& pair : typePairs) {
        if (pair.theirs == tensor.type) {
            return pair.ours;
        }
    }
    throw Refusal{std::string(name) + " has type " + ggml_type_name(tensor.type) + ", which vkflash does not have"};
}

// A stride of ggml, which is in bytes, in elements. ggml gives dimensions of one entry strides too: here they are 0.
uint64_t stride(const ggml_tensor& tensor, int dimension, const char* name) {
    if (tensor.ne[dimension] <= 1) {
        return 0;
    }
    const size_t unit = ggml_type_size(tensor.type);
    require(tensor.nb[dimension] % unit == 0, name, "has a stride that is not a multiple of its element size");
    return tensor.nb[dimension] / unit * static_cast<uint64_t>(ggml_blck_size(tensor.type));
}

// The dimensions of ggml that hold rows and heads of a tensor. Results have them the other way round.
struct Order {
    int rows;
    int heads;
};
constexpr Order inputOrder = {1, 2};
constexpr Order resultOrder = {2, 1};

VkfTensor tensorOf(const ggml_tensor& tensor, Order order, const char* name) {
    VkfTensor here{};
    here.type = typeOf(tensor, name);
    require(tensor.nb[0] == ggml_type_size(tensor.type), name, "has rows with gaps");
    here.rowStride = stride(tensor, order.rows, name);
    here.headStride = stride(tensor, order.heads, name);
    here.batchStride = stride(tensor, 3, name);
    require(here.rowStride != 0 || tensor.ne[order.rows] <= 1, name, "has rows that share one");
    if (here.rowStride == 0) { // one row; three zeros would mean a dense tensor
        here.rowStride = static_cast<uint64_t>(tensor.ne[0]);
    }
    return here;
}

bool inWholeWords(const ggml_tensor& tensor) {
    const size_t word = ggml_is_quantized(tensor.type) ? blockWordBytes : wordBytes;
    size_t bytes = ggml_row_size(tensor.type, tensor.ne[0]);
    for (int dimension = 1; dimension < GGML_MAX_DIMS; dimension++) {
        bytes |= tensor.ne[dimension] > 1 ? tensor.nb[dimension] : 0;
    }
    return bytes % word == 0;
}

// ggml puts tensors at multiples of the buffer type's alignment. Views may begin elsewhere.
void checkOffsets(const ggml_tensor& q, const ggml_tensor& k, const ggml_tensor& v) {
    if (!inWholeWords(k) || !inWholeWords(v)) {
        return; // the kernels load element by element
    }
    require(q.view_offs % wordBytes == 0, "q", "is a view that does not begin at a multiple of 16 bytes");
    require(k.view_offs % wordBytes == 0, "k", "is a view that does not begin at a multiple of 16 bytes");
    require(v.view_offs % wordBytes == 0, "v", "is a view that does not begin at a multiple of 16 bytes");
}

void takeTensors(const ggml_tensor& node, VkfProblem& problem) {
    const ggml_tensor* q = node.src[sourceQ];
    const ggml_tensor* k = node.src[sourceK];
    const ggml_tensor* v = node.src[sourceV];
    require(q != nullptr && k != nullptr && v != nullptr, "the node", "lacks q, k or v");
    require(q->ne[0] == k->ne[0], "k", "has other columns than q");
    require(k->ne[1] == v->ne[1], "v", "has another number of keys than k");
    require(k->ne[2] == v->ne[2], "v", "has another number of heads than k");
    require(k->ne[3] == q->ne[3] && v->ne[3] == q->ne[3], "k or v", "has another number of sequences than q");
    require(node.ne[0] == v->ne[0] && node.ne[1] == q->ne[2] && node.ne[2] == q->ne[1] && node.ne[3] == q->ne[3],
            "the result", "has another shape than q and v ask for");
    problem.headDim = small(q->ne[0]);
    problem.queryRows = small(q->ne[1]);
    problem.queryHeads = small(q->ne[2]);
    problem.batch = small(q->ne[3]);
    problem.keys = small(k->ne[1]);
    problem.kvHeads = small(k->ne[2]);
    problem.valueDim = small(v->ne[0]);
    require(problem.valueDim != 0, "v", "has no columns"); // 0 would stand for headDim
    problem.q = tensorOf(*q, inputOrder, "q");
    problem.k = tensorOf(*k, inputOrder, "k");
    problem.v = tensorOf(*v, inputOrder, "v");
    problem.o = tensorOf(node, resultOrder, "the result");
    checkOffsets(*q, *k, *v);
}

void takeMask(const ggml_tensor& mask, VkfProblem& problem) {
    require(mask.type == GGML_TYPE_F16, "mask", "is not of type f16");
    require(mask.nb[0] == ggml_type_size(mask.type), "mask", "has rows with gaps");
    require(mask.ne[0] >= problem.keys && mask.ne[1] >= problem.queryRows, "mask", "is smaller than rows and keys");
    require(mask.view_offs % maskWordBytes == 0, "mask", "is a view that does not begin at a multiple of 4 bytes");
    enable(problem, VKF_USE_BIAS);
    problem.bias.type = VKF_TYPE_F16;
    problem.bias.rowStride = stride(mask, 1, "mask");
    // Both sides repeat a mask of n entries over heads and sequences modulo n.
    require(mask.ne[2] <= problem.queryHeads && mask.ne[3] <= problem.batch, "mask",
            "has more heads or sequences than q");
    problem.bias.heads = small(mask.ne[2]);
    problem.bias.sequences = small(mask.ne[3]);
    problem.bias.headStride = stride(mask, 2, "mask");
    problem.bias.batchStride = stride(mask, 3, "mask");
}

void takeSinks(const ggml_tensor& sinks, VkfProblem& problem) {
    require(sinks.type == GGML_TYPE_F32 && ggml_is_contiguous(&sinks), "sinks", "are not dense numbers of type f32");
    require(ggml_nelements(&sinks) == problem.queryHeads, "sinks", "are not one for each head");
    enable(problem, VKF_USE_SINKS);
}

// op_params: scale, max_bias, logit_softcap. What follows asks for sums in fp32, which vkflash has in any case, and
// promises something about the mask (n_kv_max), which may be ignored.
void takeNumbers(const ggml_tensor& node, NodeProblem& asked) {
    std::array<float, 3> numbers{};
    std::memcpy(numbers.data(), node.op_params, sizeof numbers);
    const auto [scale, maxBias, softcap] = numbers;
    // To the library 0 means 1/sqrt(D). The smallest normal number makes scores that exp takes for 0.
    asked.problem.scale = scale == 0 ? std::numeric_limits<float>::min() : scale;
    asked.problem.softcap = softcap;
    if (maxBias > 0 && has(asked.problem, VKF_USE_BIAS)) {
        enable(asked.problem, VKF_USE_BIAS_FACTORS);
        asked.maxBias = maxBias;
    }
}

} // namespace

bool onlyDescribes(const ggml_tensor& node) {
    switch (node.op) {
    case GGML_OP_NONE:
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
        return true;
    default:
        return false;
    }
}

std::string describe(const ggml_tensor& node, NodeProblem* asked) {
    std::memset(static_cast<void*>(asked), 0, sizeof *asked);
    asked->problem.structSize = sizeof(VkfProblem);
    try {
        takeTensors(node, asked->problem);
        if (node.src[sourceMask] != nullptr) {
            takeMask(*node.src[sourceMask], asked->problem);
        }
        if (node.src[sourceSinks] != nullptr) {
            takeSinks(*node.src[sourceSinks], asked->problem);
        }
        takeNumbers(node, *asked);
    } catch (const Refusal& refusal) {
        return refusal.reason;
    }
    return {};
}

} // namespace vkf::ggml

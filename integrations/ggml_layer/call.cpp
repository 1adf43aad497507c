// SPDX-License-Identifier: MIT
#include "call.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../ggml/slopes.hpp"

namespace vkf::layer {
namespace {

// A type that both sides store alike.
struct StoredType {
    uint32_t theirs; // ggml_type
    VkfType ours;
    uint32_t blockElements;
    uint32_t blockBytes;
    uint32_t strideElements; // elements that a row stride of 1 stands for
    uint32_t constantBytes;  // what AttentionConstants::keyBlockBytes holds for it
};
constexpr std::array storedTypes = {
    StoredType{0, VKF_TYPE_F32, 1, 4, 4, 16},        StoredType{1, VKF_TYPE_F16, 1, 2, 1, 2},
    StoredType{30, VKF_TYPE_BF16, 1, 2, 1, 2},       StoredType{8, VKF_TYPE_Q8_0, 32, 34, 32, 34},
    StoredType{2, VKF_TYPE_Q4_0, 32, 18, 32, 18},    StoredType{3, VKF_TYPE_Q4_1, 32, 20, 32, 20},
    StoredType{6, VKF_TYPE_Q5_0, 32, 22, 32, 22},    StoredType{7, VKF_TYPE_Q5_1, 32, 24, 32, 24},
    StoredType{20, VKF_TYPE_IQ4_NL, 32, 18, 32, 18},
};
constexpr StoredType queryType = {0, VKF_TYPE_F32, 1, 4, 1, 4};

constexpr uint32_t sinksBit = 1 << 24;
constexpr uint32_t knownFlags = flagMaskTiles | flagMask | flagSoftcap | flagOldAmdDriver;

// Why a dispatch is not taken. An exception, because the checks are many and shallow.
struct Refusal {
    std::string reason;
};
void require(bool condition, const char* reason) {
    if (!condition) {
        throw Refusal{reason};
    }
}

const StoredType& typeOf(uint32_t ggmlType, uint32_t constantBytes, const char* name) {
    for (const StoredType& type : storedTypes) {
        if (type.theirs == ggmlType) {
            require(type.constantBytes == constantBytes, "the size of a block is not that of its type");
            return type;
        }
    }
    throw Refusal{std::string(name) + " has ggml's type " + std::to_string(ggmlType) + ", which vkflash does not have"};
}

uint64_t elements(uint32_t bytes, uint32_t count, const StoredType& type) {
    if (count <= 1) {
        return 0; // ggml gives dimensions of one entry strides too
    }
    require(bytes % type.blockBytes == 0, "a stride is not a multiple of its element size");
    return uint64_t{bytes} / type.blockBytes * type.blockElements;
}

struct InputStrides {
    uint32_t rowStride, headBytes, sequenceBytes;
};
struct InputCounts {
    uint32_t rows, heads, sequences;
};

VkfTensor inputTensor(const StoredType& type, uint32_t columns, InputStrides strides, InputCounts counts) {
    VkfTensor tensor{};
    tensor.type = type.ours;
    tensor.rowStride = counts.rows > 1 ? uint64_t{strides.rowStride} * type.strideElements : columns;
    tensor.headStride = elements(strides.headBytes, counts.heads, type);
    tensor.batchStride = elements(strides.sequenceBytes, counts.sequences, type);
    return tensor;
}

uint32_t ceilDivide(uint32_t a, uint32_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// ggml divides query rows into tiles, or takes the heads of a KV head together, and divides the keys into splits. Each
// number follows from the others.
void checkWork(const Dispatch& dispatch) {
    const PushConstants& push = dispatch.push;
    const uint32_t grouped = push.groupedHeads;
    const uint32_t splits = std::max(push.splits, 1U);
    require(grouped >= 1 && push.splitKeys >= 1, "heads or keys are 0");
    if (grouped > 1) {
        require(push.tileableRows == grouped && push.keyHeads == push.valueHeads &&
                    uint64_t{grouped} * push.keyHeads == push.queryHeads && push.maskHeads <= 1,
                "the grouped heads do not fit the numbers of heads");
    } else {
        require(push.tileableRows == push.resultRows, "q and the result have different numbers of rows");
    }
    require(splits == 1 ? push.splitKeys >= push.keys : ceilDivide(push.keys, push.splitKeys) == splits,
            "the splits do not cover the keys");
    require(dispatch.constants.tileRows != 0, "a tile has no rows");
    const uint32_t tiles = grouped > 1 ? push.resultRows : ceilDivide(push.resultRows, dispatch.constants.tileRows);
    require(dispatch.groups == std::array{tiles * splits, push.queryHeads / grouped, push.querySequences},
            "the workgroups do not fit rows, heads and sequences");
}

void takeTensors(const Dispatch& dispatch, VkfProblem& problem) {
    const AttentionConstants& constants = dispatch.constants;
    const PushConstants& push = dispatch.push;
    require(push.resultHeads == push.queryHeads && push.resultSequences == push.querySequences,
            "q and the result have different numbers of heads or sequences");
    require(push.keyHeads == push.valueHeads, "k and v have different numbers of heads");
    require(push.keySequences == push.querySequences && push.valueSequences == push.querySequences,
            "k or v has another number of sequences than q");
    require(constants.headDim != 0 && constants.valueDim != 0 && push.keys != 0 && push.resultRows != 0,
            "a dimension is 0");
    const StoredType& k = typeOf(constants.keyType, constants.keyBlockBytes, "k");
    const StoredType& v = typeOf(constants.valueType, constants.valueBlockBytes, "v");
    problem.headDim = constants.headDim;
    problem.valueDim = constants.valueDim;
    problem.batch = push.querySequences;
    problem.queryHeads = push.queryHeads;
    problem.kvHeads = push.keyHeads;
    problem.queryRows = push.resultRows;
    problem.keys = push.keys;
    problem.q =
        inputTensor(queryType, constants.headDim, {push.queryRowStride, push.queryHeadBytes, push.querySequenceBytes},
                    {push.resultRows, push.queryHeads, push.querySequences});
    problem.k = inputTensor(k, constants.headDim, {push.keyRowStride, push.keyHeadBytes, push.keySequenceBytes},
                            {push.keys, push.keyHeads, push.keySequences});
    problem.v = inputTensor(v, constants.valueDim, {push.valueRowStride, push.valueHeadBytes, push.valueSequenceBytes},
                            {push.keys, push.valueHeads, push.valueSequences});
    problem.o = rowsFirst(VKF_TYPE_F32, push.resultRows, push.queryHeads, constants.valueDim);
}

// The mask is dense: [maskSequences, maskHeads, maskRows, keys]. Heads and sequences repeat it by modulo.
void takeMask(const PushConstants& push, VkfProblem& problem) {
    require(push.maskRows >= push.resultRows && push.maskHeads >= 1 && push.maskHeads <= push.queryHeads &&
                push.maskSequences >= 1 && push.maskSequences <= push.querySequences,
            "the mask does not fit rows, heads and sequences");
    enable(problem, VKF_USE_BIAS);
    problem.bias.type = VKF_TYPE_F16;
    problem.bias.heads = push.maskHeads;
    problem.bias.sequences = push.maskSequences;
    problem.bias.rowStride = push.keys;
    problem.bias.headStride = push.maskHeads > 1 ? uint64_t{push.keys} * push.maskRows : 0;
    problem.bias.batchStride = push.maskSequences > 1 ? uint64_t{push.keys} * push.maskRows * push.maskHeads : 0;
}

bool near(float value, double expected) { return std::abs(value - expected) <= 1e-5 * std::abs(expected); }

void takeNumbers(const Dispatch& dispatch, DispatchProblem& asked) {
    const PushConstants& push = dispatch.push;
    const bool hasMask = (dispatch.constants.flags & flagMask) != 0;
    const bool hasSoftcap = (dispatch.constants.flags & flagSoftcap) != 0;
    require(std::isfinite(push.scale) && std::isfinite(push.softcap) && push.softcap >= 0 &&
                hasSoftcap == (push.softcap != 0),
            "scale and softcap do not fit the kernel");
    const float scale = hasSoftcap ? push.scale * push.softcap : push.scale;
    // To the library 0 means 1/sqrt(D). The smallest normal number makes scores that exp takes for 0.
    asked.problem.scale = scale == 0 ? std::numeric_limits<float>::min() : scale;
    asked.problem.softcap = push.softcap;
    const uint32_t n = ggml::powerOfTwoUpTo(push.queryHeads);
    require((push.headsAndSinks & ~sinksBit) == n, "a number of heads is wrong, or has unknown flags");
    require(std::isfinite(push.maxBias) && push.maxBias >= 0 &&
                near(push.firstSlope, std::exp2(-double{push.maxBias} / n)) &&
                near(push.secondSlope, std::exp2(-double{push.maxBias} / 2 / n)),
            "the slopes do not fit max_bias");
    if (push.maxBias > 0 && hasMask) {
        enable(asked.problem, VKF_USE_BIAS_FACTORS);
        asked.maxBias = push.maxBias;
    }
    if ((push.headsAndSinks & sinksBit) != 0) {
        enable(asked.problem, VKF_USE_SINKS);
    }
}

} // namespace

std::string describe(const Dispatch& dispatch, DispatchProblem* asked) {
    std::memset(static_cast<void*>(asked), 0, sizeof *asked);
    asked->problem.structSize = sizeof(VkfProblem);
    try {
        const uint32_t flags = dispatch.constants.flags;
        require((flags & flagSelectedKeys) == 0, "n_kv_max is small, where ggml's kernel reads selected keys alone");
        require((flags & ~knownFlags) == 0, "the kernel has unknown flags");
        takeTensors(dispatch, asked->problem);
        checkWork(dispatch);
        if ((flags & flagMask) != 0) {
            takeMask(dispatch.push, asked->problem);
        } else {
            require((dispatch.push.maskRows | dispatch.push.maskHeads | dispatch.push.maskSequences) == 0,
                    "a kernel without a mask has one");
        }
        takeNumbers(dispatch, *asked);
    } catch (const Refusal& refusal) {
        return refusal.reason;
    }
    return {};
}

uint64_t maskBytes(const PushConstants& push) {
    const double bytes = double{sizeof(uint16_t)} * push.keys * push.maskRows * push.maskHeads * push.maskSequences;
    constexpr double most = 0x1p62;
    return bytes < most ? uint64_t{push.keys} * push.maskRows * push.maskHeads * push.maskSequences * sizeof(uint16_t)
                        : UINT64_MAX;
}

bool belongs(const ReductionConstants& reduction, const Dispatch& dispatch) {
    const PushConstants& push = dispatch.push;
    return reduction.valueDim == dispatch.constants.valueDim && reduction.heads == push.resultHeads &&
           reduction.rows == push.resultRows && reduction.sequences == push.resultSequences &&
           reduction.splits == push.splits && (reduction.sinks != 0) == ((push.headsAndSinks & sinksBit) != 0);
}

} // namespace vkf::layer

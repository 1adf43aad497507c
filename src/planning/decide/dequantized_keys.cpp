// SPDX-License-Identifier: MIT
#include "planning/decide/dequantized_keys.hpp"

#include <algorithm>

#include "device/matrix_support.hpp"
#include "problem/strides.hpp"

namespace vkf {
namespace {

// The attention kernel converts the elements of a key once for each tile of rows that reads the key. Converting
// them once and reading the results is faster from this many packed rows on: two tiles of 256.
constexpr uint64_t minReaders = 512;

constexpr uint32_t minWorkgroupKeys = 64; // with D = 128 and q8_0, an invocation has eight loads in flight

// The most packed rows that see one key.
uint64_t readers(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    uint64_t rows = p.queryRows;
    if (problem.windowLeft >= 0 && problem.windowRight >= 0) {
        rows =
            std::min(rows, static_cast<uint64_t>(problem.windowLeft) + static_cast<uint64_t>(problem.windowRight) + 1);
    }
    return rows * (p.queryHeads / p.kvHeads);
}

// Whether the two tensors fit the memory that the caller allows.
bool fitsMemory(const VkfProblem& p) {
    const uint64_t most = p.maxScratchBytes != 0 ? p.maxScratchBytes : VKF_DEFAULT_SCRATCH_BYTES;
    const double columns = static_cast<double>(p.headDim) + p.valueDim;
    const double rows = static_cast<double>(p.batch) * p.kvHeads * p.keys;
    return rows * columns * static_cast<double>(vkfTypeBytes(matrixType(p))) <= static_cast<double>(most);
}

VkfTensorLayout denseKeys(const VkfProblem& p, uint32_t dim) {
    VkfTensorLayout layout{};
    layout.type = matrixType(p);
    layout.batch = p.batch;
    layout.heads = p.kvHeads;
    layout.rows = p.keys;
    layout.dim = dim;
    layout.rowStride = dim;
    layout.headStride = layout.rowStride * layout.rows;
    layout.batchStride = layout.headStride * layout.heads;
    layout.elements = layout.batchStride * layout.batch;
    return layout;
}

// Whether push constants can hold the strides of both kernels. Strides over 4 GiB must be multiples of a power of two.
bool fitsStrides(const CheckedProblem& problem) {
    const auto of = [&](VkfTensorRole role) { return byteStrides(problem.layout(role)); };
    const ByteStrides k = byteStrides(denseKeys(problem.fields, problem.fields.headDim));
    const ByteStrides v = byteStrides(denseKeys(problem.fields, problem.fields.valueDim));
    uint32_t shift = 0;
    return chooseStrideShift({k, of(VKF_TENSOR_K), of(VKF_TENSOR_V), v}, &shift, nullptr) == VKF_SUCCESS &&
           chooseStrideShift({of(VKF_TENSOR_Q), k, v, of(VKF_TENSOR_O)}, &shift, nullptr) == VKF_SUCCESS;
}

} // namespace

bool dequantizesKeys(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    // What pays and fits depends on the batch, on which a call with splitKeys must not depend.
    if (problem.empty || p.keys == 0 || p.splitKeys != 0 || has(p, VKF_USE_CU_SEQLENS) || has(p, VKF_USE_CHOSEN_KEYS)) {
        return false;
    }
    // The attention kernel loads k and v in words of 16 bytes only if rows of q consist of such words too. Otherwise it
    // loads single elements, and those of block types take less time.
    const bool inWords = isBlockType(p.k.type) && isBlockType(p.v.type) && inWholeWords(problem.layout(VKF_TENSOR_Q));
    // A caller that names a limit wants the memory to be used wherever it suffices.
    const bool pays = p.maxScratchBytes != 0 || readers(problem) >= minReaders;
    return inWords && pays && fitsMemory(p) && fitsStrides(problem);
}

CheckedProblem dequantizedProblem(const CheckedProblem& problem) {
    CheckedProblem dequantized = problem;
    VkfProblem& p = dequantized.fields;
    dequantized.layouts[VKF_TENSOR_K] = denseKeys(p, p.headDim);
    dequantized.layouts[VKF_TENSOR_V] = denseKeys(p, p.valueDim);
    p.k = {};
    p.k.type = dequantized.layout(VKF_TENSOR_K).type;
    p.v = p.k;
    p.use &= ~static_cast<VkfUse>(VKF_USE_BLOCK_TABLE);
    p.paging = {};
    return dequantized;
}

DequantizedKeys dequantizedKeys(const CheckedProblem& original, const CheckedProblem& dequantized,
                                const Decision& decision) {
    const uint32_t tileKeys = decision.tile.keys;
    const bool wholeWords = decision.inputAlignment % blockWordBytes == 0 &&
                            inWholeWords(original.layout(VKF_TENSOR_K)) && inWholeWords(original.layout(VKF_TENSOR_V));
    return {dequantized.layout(VKF_TENSOR_K), dequantized.layout(VKF_TENSOR_V),
            std::max(minWorkgroupKeys / tileKeys, 1U) * tileKeys, wholeWords};
}

} // namespace vkf

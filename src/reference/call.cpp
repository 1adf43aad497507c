// SPDX-License-Identifier: MIT
#include "reference/call.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <thread>

#include "problem/arrays.hpp"
#include "problem/first_sizes.hpp"
#include "problem/score_limits.hpp"

namespace vkf {

// The last fields of version 0.2.
VKF_FIRST_SIZE(VkfReferenceInputs, biasFactors);
VKF_FIRST_SIZE(VkfReferenceOptions, savedLse);

} // namespace vkf

namespace vkf::reference {
namespace {

constexpr uint32_t defaultTile = 64;
constexpr uint32_t maxThreads = 256;

// Returns the host memory of an optional input. Null for outputs.
const void* memoryOf(const VkfReferenceInputs& inputs, VkfArray array) {
#define VKF_MEMBER_CASE(NAME, member)                                                                                  \
    case VKF_ARRAY_##NAME:                                                                                             \
        return inputs.member;
    switch (array) {
        VKF_FOR_EACH_OPTIONAL_INPUT(VKF_MEMBER_CASE)
    default: // outputs, and arrays of other calls
        return nullptr;
    }
#undef VKF_MEMBER_CASE
}

VkfResult checkInputs(const Call& call, VkfMessage* message) {
    const struct {
        VkfTensorRole role;
        const void* memory;
        const char* name;
    } tensors[] = {
        {VKF_TENSOR_Q, call.inputs.q, "q"},
        {VKF_TENSOR_K, call.inputs.k, "k"},
        {VKF_TENSOR_V, call.inputs.v, "v"},
    };
    for (const auto& tensor : tensors) {
        if (tensor.memory == nullptr && call.layout(tensor.role).elements != 0 && !call.empty()) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "inputs.%s is null", tensor.name);
        }
    }
    const VkfReferenceFunctions* functions = call.inputs.functions;
    const bool score = hasFunction(call.problem, VKF_FUNCTION_SCORE);
    const bool keep = hasFunction(call.problem, VKF_FUNCTION_KEEP);
    if ((score && (functions == nullptr || functions->score == nullptr)) ||
        (keep && (functions == nullptr || functions->keep == nullptr))) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "inputs.functions lacks a function that the problem has");
    }
    for (const ArrayRow& row : arrayTable) {
        if (!row.output && !call.empty() && bytesOf(row, call.problem) != 0 &&
            memoryOf(call.inputs, row.array) == nullptr) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "inputs.%s is null", row.name);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkSequences(const Call& call, VkfMessage* message) {
    if (!has(call.problem, VKF_USE_CU_SEQLENS) || call.empty()) {
        return VKF_SUCCESS;
    }
    return vkfCheckSequences(&call.problem, call.inputs.cuSeqlensQ, call.inputs.cuSeqlensK, message);
}

// Checks the lists of chosen keys, and sorts them.
VkfResult sortLists(Call* call, VkfMessage* message) {
    const VkfProblem& p = call->problem;
    if (!has(p, VKF_USE_CHOSEN_KEYS) || listEntries(p) == 0 || call->empty()) {
        return VKF_SUCCESS;
    }
    if (const VkfResult result = vkfCheckChosenKeys(&p, call->inputs.chosenKeys, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t count = p.chosenKeys.count;
    std::vector<int32_t> sorted(listCounts(p).all() * count);
    forEachList(p, [&](uint64_t list, uint64_t first) {
        int32_t* const to = &sorted[list * count];
        std::copy_n(call->inputs.chosenKeys + first, count, to);
        std::sort(to, to + count);
    });
    call->sortedLists = std::make_shared<const std::vector<int32_t>>(std::move(sorted));
    return VKF_SUCCESS;
}

// Checks the options, and fills in their defaults and the number of selected rows.
VkfResult completeOptions(Call* call, VkfMessage* message) {
    VkfReferenceOptions& options = call->options;
    if (options.algorithm < VKF_REFERENCE_DIRECT || options.algorithm > VKF_REFERENCE_RECOMPUTE) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "options.algorithm is %d; it must be from %d to %d",
                    static_cast<int>(options.algorithm), static_cast<int>(VKF_REFERENCE_DIRECT),
                    static_cast<int>(VKF_REFERENCE_RECOMPUTE));
    }
    const bool holdsProbabilities =
        options.algorithm == VKF_REFERENCE_STANDARD || options.algorithm == VKF_REFERENCE_RECOMPUTE;
    if (options.probabilities != nullptr && !holdsProbabilities) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "options.probabilities must be null with options.algorithm %d; algorithms %d and %d write it",
                    static_cast<int>(options.algorithm), static_cast<int>(VKF_REFERENCE_STANDARD),
                    static_cast<int>(VKF_REFERENCE_RECOMPUTE));
    }
    if (options.probabilities != nullptr && has(call->problem, VKF_USE_CU_SEQLENS)) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "options.probabilities must be null for packed sequences in this version");
    }
    if (options.algorithm == VKF_REFERENCE_RECOMPUTE && options.savedLse == nullptr && !call->empty()) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "options.savedLse is null");
    }
    if (options.probabilities != nullptr && has(call->problem, VKF_USE_PROBABILITY_ROWS) &&
        (options.rowStride > 1 || options.rowBegin != 0)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "options.rowBegin and rowStride select rows, but VKF_USE_PROBABILITY_ROWS chooses them");
    }
    if (options.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of options is not zero");
    }
    if (options.rowStride == 0 && options.rowBegin != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "options.rowBegin is %u; it must be 0 if options.rowStride is 0", options.rowBegin);
    }
    if (options.productType != VKF_TYPE_F32 && options.productType != VKF_TYPE_F16 &&
        options.productType != VKF_TYPE_BF16) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "options.productType is %d (%s); it must be f32, f16 or bf16",
                    static_cast<int>(options.productType), vkfTypeName(options.productType));
    }
    options.rowStride = std::max(options.rowStride, 1U);
    options.tileRows = options.tileRows == 0 ? defaultTile : options.tileRows;
    options.tileKeys = options.tileKeys == 0 ? defaultTile : options.tileKeys;
    if (options.threads == 0) {
        options.threads = std::max(std::thread::hardware_concurrency(), 1U);
    }
    options.threads = std::min(options.threads, maxThreads);

    call->rows = selectedRows(call->problem.queryRows, options.rowBegin, options.rowStride);
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkCall(const VkfProblem* problem, const VkfReferenceInputs* inputs, const VkfReferenceOptions* options,
                    Call* call, VkfMessage* message) {
    if (const VkfResult result = vkfCheckProblem(problem, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = readVersioned(problem, &call->problem, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = readVersioned(inputs, &call->inputs, "inputs", message); result != VKF_SUCCESS) {
        return result;
    }
    call->options = VkfReferenceOptions{};
    if (options != nullptr) {
        if (const VkfResult result = readVersioned(options, &call->options, "options", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O}) {
        call->layouts[static_cast<size_t>(role)] = layoutOf(*problem, role);
    }
    call->blockMaskLayout = blockMaskLayoutOf(*problem);
    // Kernels have this fp32 number too: both round the default scale once.
    if (call->problem.scale == 0.0F) {
        call->problem.scale = 1.0F / std::sqrt(static_cast<float>(call->problem.headDim));
    }
    call->problem.softcap = effectiveSoftcap(call->problem.softcap, call->problem.scale);
    for (const auto check : {checkSequences, checkInputs}) {
        if (const VkfResult result = check(*call, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (const VkfResult result = sortLists(call, message); result != VKF_SUCCESS) {
        return result;
    }
    return completeOptions(call, message);
}

} // namespace vkf::reference

const char* vkfReferenceAlgorithmString(VkfReferenceAlgorithm algorithm) {
    switch (algorithm) {
    case VKF_REFERENCE_DIRECT:
        return "direct";
    case VKF_REFERENCE_TILED:
        return "tiled";
    case VKF_REFERENCE_TILED_FP32:
        return "tiled fp32";
    case VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS:
        return "tiled fp32, two roundings";
    case VKF_REFERENCE_BLOCK_SPARSE:
        return "block sparse";
    case VKF_REFERENCE_STANDARD:
        return "standard";
    case VKF_REFERENCE_ONLINE:
        return "online";
    case VKF_REFERENCE_TILED_KEYS_OUTER:
        return "tiled, keys outer";
    case VKF_REFERENCE_RECOMPUTE:
        return "recompute";
    default:
        return "unknown algorithm";
    }
}

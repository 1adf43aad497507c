// SPDX-License-Identifier: MIT
#include "calls/append.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "base/boundary.hpp"
#include "calls/binding.hpp"
#include "calls/call_barriers.hpp"
#include "calls/context.hpp"
#include "calls/first_sizes.hpp"
#include "planning/kernel_parameters.hpp"
#include "problem/append_problem.hpp"
#include "problem/problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t workgroupSize = 128; // Vulkan guarantees this many invocations
constexpr uint32_t maxLanes = 64;
constexpr uint32_t advanceWorkgroupSize = 64;

uint64_t bytesOf(const VkfTensorLayout& layout, uint64_t elements) { return vkfStoredBytes(layout.type, elements); }

std::array<uint64_t, 3> strideBytes(const VkfTensorLayout& layout) {
    return {bytesOf(layout, layout.batchStride), bytesOf(layout, layout.headStride), bytesOf(layout, layout.rowStride)};
}

// Returns base^(-2 / dim) as a 64-bit fraction.
uint64_t rotaryRatio(const VkfRotary& rotary) {
    const double ratio = std::pow(static_cast<double>(rotary.base), -2.0 / rotary.dim);
    return ratio < 1.0 ? static_cast<uint64_t>(std::ldexp(ratio, 64)) : UINT64_MAX;
}

void setRotary(const VkfRotary& rotary, Constants& constants) {
    if (rotary.pairs == VKF_ROTARY_OFF) {
        return;
    }
    const uint64_t ratio = rotaryRatio(rotary);
    constants[VKF_APPEND_ID_PAIRS] = static_cast<uint32_t>(rotary.pairs);
    constants[VKF_APPEND_ID_ROTARY_DIM] = rotary.dim;
    constants[VKF_APPEND_ID_RATIO_LOW] = static_cast<uint32_t>(ratio);
    constants[VKF_APPEND_ID_RATIO_HIGH] = static_cast<uint32_t>(ratio >> 32);
    constants[VKF_APPEND_ID_TABLE_ROWS] = rotary.tableRows;
}

// One tensor that a dispatch moves.
struct Move {
    const VkfTensorLayout* source;
    const VkfTensorLayout* target;
};

struct DispatchRequest {
    std::span<const Move> moves; // k and v, or one tensor
    bool toCache;
    bool rotates;            // the first tensor
    const VkfTensor* scaled; // the tensor of the problem that has scales; null where the dispatch divides by none
};

void setCache(const VkfAppendProblem& p, std::span<const Move> moves, Constants& constants) {
    constants[VKF_APPEND_ID_CACHE] = 1;
    constants[VKF_APPEND_ID_PAGE_SIZE] = p.paging.pageSize;
    constants[VKF_APPEND_ID_MAX_PAGES] = p.paging.maxPages;
    constants[VKF_APPEND_ID_PAGES] = p.paging.pages;
    uint32_t id = VKF_APPEND_ID_CACHE_STRIDE;
    for (const Move& move : moves) {
        for (const uint64_t stride : strideBytes(*move.target)) {
            constants[id++] = static_cast<uint32_t>(stride);
            constants[id++] = static_cast<uint32_t>(stride >> 32);
        }
    }
}

VkfResult addDispatch(const VkfAppend_T& append, const DispatchRequest& request, AppendDispatch* to,
                      VkfMessage* message) {
    const VkfAppendProblem& p = append.problem;
    const std::span<const Move> moves = request.moves;
    const VkfTensorLayout& first = *moves.front().source;
    uint32_t dim = 0;
    Variant variant;
    Constants& constants = variant.constants;
    variant.kernel = Kernel::appendRows;
    for (size_t i = 0; i < moves.size(); i++) {
        const VkfTensorLayout& source = *moves[i].source;
        const VkfTensorLayout& target = *moves[i].target;
        dim = std::max(dim, source.dim);
        variant.storage16 = variant.storage16 || source.type != VKF_TYPE_F32 || target.type != VKF_TYPE_F32;
        constants[VKF_APPEND_ID_SOURCE_TYPE + i] = static_cast<uint32_t>(source.type);
        constants[VKF_APPEND_ID_TARGET_TYPE + i] = static_cast<uint32_t>(target.type);
        constants[VKF_APPEND_ID_DIM + i] = source.dim;
        std::ranges::copy(strideBytes(source), &to->params.stride[VKF_APPEND_SOURCE_STRIDES(i)]);
    }
    if (variant.storage16) {
        if (const VkfResult result = requireStorage16(append.context->caps, "types other than f32 need", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    if (request.toCache) {
        setCache(p, moves, constants);
    } else {
        std::ranges::copy(strideBytes(*moves.front().target), &to->params.stride[VKF_APPEND_QUERY_TARGET_STRIDES]);
    }
    const uint32_t lanes = std::min(std::bit_ceil((dim + 3) / 4), maxLanes);
    const uint32_t rowsOfWorkgroup = workgroupSize / lanes;
    constants[VKF_APPEND_ID_WORKGROUP_SIZE] = workgroupSize;
    constants[VKF_APPEND_ID_LANES] = lanes;
    constants[VKF_APPEND_ID_HEADS] = first.heads;
    constants[VKF_APPEND_ID_KEYS] = p.keys;
    if (request.rotates) {
        setRotary(p.rotary, constants);
    }
    if (request.rotates && has(p, VKF_USE_ROTARY_POSITIONS)) {
        const uint64_t headStride = strideBytes(first)[1];
        constants[VKF_APPEND_ID_POSITIONS] = 1;
        constants[VKF_APPEND_ID_HEAD_STRIDE_LOW] = static_cast<uint32_t>(headStride);
        constants[VKF_APPEND_ID_HEAD_STRIDE_HIGH] = static_cast<uint32_t>(headStride >> 32);
    }
    if (request.scaled != nullptr) {
        constants[VKF_APPEND_ID_SCALES] = scalesOf(*request.scaled);
    }
    to->params.rows = p.rows;
    to->params.row_count = first.batch * first.heads * p.rows;
    uint32_t count = to->params.row_count;
    if (has(p, VKF_USE_CU_SEQLENS)) {
        constants[VKF_APPEND_ID_PACKED] = 1;
        to->params.stride[VKF_APPEND_SEQUENCES] = p.batch;
        count = std::max(count, p.batch); // each sequence has a new length
    }
    to->workgroups = (count + rowsOfWorkgroup - 1) / rowsOfWorkgroup;
    to->tensors = static_cast<uint32_t>(moves.size());
    return append.context->pipelines.get(variant, &to->pipeline, message);
}

VkfResult createAppend(VkfContext context, const VkfAppendProblem* given, VkfAppend* append, VkfMessage* message) {
    if (context == nullptr || append == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", context == nullptr ? "context" : "append");
    }
    std::unique_ptr<VkfAppend_T> created(new VkfAppend_T{context});
    VkfResult result = checkAppend(given, &created->problem, &created->layouts, message);
    const auto moveOf = [&](VkfAppendRole source, VkfAppendRole target) {
        return Move{&created->layout(source), &created->layout(target)};
    };
    const VkfAppendProblem& p = created->problem;
    const bool scaled = has(p, VKF_USE_KV_SCALES);
    const std::array moves = {moveOf(VKF_APPEND_NEW_K, VKF_APPEND_K), moveOf(VKF_APPEND_NEW_V, VKF_APPEND_V)};
    const std::span<const Move> both = moves;
    if (result == VKF_SUCCESS) {
        result = scaled ? addDispatch(*created, {both.first(1), true, true, &p.k}, &created->cache, message)
                        : addDispatch(*created, {both, true, true, nullptr}, &created->cache, message);
    }
    if (result == VKF_SUCCESS && scaled) {
        result = addDispatch(*created, {both.last(1), true, false, &p.v}, &created->values, message);
    }
    if (result == VKF_SUCCESS && has(p, VKF_USE_QUERIES)) {
        const std::array query = {moveOf(VKF_APPEND_Q, VKF_APPEND_ROTATED_Q)};
        result = addDispatch(*created, {query, false, true, nullptr}, &created->query, message);
    }
    if (result == VKF_SUCCESS) {
        Variant variant;
        variant.kernel = Kernel::advanceLengths;
        variant.constants[VKF_APPEND_ID_WORKGROUP_SIZE] = advanceWorkgroupSize;
        variant.constants[VKF_APPEND_ID_KEYS] = created->problem.keys;
        result = context->pipelines.get(variant, &created->advance, message);
    }
    if (result == VKF_SUCCESS) {
        *append = created.release();
    }
    return result;
}

VkfResult refuseStrays(const VkfAppendProblem& p, const VkfAppendBindings& bindings, VkfMessage* message) {
    const struct {
        const char* name;
        const VkfBinding& binding;
        VkfUseBits bit;
    } optional[] = {
        {"newLengths", bindings.newLengths, VKF_USE_NEW_LENGTHS},
        {"blockTable", bindings.blockTable, VKF_USE_BLOCK_TABLE},
        {"q", bindings.q, VKF_USE_QUERIES},
        {"rotatedQ", bindings.rotatedQ, VKF_USE_QUERIES},
        {"cuSeqlens", bindings.cuSeqlens, VKF_USE_CU_SEQLENS},
        {"cos", bindings.cos, VKF_USE_ROTARY_TABLES},
        {"sin", bindings.sin, VKF_USE_ROTARY_TABLES},
        {"rotaryPositions", bindings.rotaryPositions, VKF_USE_ROTARY_POSITIONS},
        {"kvScales", bindings.kvScales, VKF_USE_KV_SCALES},
    };
    for (const auto& [name, binding, bit] : optional) {
        if (!has(p, bit)) {
            if (const VkfResult result = refuseStray(name, binding, bit, message); result != VKF_SUCCESS) {
                return result;
            }
        }
    }
    return VKF_SUCCESS;
}

// Whether rotatedQ may have the address of q.
bool canRotateInPlace(const VkfAppend_T& append) {
    const VkfTensorLayout& q = append.layout(VKF_APPEND_Q);
    const VkfTensorLayout& rotated = append.layout(VKF_APPEND_ROTATED_Q);
    return q.type == rotated.type && strideBytes(q) == strideBytes(rotated);
}

// Moves what belongs to v, and to its scales, to a dispatch of its own.
void divideAddresses(const VkfAppend_T& append, VkDeviceAddress scales, shared::AppendParams* cache,
                     shared::AppendParams* values) {
    const VkfAppendProblem& p = append.problem;
    values->source[0] = cache->source[1];
    values->target[0] = cache->target[1];
    values->lengths = cache->lengths;
    values->block_table = cache->block_table;
    if (has(p, VKF_USE_CU_SEQLENS)) {
        values->stride[VKF_APPEND_CU_SEQLENS] = cache->stride[VKF_APPEND_CU_SEQLENS];
    }
    cache->source[VKF_APPEND_SCALES] = scales;
    values->source[VKF_APPEND_SCALES] = scales + p.k.scales * sizeof(float);
}

// The push constants of an append, with the addresses of one call.
struct AppendCall {
    shared::AppendParams cache;
    shared::AppendParams values;
    shared::AppendParams query;
};

// Checks the bindings of one call, and writes their addresses into the push constants of all dispatches.
VkfResult resolveAll(const VkfAppend_T& append, const VkfAppendBindings& bindings, AppendCall* call,
                     VkfMessage* message) {
    shared::AppendParams* const cache = &call->cache;
    shared::AppendParams* const query = &call->query;
    const VkfAppendProblem& p = append.problem;
    if (const VkfResult result = refuseStrays(p, bindings, message); result != VKF_SUCCESS) {
        return result;
    }
    const auto tensor = [&](const char* name, const VkfBinding& binding, VkfAppendRole role, VkDeviceAddress* address,
                            Access access) {
        const VkfTensorLayout& layout = append.layout(role);
        const uint64_t alignment = std::max<uint64_t>(elementAlignment(layout.type), 2);
        return RequiredBinding{name,      &binding, address,        bytesOf(layout, layout.elements),
                               alignment, access,   isDense(layout)};
    };
    const auto array = [&](const char* name, const VkfBinding& binding, VkfArray which, VkDeviceAddress* address,
                           Access access = Access::read) {
        return RequiredBinding{name, &binding, address, arrayBytes(p, which), 4, access};
    };
    VkDeviceAddress cuSeqlens = 0;
    VkDeviceAddress positions = 0;
    VkDeviceAddress kvScales = 0;
    std::array requirements = {
        tensor("newK", bindings.newK, VKF_APPEND_NEW_K, &cache->source[0], Access::read),
        tensor("newV", bindings.newV, VKF_APPEND_NEW_V, &cache->source[1], Access::read),
        tensor("k", bindings.k, VKF_APPEND_K, &cache->target[0], Access::write),
        tensor("v", bindings.v, VKF_APPEND_V, &cache->target[1], Access::write),
        tensor("q", bindings.q, VKF_APPEND_Q, &query->source[0], Access::read),
        tensor("rotatedQ", bindings.rotatedQ, VKF_APPEND_ROTATED_Q, &query->target[0], Access::write),
        array("lengths", bindings.lengths, VKF_ARRAY_LENGTHS, &cache->lengths),
        array("newLengths", bindings.newLengths, VKF_ARRAY_NEW_LENGTHS, &cache->new_lengths, Access::write),
        array("blockTable", bindings.blockTable, VKF_ARRAY_BLOCK_TABLE, &cache->block_table),
        array("cuSeqlens", bindings.cuSeqlens, VKF_ARRAY_CU_SEQLENS, &cuSeqlens),
        array("cos", bindings.cos, VKF_ARRAY_COS, &cache->cos_table),
        array("sin", bindings.sin, VKF_ARRAY_SIN, &cache->sin_table),
        array("rotaryPositions", bindings.rotaryPositions, VKF_ARRAY_ROTARY_POSITIONS, &positions),
        array("kvScales", bindings.kvScales, VKF_ARRAY_KV_SCALES, &kvScales),
    };
    if (canRotateInPlace(append)) {
        requirements[VKF_APPEND_ROTATED_Q].inPlaceOf = requirements[VKF_APPEND_Q].name;
    }
    Resolver resolver(*append.context, message);
    for (const RequiredBinding& required : requirements) {
        if (const VkfResult result = resolver.resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (has(p, VKF_USE_NEW_LENGTHS) && cache->new_lengths == cache->lengths) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "newLengths must not have the address of lengths; vkfCmdAdvance updates lengths in place");
    }
    if (const VkfResult result = resolver.checkOutputs(); result != VKF_SUCCESS) {
        return result;
    }
    if (has(p, VKF_USE_CU_SEQLENS)) {
        cache->stride[VKF_APPEND_CU_SEQLENS] = query->stride[VKF_APPEND_CU_SEQLENS] = cuSeqlens;
    }
    if (has(p, VKF_USE_ROTARY_POSITIONS)) {
        cache->stride[VKF_APPEND_POSITIONS] = query->stride[VKF_APPEND_POSITIONS] = positions;
    }
    query->lengths = cache->lengths;
    query->cos_table = cache->cos_table;
    query->sin_table = cache->sin_table;
    if (has(p, VKF_USE_KV_SCALES)) {
        divideAddresses(append, kvScales, cache, &call->values);
    }
    return VKF_SUCCESS;
}

template <typename Params>
void dispatch(const VkfAppend_T& append, VkCommandBuffer commandBuffer, VkPipeline pipeline, const Params& params,
              std::array<uint32_t, 3> groups) {
    const DeviceFunctions& functions = append.context->functions;
    functions.vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    functions.vkCmdPushConstants(commandBuffer, append.context->pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 sizeof params, &params);
    functions.vkCmdDispatch(commandBuffer, groups[0], groups[1], groups[2]);
}

VkfResult recordAppend(VkCommandBuffer commandBuffer, const VkfAppend_T& append, const VkfAppendBindings* given,
                       VkfMessage* message) {
    VkfAppendBindings bindings{};
    AppendCall call{append.cache.params, append.values.params, append.query.params};
    if (const VkfResult result = readVersioned(given, &bindings, "bindings", message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = resolveAll(append, bindings, &call, message); result != VKF_SUCCESS) {
        return result;
    }
    const CallBarriers barriers(*append.context, commandBuffer);
    for (const auto& [one, params] : {std::pair{&append.cache, &call.cache}, std::pair{&append.values, &call.values},
                                      std::pair{&append.query, &call.query}}) {
        if (one->workgroups != 0) {
            const uint32_t layers = (one->workgroups - 1) / VKF_APPEND_GROUPS + 1;
            dispatch(append, commandBuffer, one->pipeline, *params,
                     {std::min<uint32_t>(one->workgroups, VKF_APPEND_GROUPS), one->tensors, layers});
        }
    }
    return VKF_SUCCESS;
}

VkfResult recordAdvance(VkCommandBuffer commandBuffer, const VkfAppend_T& append, const VkfBinding* lengths,
                        VkfMessage* message) {
    if (has(append.problem, VKF_USE_CU_SEQLENS)) {
        return fail(
            message, VKF_ERROR_UNSUPPORTED,
            "vkfCmdAdvance adds the same number to all lengths; of packed new rows, copy newLengths to lengths");
    }
    shared::AdvanceParams params{};
    params.rows = append.problem.rows;
    params.sequences = append.problem.batch;
    const RequiredBinding required{"lengths", lengths, &params.lengths,
                                   uint64_t{append.problem.batch} * sizeof(int32_t), sizeof(int32_t)};
    if (const VkfResult result = Resolver(*append.context, message).resolve(required); result != VKF_SUCCESS) {
        return result;
    }
    const CallBarriers barriers(*append.context, commandBuffer);
    dispatch(append, commandBuffer, append.advance, params, {(params.sequences - 1) / advanceWorkgroupSize + 1, 1, 1});
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCreateAppend(VkfContext context, const VkfAppendProblem* problem, VkfAppend* append, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createAppend(context, problem, append, message); });
}

void vkfDestroyAppend(VkfAppend append) { delete append; }

VkfResult vkfCmdAppend(VkCommandBuffer commandBuffer, VkfAppend append, const VkfAppendBindings* bindings,
                       VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || append == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null",
                         append == nullptr ? "append" : "commandBuffer");
    }
    return vkf::recordAppend(commandBuffer, *append, bindings, message);
}

VkfResult vkfCmdAdvance(VkCommandBuffer commandBuffer, VkfAppend append, const VkfBinding* lengths,
                        VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || append == nullptr || lengths == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null",
                         append == nullptr    ? "append"
                         : lengths == nullptr ? "lengths"
                                              : "commandBuffer");
    }
    return vkf::recordAdvance(commandBuffer, *append, lengths, message);
}

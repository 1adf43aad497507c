// SPDX-License-Identifier: MIT
#include "calls/merge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "base/boundary.hpp"
#include "calls/binding.hpp"
#include "calls/call_barriers.hpp"
#include "calls/context.hpp"
#include "calls/first_sizes.hpp"
#include "problem/cache_tensor.hpp"
#include "problem/checks.hpp"
#include "problem/first_sizes.hpp"
#include "tiles/merge_tile.hpp"

namespace vkf {
namespace {

constexpr uint64_t maxElements = (uint64_t{1} << 62) - 1;

// Returns the distance from the first element of `count` pieces to one past the last one. UINT64_MAX if it is over
// maxElements.
uint64_t reachOf(uint64_t piece, uint64_t stride, uint32_t count) {
    if (piece == 0) {
        return 0;
    }
    const uint64_t steps = count - 1;
    return steps != 0 && stride > (maxElements - piece) / steps ? UINT64_MAX : steps * stride + piece;
}

// Checks everything that needs no device. Fills *problem with the given problem, and *layout.
VkfResult checkMerge(const VkfMergeProblem* given, VkfMergeProblem* problem, MergeLayouts* layout,
                     VkfMessage* message) {
    if (const VkfResult result = readVersioned(given, problem, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfMergeProblem& p = *problem;
    if (p.partials == 0 || p.batch == 0 || p.dim == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is 0; it must be at least 1",
                    p.partials == 0 ? "partials"
                    : p.batch == 0  ? "batch"
                                    : "dim");
    }
    if (const VkfResult result = checkUseBits(p.use, VKF_USE_LSE | VKF_USE_BASE_2_LSE, "a merge", message);
        result != VKF_SUCCESS) {
        return result;
    }
    const struct {
        uint64_t value;
        uint64_t limit;
        const char* name;
    } limits[] = {
        {p.partials, VKF_MAX_ROWS, "partials"},
        {p.dim, VKF_MAX_MERGE_DIM, "dim"},
        {uint64_t{p.batch} * p.heads, VKF_MAX_ROWS, "batch * heads"},
        {std::min<uint64_t>(uint64_t{p.batch} * p.heads, VKF_MAX_ROWS) * p.rows, VKF_MAX_ROWS, "batch * heads * rows"},
    };
    for (const auto& limit : limits) {
        if (limit.value > limit.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s is %llu, over the limit of %llu", limit.name,
                        static_cast<unsigned long long>(limit.value), static_cast<unsigned long long>(limit.limit));
        }
    }
    MergeLayouts made{};
    made.partial.batch = made.o.batch = p.batch;
    made.partial.heads = made.o.heads = p.heads;
    made.partial.rows = made.o.rows = p.rows;
    made.partial.dim = made.o.dim = p.dim;
    VkfResult result = layOut("partial", p.partial, TensorUse::input, &made.partial, message);
    if (result == VKF_SUCCESS) {
        result = layOut("o", p.o, TensorUse::output, &made.o, message);
    }
    if (result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t rows = uint64_t{p.batch} * p.heads * p.rows;
    made.all.partialStride = p.partialStride != 0 ? p.partialStride : made.partial.elements;
    made.all.lsePartialStride = p.lsePartialStride != 0 ? p.lsePartialStride : rows;
    made.all.partialElements = reachOf(made.partial.elements, made.all.partialStride, p.partials);
    made.all.lseElements = reachOf(rows, made.all.lsePartialStride, p.partials);
    if (std::max(made.all.partialElements, made.all.lseElements) > maxElements) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s reaches past 2^62 - 1 elements",
                    made.all.partialElements > maxElements ? "partialStride" : "lsePartialStride");
    }
    *layout = made;
    return VKF_SUCCESS;
}

// Returns the bytes of an array. 0 for arrays of other calls, and without the array.
uint64_t mergeArrayBytes(const VkfMergeProblem& p, const MergeLayouts& layout, VkfArray array) {
    switch (array) {
    case VKF_ARRAY_LSE:
        return has(p, VKF_USE_LSE) ? uint64_t{p.batch} * p.heads * p.rows * sizeof(float) : 0;
    case VKF_ARRAY_PARTIAL_LSE:
        return layout.all.lseElements * sizeof(float);
    default:
        return 0;
    }
}

// Returns the push constants of the merge, all but addresses and first_item.
shared::MergeParams baseParams(const VkfMergeProblem& p, const MergeLayouts& layout) {
    const uint64_t partialBytes = vkfTypeBytes(layout.partial.type);
    const uint64_t oBytes = vkfTypeBytes(layout.o.type);
    shared::MergeParams params{};
    params.partial_stride = layout.all.partialStride * partialBytes;
    params.partial_batch_stride = layout.partial.batchStride * partialBytes;
    params.partial_head_stride = layout.partial.headStride * partialBytes;
    params.partial_row_stride = layout.partial.rowStride * partialBytes;
    params.o_batch_stride = layout.o.batchStride * oBytes;
    params.o_head_stride = layout.o.headStride * oBytes;
    params.o_row_stride = layout.o.rowStride * oBytes;
    params.lse_partial_stride = layout.all.lsePartialStride * sizeof(float);
    params.partial_count = p.partials;
    params.heads = p.heads;
    params.rows = p.rows;
    params.row_count = p.batch * p.heads * p.rows;
    params.dim = p.dim;
    return params;
}

// Chooses the workgroup's shape, and fills in the shader variant for it.
VkfResult makeVariant(const Caps& caps, VkfMerge_T& merge, Variant* variant, VkfMessage* message) {
    const bool wide = merge.layout.partial.type == VKF_TYPE_F32 && merge.layout.o.type == VKF_TYPE_F32;
    if (!wide) {
        if (const VkfResult result = requireStorage16(caps, "f16 and bf16 tensors need", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    const uint32_t lanes = std::min(std::bit_ceil((merge.params.dim + 3) / 4), maxMergeLanes);
    const MergeTile tile = chooseMergeTile(merge.params.partial_count, lanes, caps);
    merge.rowsOfWorkgroup = tile.rows;
    merge.columnsOfWorkgroup = 4 * lanes;
    variant->kernel = Kernel::mergePartials;
    variant->storage16 = !wide;
    variant->loops = loopsOf(traitsOf(variant->kernel), caps.quirks);
    tile.setConstants(variant->constants);
    variant->constants[VKF_MERGE_ID_TYPE_PARTIAL] = static_cast<uint32_t>(merge.layout.partial.type);
    variant->constants[VKF_MERGE_ID_TYPE_O] = static_cast<uint32_t>(merge.layout.o.type);
    variant->constants[VKF_MERGE_ID_LSE] = merge.lse ? 1 : 0;
    variant->constants[VKF_MERGE_ID_BASE_E] = merge.base2 ? 0 : 1;
    return VKF_SUCCESS;
}

VkfResult createMerge(VkfContext context, const VkfMergeProblem* given, VkfMerge* merge, VkfMessage* message) {
    if (context == nullptr || merge == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", context == nullptr ? "context" : "merge");
    }
    std::unique_ptr<VkfMerge_T> created(new VkfMerge_T{context});
    VkfMergeProblem problem{};
    Variant variant;
    VkfResult result = checkMerge(given, &problem, &created->layout, message);
    if (result == VKF_SUCCESS) {
        created->lse = has(problem, VKF_USE_LSE);
        created->base2 = has(problem, VKF_USE_BASE_2_LSE);
        created->params = baseParams(problem, created->layout);
        result = makeVariant(context->caps, *created, &variant, message);
    }
    if (result == VKF_SUCCESS) {
        result = context->pipelines.get(variant, &created->pipeline, message);
    }
    if (result == VKF_SUCCESS) {
        *merge = created.release();
    }
    return result;
}

VkfResult record(VkCommandBuffer commandBuffer, const VkfMerge_T& merge, const VkfMergeBindings* given,
                 VkfMessage* message) {
    VkfMergeBindings bindings{};
    if (const VkfResult result = readVersioned(given, &bindings, "bindings", message); result != VKF_SUCCESS) {
        return result;
    }
    if (!merge.lse) {
        if (const VkfResult result = refuseStray("lse", bindings.lse, VKF_USE_LSE, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    shared::MergeParams params = merge.params;
    const MergeLayouts& layout = merge.layout;
    const uint64_t partialBytes = vkfTypeBytes(layout.partial.type);
    const uint64_t oBytes = vkfTypeBytes(layout.o.type);
    const uint64_t lseBytes = merge.lse ? params.row_count * sizeof(float) : 0;
    const std::array requirements = {
        RequiredBinding{"partials", &bindings.partials, &params.partials, layout.all.partialElements * partialBytes,
                        partialBytes, Access::read,
                        layout.all.partialStride == layout.partial.elements && isDense(layout.partial)},
        RequiredBinding{"partialLse", &bindings.partialLse, &params.partial_lse, layout.all.lseElements * sizeof(float),
                        sizeof(float), Access::read, layout.all.lsePartialStride == params.row_count},
        RequiredBinding{"o", &bindings.o, &params.o, layout.o.elements * oBytes, oBytes, Access::write,
                        isDense(layout.o)},
        RequiredBinding{"lse", &bindings.lse, &params.lse, lseBytes, sizeof(float), Access::write},
    };
    Resolver resolver(*merge.context, message);
    for (const RequiredBinding& required : requirements) {
        if (const VkfResult result = resolver.resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (const VkfResult result = resolver.checkOutputs(); result != VKF_SUCCESS) {
        return result;
    }
    if (params.row_count == 0) {
        return VKF_SUCCESS;
    }
    const CallBarriers barriers(*merge.context, commandBuffer);
    const DeviceFunctions& functions = merge.context->functions;
    const uint32_t columnGroups = (params.dim - 1) / merge.columnsOfWorkgroup + 1;
    const uint32_t rowGroups = (params.row_count - 1) / merge.rowsOfWorkgroup + 1;
    functions.vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, merge.pipeline);
    while (params.first_item < rowGroups) {
        const uint32_t count = std::min(rowGroups - params.first_item, merge.context->caps.maxGroupCount);
        functions.vkCmdPushConstants(commandBuffer, merge.context->pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                     sizeof params, &params);
        functions.vkCmdDispatch(commandBuffer, count, columnGroups, 1);
        params.first_item += count;
    }
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCheckMerge(const VkfMergeProblem* problem, VkfMessage* message) {
    VkfMergeProblem read{};
    vkf::MergeLayouts layouts{};
    return vkf::checkMerge(problem, &read, &layouts, message);
}

uint64_t vkfGetMergeArrayBytes(const VkfMergeProblem* problem, VkfArray array) {
    VkfMergeProblem read{};
    vkf::MergeLayouts layouts{};
    return vkf::checkMerge(problem, &read, &layouts, nullptr) == VKF_SUCCESS
               ? vkf::mergeArrayBytes(read, layouts, array)
               : 0;
}

VkfResult vkfGetMergeTensorLayout(const VkfMergeProblem* problem, VkfMergeRole role, VkfTensorLayout* layout,
                                  VkfMessage* message) {
    VkfMergeProblem read{};
    vkf::MergeLayouts layouts{};
    if (const VkfResult result = vkf::checkMerge(problem, &read, &layouts, message); result != VKF_SUCCESS) {
        return result;
    }
    if (role != VKF_MERGE_PARTIAL && role != VKF_MERGE_O) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "role is %d; it must be 0 to %d", role, VKF_MERGE_O);
    }
    return vkf::writeVersioned(role == VKF_MERGE_PARTIAL ? layouts.partial : layouts.o, layout, "layout", message);
}

VkfResult vkfGetMergeLayout(const VkfMergeProblem* problem, VkfMergeLayout* layout, VkfMessage* message) {
    VkfMergeProblem read{};
    vkf::MergeLayouts layouts{};
    const VkfResult result = vkf::checkMerge(problem, &read, &layouts, message);
    return result == VKF_SUCCESS ? vkf::writeVersioned(layouts.all, layout, "layout", message) : result;
}

VkfResult vkfCreateMerge(VkfContext context, const VkfMergeProblem* problem, VkfMerge* merge, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createMerge(context, problem, merge, message); });
}

void vkfDestroyMerge(VkfMerge merge) { delete merge; }

VkfResult vkfCmdMerge(VkCommandBuffer commandBuffer, VkfMerge merge, const VkfMergeBindings* bindings,
                      VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || merge == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null",
                         merge == nullptr ? "merge" : "commandBuffer");
    }
    return vkf::record(commandBuffer, *merge, bindings, message);
}

// SPDX-License-Identifier: MIT
#include "problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "../shaders/shared/attention_params.h"
#include "message.hpp"
#include "versioned.hpp"

namespace vkf {
namespace {

constexpr std::array roleNames = {"q", "k", "v", "o"};
constexpr uint64_t most32 = std::numeric_limits<uint32_t>::max();
// Of the first version, before there were block masks.
constexpr size_t firstProblemSize = offsetof(VkfProblem, blockMaskBatchStride);

bool isStudyPath(VkfPath path) { return path == VKF_PATH_STANDARD || path == VKF_PATH_KEY_OUTER; }

bool isFinite(float x) { return std::isfinite(x); }

// What the description has room for and this version cannot do.
VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message) {
    const struct {
        bool asked;
        const char* name;
    } features[] = {
        {p.bias.enabled != 0, "bias"},
        {p.mask.enabled != 0, "mask"},
        {p.alibi != 0 || p.alibiCustom != 0, "alibi"},
        {p.sinks != 0, "sinks"},
        {p.packed != 0, "packed (variable-length) sequences"},
        {p.documents != 0, "documents"},
        {p.weights != 0 && p.path != VKF_PATH_STANDARD, "weights on another path than standard"},
        {p.paging.enabled != 0 && isStudyPath(p.path), "paging on paths standard and key_outer"},
        {p.paging.enabled != 0 && p.maskBlock != 0, "paging with a maskBlock"},
        {(isBlockType(p.k.type) || isBlockType(p.v.type)) && isStudyPath(p.path),
         "k or v of a block type on paths standard and key_outer"},
        {p.dropout.probability != 0.0F, "dropout"},
        {p.maskBlock != 0 && p.path == VKF_PATH_STANDARD, "maskBlock on path standard"},
        {p.maskBlock != 0 && p.path == VKF_PATH_DECODE, "maskBlock on path decode"},
        {p.kvSplits > 1 && isStudyPath(p.path), "kvSplits over 1 on paths standard and key_outer"},
        {p.window.enabled != 0 && p.window.firstKeys != 0, "window.firstKeys"},
    };
    for (const auto& feature : features) {
        if (feature.asked) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s is not in this version", feature.name);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkValues(const VkfProblem& p, VkfMessage* message) {
    const struct {
        VkfBool value;
        const char* name;
    } booleans[] = {
        {p.causal, "causal"},
        {p.keyLengths, "keyLengths"},
        {p.lse, "lse"},
        {p.window.enabled, "window.enabled"},
        {p.bias.enabled, "bias.enabled"},
        {p.mask.enabled, "mask.enabled"},
        {p.alibi, "alibi"},
        {p.alibiCustom, "alibiCustom"},
        {p.sinks, "sinks"},
        {p.packed, "packed"},
        {p.documents, "documents"},
        {p.weights, "weights"},
        {p.paging.enabled, "paging.enabled"},
    };
    for (const auto& boolean : booleans) {
        if (boolean.value > 1) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %u; it must be 0 or 1", boolean.name,
                        boolean.value);
        }
    }
    const struct {
        int value;
        int last;
        const char* name;
    } enumerations[] = {
        {p.path, VKF_PATH_KEY_OUTER, "path"},
        {p.alignment, VKF_ALIGNMENT_TOP_LEFT, "alignment"},
        {p.precision, VKF_PRECISION_FP32, "precision"},
    };
    for (const auto& enumeration : enumerations) {
        if (enumeration.value < 0 || enumeration.value > enumeration.last) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %d; it must be 0 to %d", enumeration.name,
                        enumeration.value, enumeration.last);
        }
    }
    if (!isFinite(p.scale)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scale is not finite");
    }
    if (!isFinite(p.softcap) || p.softcap < 0.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "softcap is %g; it must be finite and not negative",
                    static_cast<double>(p.softcap));
    }
    if (!isFinite(p.dropout.probability) || p.dropout.probability < 0.0F || p.dropout.probability >= 1.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "dropout.probability is %g; it must be in [0, 1)",
                    static_cast<double>(p.dropout.probability));
    }
    if (p.window.enabled != 0 && (p.window.left < -1 || p.window.right < -1)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "window is (%lld, %lld); both must be -1 (unlimited) or more",
                    static_cast<long long>(p.window.left), static_cast<long long>(p.window.right));
    }
    if (p.reserved != 0 || p.dropout.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field is not zero");
    }
    return VKF_SUCCESS;
}

// Path decode takes wider heads than the others.
VkfResult checkDims(const VkfProblem& p, VkfMessage* message) {
    const bool decode = p.path == VKF_PATH_DECODE || (p.path == VKF_PATH_AUTO && p.maskBlock == 0);
    const VkfPath path = decode ? VKF_PATH_DECODE : p.path == VKF_PATH_AUTO ? VKF_PATH_SCALAR : p.path;
    const struct {
        uint32_t value;
        uint32_t limit;
        const char* name;
    } dims[] = {
        {p.headDim, decode ? maxDecodeHeadDim : maxHeadDim, "headDim"},
        {p.valueDim != 0 ? p.valueDim : p.headDim, decode ? maxDecodeValueDim : maxHeadDim, "valueDim"},
    };
    if (p.headDim == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "headDim is 0");
    }
    for (const auto& dim : dims) {
        if (dim.value > dim.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u on path %s", dim.name, dim.value,
                        dim.limit, vkfPathName(path));
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkShape(const VkfProblem& p, VkfMessage* message) {
    const struct {
        uint32_t value;
        uint32_t limit;
        const char* name;
    } limits[] = {
        {p.queryHeads, VKF_MAX_HEADS, "queryHeads"}, {p.kvHeads, VKF_MAX_HEADS, "kvHeads"},
        {p.queryRows, VKF_MAX_ROWS, "queryRows"},    {p.keys, VKF_MAX_ROWS, "keys"},
        {p.kvSplits, VKF_MAX_SPLITS, "kvSplits"},
    };
    for (const auto& dimension : limits) {
        if (dimension.value > dimension.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u", dimension.name,
                        dimension.value, dimension.limit);
        }
    }
    if (p.queryHeads > 0 && (p.kvHeads == 0 || p.queryHeads % p.kvHeads != 0)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "queryHeads %u is not a multiple of kvHeads %u", p.queryHeads,
                    p.kvHeads);
    }
    return VKF_SUCCESS;
}

VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message) {
    if (p.maskBlock % VKF_LEAST_MASK_BLOCK != 0 || p.maskBlock > VKF_MAX_MASK_BLOCK) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "maskBlock is %u; it must be a multiple of %d, at most %d, or 0",
                    p.maskBlock, VKF_LEAST_MASK_BLOCK, VKF_MAX_MASK_BLOCK);
    }
    const struct {
        uint64_t value;
        const char* name;
    } strides[] = {{p.blockMaskBatchStride, "blockMaskBatchStride"}, {p.blockMaskHeadStride, "blockMaskHeadStride"}};
    for (const auto& stride : strides) {
        if (stride.value != 0 && p.maskBlock == 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %llu without a maskBlock", stride.name,
                        static_cast<unsigned long long>(stride.value));
        }
        if (stride.value > most32) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %llu is over the limit of 4294967295", stride.name,
                        static_cast<unsigned long long>(stride.value));
        }
    }
    const double words = static_cast<double>(p.blockMaskBatchStride) * p.batch +
                         static_cast<double>(p.blockMaskHeadStride) * p.queryHeads;
    if (words > 0x1p60) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the strides of the block mask reach past 2^60 words");
    }
    return VKF_SUCCESS;
}

VkfResult checkPaging(const VkfProblem& p, VkfMessage* message) {
    if (p.paging.enabled == 0) {
        return VKF_SUCCESS;
    }
    if (!std::has_single_bit(p.paging.pageSize)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pageSize is %u; it must be a power of two",
                    p.paging.pageSize);
    }
    if (p.paging.maxPages > VKF_MAX_ROWS) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "paging.maxPages %u is over the limit of %u", p.paging.maxPages,
                    VKF_MAX_ROWS);
    }
    if (uint64_t{p.paging.maxPages} * p.paging.pageSize < p.keys) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.maxPages %u of %u rows are fewer than %u keys",
                    p.paging.maxPages, p.paging.pageSize, p.keys);
    }
    if (p.paging.pages == 0 && p.keys != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pages is 0");
    }
    return VKF_SUCCESS;
}

// The problem must have passed checkBlockMask. All zeros without a block mask.
VkfBlockMaskLayout blockMaskLayout(const VkfProblem& p) {
    VkfBlockMaskLayout layout{};
    if (p.maskBlock == 0) {
        return layout;
    }
    layout.rowBlocks = (p.queryRows + p.maskBlock - 1) / p.maskBlock;
    layout.keyBlocks = (p.keys + p.maskBlock - 1) / p.maskBlock;
    layout.rowWords = (layout.keyBlocks + 31) / 32;
    const uint64_t ofHead = uint64_t{layout.rowBlocks} * layout.rowWords;
    if (p.batch != 0 && p.queryHeads != 0 && ofHead != 0) {
        layout.words = (p.batch - 1) * p.blockMaskBatchStride + (p.queryHeads - 1) * p.blockMaskHeadStride + ofHead;
    }
    return layout;
}

} // namespace

bool reach(const VkfTensorLayout& layout, uint64_t* elements) {
    constexpr uint64_t most = (uint64_t{1} << 62) - 1;
    *elements = 0;
    if (layout.batch == 0 || layout.heads == 0 || layout.rows == 0 || layout.dim == 0) {
        return true;
    }
    uint64_t total = layout.dim;
    const uint64_t steps[3][2] = {{layout.batch - 1, layout.batchStride},
                                  {layout.heads - 1, layout.headStride},
                                  {layout.rows - 1, layout.rowStride}};
    for (const auto& step : steps) {
        if (step[0] != 0 && step[1] > (most - total) / step[0]) {
            return false;
        }
        total += step[0] * step[1];
    }
    *elements = total;
    return true;
}

bool isInjective(const VkfTensorLayout& layout) {
    // Sorted by stride, each dimension steps over all that the smaller ones reach.
    std::array<std::array<uint64_t, 2>, 3> dimensions = {
        {{layout.batchStride, layout.batch}, {layout.headStride, layout.heads}, {layout.rowStride, layout.rows}}};
    std::sort(dimensions.begin(), dimensions.end());
    uint64_t covered = layout.dim;
    for (const auto& [stride, size] : dimensions) {
        if (size <= 1) {
            continue;
        }
        if (stride < covered) {
            return false;
        }
        covered += stride * (size - 1);
    }
    return true;
}

VkfResult checkBlocks(const char* name, const VkfTensorLayout& layout, VkfMessage* message) {
    const struct {
        uint64_t elements;
        const char* name;
    } lengths[] = {
        {layout.dim, "dim"},
        {layout.batchStride, "batchStride"},
        {layout.headStride, "headStride"},
        {layout.rowStride, "rowStride"},
    };
    for (const auto& length : lengths) {
        if (length.elements % VKF_BLOCK_ELEMENTS != 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s %llu of %s is not a multiple of %d, a block of %s",
                        length.name, static_cast<unsigned long long>(length.elements), name, VKF_BLOCK_ELEMENTS,
                        vkfTypeName(layout.type));
        }
    }
    return VKF_SUCCESS;
}

namespace {

VkfResult checkTensor(const VkfTensor& tensor, VkfTensorRole role, VkfTensorLayout* layout, VkfMessage* message) {
    const char* name = roleNames[static_cast<size_t>(role)];
    if (tensor.type < 0 || tensor.type > VKF_TYPE_BOOL1) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "type of %s is %d, which is no VkfType", name, tensor.type);
    }
    const bool mayHaveBlocks = role == VKF_TENSOR_K || role == VKF_TENSOR_V;
    if (vkfTypeBytes(tensor.type) == 0 && !(mayHaveBlocks && isBlockType(tensor.type))) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type %s of %s is not in this version: f32, f16, bf16%s",
                    vkfTypeName(tensor.type), name, mayHaveBlocks ? ", q8_0, q4_0, q4_1, q5_0, q5_1" : "");
    }
    if (isBlockType(tensor.type)) {
        if (const VkfResult result = checkBlocks(name, *layout, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (tensor.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of %s is not zero", name);
    }
    if (!reach(*layout, &layout->elements)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the strides of %s reach past 2^62 - 1 elements", name);
    }
    if (role == VKF_TENSOR_O && layout->elements != 0 && !isInjective(*layout)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "the strides of o make elements overlap (batch %llu, head %llu, row %llu)",
                    static_cast<unsigned long long>(layout->batchStride),
                    static_cast<unsigned long long>(layout->headStride),
                    static_cast<unsigned long long>(layout->rowStride));
    }
    return VKF_SUCCESS;
}

// Shape and strides of one tensor; elements is left 0.
VkfTensorLayout shapeOf(const VkfProblem& p, VkfTensorRole role) {
    const std::array<const VkfTensor*, 4> tensors = {&p.q, &p.k, &p.v, &p.o};
    const VkfTensor& tensor = *tensors[static_cast<size_t>(role)];
    const bool ofQueries = role == VKF_TENSOR_Q || role == VKF_TENSOR_O;
    const bool ofHeadDim = role == VKF_TENSOR_Q || role == VKF_TENSOR_K;

    VkfTensorLayout layout{};
    const bool paged = !ofQueries && p.paging.enabled != 0;
    const uint32_t pages = p.keys == 0 ? 0 : p.paging.pages; // without keys no page is touched

    layout.type = tensor.type;
    layout.batch = paged ? pages : p.batch;
    layout.heads = ofQueries ? p.queryHeads : p.kvHeads;
    layout.rows = ofQueries ? p.queryRows : paged ? p.paging.pageSize : p.keys;
    layout.dim = ofHeadDim || p.valueDim == 0 ? p.headDim : p.valueDim;
    layout.batchStride = tensor.batchStride;
    layout.headStride = tensor.headStride;
    layout.rowStride = tensor.rowStride;
    if (layout.batchStride == 0 && layout.headStride == 0 && layout.rowStride == 0) {
        layout.rowStride = layout.dim;
        layout.headStride = uint64_t{layout.rows} * layout.dim;
        layout.batchStride = layout.headStride * layout.heads;
    }
    return layout;
}

} // namespace

VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message) {
    CheckedProblem c{};
    VkfProblem& p = c.given;
    if (const VkfResult result = readVersioned(problem, &p, "problem", message, firstProblemSize);
        result != VKF_SUCCESS) {
        return result;
    }
    for (const auto check : {checkValues, checkDims, checkShape, checkNotBuiltYet, checkBlockMask, checkPaging}) {
        if (const VkfResult result = check(p, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    const std::array<const VkfTensor*, 4> tensors = {&p.q, &p.k, &p.v, &p.o};
    for (size_t i = 0; i < tensors.size(); i++) {
        const auto role = static_cast<VkfTensorRole>(i);
        c.layouts[i] = shapeOf(p, role);
        if (const VkfResult result = checkTensor(*tensors[i], role, &c.layouts[i], message); result != VKF_SUCCESS) {
            return result;
        }
    }

    c.empty = c.layout(VKF_TENSOR_O).elements == 0;
    c.blockMask = blockMaskLayout(p);
    c.windowLeft = p.window.enabled != 0 ? p.window.left : -1;
    c.windowRight = p.window.enabled != 0 ? p.window.right : -1;
    if (p.causal != 0) {
        c.windowRight = 0;
    }
    if (p.valueDim == 0) {
        p.valueDim = p.headDim;
    }
    if (p.scale == 0.0F) {
        p.scale = 1.0F / std::sqrt(static_cast<float>(p.headDim));
    }
    *checked = c;
    return VKF_SUCCESS;
}

double visiblePairs(const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const double rows = p.queryRows;
    const double keys = p.keys;
    if (!problem.windowed()) {
        return rows * keys;
    }
    const double offset = p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0.0 : keys - rows;
    // Pairs with j < i + c, for all rows: c + i clamped into [0, keys], summed in closed form.
    const auto keysBefore = [rows, keys](double c) {
        const double firstOpen = std::clamp(-c, 0.0, rows);       // rows before it see nothing
        const double firstFull = std::clamp(keys - c, 0.0, rows); // rows from it on see all
        const double partial = firstFull - firstOpen;
        return partial * (c + (firstOpen + firstFull - 1.0) / 2.0) + (rows - firstFull) * keys;
    };
    const double before =
        problem.windowRight < 0 ? rows * keys : keysBefore(offset + static_cast<double>(problem.windowRight) + 1.0);
    const double hidden = problem.windowLeft < 0 ? 0.0 : keysBefore(offset - static_cast<double>(problem.windowLeft));
    return std::max(before - hidden, 0.0);
}

} // namespace vkf

VkfResult vkfCheckProblem(const VkfProblem* problem, VkfMessage* message) {
    vkf::CheckedProblem checked{};
    return vkf::checkProblem(problem, &checked, message);
}

VkfTensorLayout vkfTensorLayout(const VkfProblem* problem, VkfTensorRole role) {
    vkf::CheckedProblem checked{};
    if (role < VKF_TENSOR_Q || role > VKF_TENSOR_O || vkf::checkProblem(problem, &checked, nullptr) != VKF_SUCCESS) {
        return VkfTensorLayout{};
    }
    return checked.layout(role);
}

VkfBlockMaskLayout vkfBlockMaskLayout(const VkfProblem* problem) {
    vkf::CheckedProblem checked{};
    return vkf::checkProblem(problem, &checked, nullptr) == VKF_SUCCESS ? checked.blockMask : VkfBlockMaskLayout{};
}

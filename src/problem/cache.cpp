// SPDX-License-Identifier: MIT
#include "problem/cache.hpp"

#include <bit>

#include "base/message.hpp"
#include "shared/attention_params.h"
#include "shared/stored_types.h"

namespace vkf {

VkfResult checkPaging(const VkfPaging& paging, uint32_t keys, VkfMessage* message) {
    if (!std::has_single_bit(paging.pageSize)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pageSize is %u; it must be a power of two",
                    paging.pageSize);
    }
    if (paging.maxPages > VKF_MAX_ROWS) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "paging.maxPages %u is over the limit of %u", paging.maxPages,
                    VKF_MAX_ROWS);
    }
    if (uint64_t{paging.maxPages} * paging.pageSize < keys) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.maxPages %u of %u rows are fewer than %u keys",
                    paging.maxPages, paging.pageSize, keys);
    }
    if (paging.pages == 0 && keys != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pages is 0");
    }
    return VKF_SUCCESS;
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

} // namespace vkf

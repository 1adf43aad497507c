// SPDX-License-Identifier: MIT
#include "problem/cache.hpp"

#include <cstdint>

#include "base/message.hpp"
#include "shared/attention_params.h"
#include "shared/stored_types.h"

namespace vkf {

VkfResult checkPaging(const VkfPaging& paging, uint32_t keys, VkfMessage* message) {
    if (paging.pageSize == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pageSize is 0; it must be at least 1");
    }
    if (paging.pageSize > VKF_MAX_ROWS) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "paging.pageSize %u is over the limit of %u", paging.pageSize,
                    VKF_MAX_ROWS);
    }
    if (paging.maxPages > VKF_MAX_ROWS) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "paging.maxPages %u is over the limit of %u", paging.maxPages,
                    VKF_MAX_ROWS);
    }
    constexpr uint32_t mostPages = INT32_MAX; // a larger entry of the table is negative, so it is no page
    if (paging.pages > mostPages) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "paging.pages %u is over the limit of %u", paging.pages, mostPages);
    }
    if (uint64_t{paging.maxPages} * paging.pageSize < keys) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "paging.maxPages is %u; times pageSize, %u, it must be at least keys, %u", paging.maxPages,
                    paging.pageSize, keys);
    }
    if (paging.pages == 0 && keys != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "paging.pages is 0; it must be at least 1 if there are keys");
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
        if (length.elements % vkfBlockElements(layout.type) != 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "%s of %s is %llu; with type %s it must be a multiple of %u", length.name, name,
                        static_cast<unsigned long long>(length.elements), vkfTypeName(layout.type),
                        vkfBlockElements(layout.type));
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf

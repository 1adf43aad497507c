// SPDX-License-Identifier: MIT
//
// Packed sequences: checks of their lengths, and the sizes for which the library chooses tiles and key splits.
#include "problem/checks.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "shared/work_items.h"

namespace vkf {
namespace {

// The sizes for which tiles are chosen if key splits have a fixed number of keys. Choices must not depend on the batch
// then, so these numbers describe a busy server. On path decode, packed sequences have one row each.
constexpr uint32_t fixedSequences = 64;
constexpr uint32_t fixedKeys = 8192;
constexpr uint32_t fixedRows = 64;

// Rounded up; the total where there is nothing to divide it among.
uint32_t mean(uint32_t total, uint32_t count) {
    const uint64_t divisor = std::max(count, 1U);
    return static_cast<uint32_t>((total + divisor - 1) / divisor);
}

// Checks the starts of packed sequences. The first start is 0, and the last is `total`. Each sequence has a length from
// 0 to `longest`.
VkfResult checkStarts(const int32_t* starts, uint32_t sequences, uint32_t total, uint32_t longest, const char* name,
                      VkfMessage* message) {
    if (starts == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
    }
    if (starts[0] != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s[0] is %d; it must be 0", name, starts[0]);
    }
    for (uint32_t i = 0; i++ < sequences;) { // ends for 2^32 - 1 sequences too
        const int64_t length = int64_t{starts[i]} - starts[i - 1];
        if (length < 0 || length > longest) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "%s[%u] is %d; it must be 0 to %u more than the entry before it, %d", name, i, starts[i],
                        longest, starts[i - 1]);
        }
    }
    if (starts[sequences] != static_cast<int64_t>(total)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s[%u], the last, is %d; it must be %u", name, sequences,
                    starts[sequences], total);
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkSequences(const VkfProblem& p, VkfMessage* message) {
    const struct {
        uint32_t longest;
        uint32_t all;
        const char* name;
        const char* nameOfAll;
    } sides[] = {{p.longestRows, p.queryRows, "longestRows", "queryRows"},
                 {p.longestKeys, p.keys, "longestKeys", "keys"}};
    for (const auto& side : sides) {
        if (side.longest != 0 && !has(p, VKF_USE_CU_SEQLENS)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %u; without VKF_USE_CU_SEQLENS it must be 0",
                        side.name, side.longest);
        }
        if (side.longest > side.all) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %u; it must be at most %s, %u", side.name,
                        side.longest, side.nameOfAll, side.all);
        }
    }
    return VKF_SUCCESS;
}

uint32_t typicalRows(const VkfProblem& p) {
    if (p.splitKeys != 0 && has(p, VKF_USE_CU_SEQLENS)) {
        const bool decode = p.path == VKF_PATH_DECODE || std::max(p.headDim, p.valueDim) > maxHeadDim;
        return decode ? 1 : fixedRows;
    }
    return has(p, VKF_USE_CU_SEQLENS) && p.longestRows == 0 ? mean(p.queryRows, p.batch) : longestRowsOf(p);
}

uint64_t typicalPackedRows(const VkfProblem& p) {
    return p.kvHeads != 0 ? p.queryHeads / p.kvHeads * uint64_t{typicalRows(p)} : 0;
}

uint32_t typicalKeys(const VkfProblem& p) {
    if (p.splitKeys != 0) {
        return fixedKeys;
    }
    const bool unknown = has(p, VKF_USE_CU_SEQLENS) && p.longestKeys == 0 && !has(p, VKF_USE_BLOCK_TABLE);
    return unknown ? std::min(mean(p.keys, p.batch), mostKeysOf(p)) : mostKeysOf(p);
}

uint32_t typicalSequences(const VkfProblem& p) {
    if (p.splitKeys != 0) {
        return fixedSequences;
    }
    return has(p, VKF_USE_CU_SEQLENS) ? std::min(mean(p.queryRows, typicalRows(p)), p.batch) : p.batch;
}

uint64_t sequenceTileCount(const VkfProblem& p, uint32_t packedHeads, uint32_t tileRows) {
    return VKF_FIRST_SEQUENCE_TILE(uint64_t{p.queryRows}, packedHeads, tileRows, p.batch);
}

} // namespace vkf

VkfResult vkfCheckSequences(const VkfProblem* problem, const int32_t* cuSeqlensQ, const int32_t* cuSeqlensK,
                            VkfMessage* message) {
    vkf::CheckedProblem checked{};
    if (const VkfResult result = vkf::checkProblem(problem, &checked, message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfProblem& p = checked.fields;
    if (!vkf::has(p, VKF_USE_CU_SEQLENS)) {
        return VKF_SUCCESS;
    }
    const VkfResult result =
        vkf::checkStarts(cuSeqlensQ, p.batch, p.queryRows, vkf::longestRowsOf(p), "cuSeqlensQ", message);
    return result != VKF_SUCCESS || vkf::has(p, VKF_USE_BLOCK_TABLE)
               ? result
               : vkf::checkStarts(cuSeqlensK, p.batch, p.keys, vkf::longestKeysOf(p), "cuSeqlensK", message);
}

// SPDX-License-Identifier: MIT
#include "split/head_groups.hpp"

#include <algorithm>
#include <string>

#include "split/partition.hpp"

namespace vkf::mpi {
namespace {

// The most groups of a forward and of a backward pass. More groups take less memory and have smaller kernels.
constexpr uint32_t mostForwardGroups = 8;
constexpr uint32_t mostBackwardGroups = 16;

// Rows of all heads that a kernel needs to fill a device: a GPU of 132 multiprocessors takes 128 rows on each.
constexpr uint64_t rowsToFill = 32768;

// The standard slopes of ALiBi depend on the number of heads.
bool countsHeads(const VkfProblem& whole) { return has(whole, VKF_USE_ALIBI) && !has(whole, VKF_USE_ALIBI_SLOPES); }

} // namespace

uint32_t chooseHeadGroups(const VkfProblem& whole, const Split& split, uint32_t ranks, bool backward) {
    const uint32_t wanted = split.headGroups;
    if (wanted > 1 && countsHeads(whole)) {
        throw host::Error(VKF_ERROR_UNSUPPORTED,
                          "split.headGroups: ALiBi with its standard slopes has one group; give slopes");
    }
    if (wanted != 0 && (whole.kvHeads % wanted != 0 || wanted > whole.kvHeads)) {
        throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "split.headGroups is " + std::to_string(wanted) +
                                                          ", which does not divide the " +
                                                          std::to_string(whole.kvHeads) + " KV heads");
    }
    if (wanted != 0) {
        return wanted;
    }
    if (countsHeads(whole) || ranks == 1) {
        return 1;
    }
    const uint32_t sequences = has(whole, VKF_USE_CU_SEQLENS) ? 1 : whole.batch;
    const uint64_t rows = uint64_t{whole.queryRows} / chunkCount(split.distribution, ranks) * sequences;
    const uint32_t most = std::min(backward ? mostBackwardGroups : mostForwardGroups, whole.kvHeads);
    uint32_t groups = 1;
    for (uint32_t more = 2; more <= most; ++more) {
        if (whole.kvHeads % more == 0 && rows * (whole.queryHeads / more) >= rowsToFill) {
            groups = more;
        }
    }
    return groups;
}

VkfProblem groupOf(const VkfProblem& whole, uint32_t groups) {
    VkfProblem group = whole;
    group.queryHeads /= groups;
    group.kvHeads /= groups;
    return group;
}

} // namespace vkf::mpi

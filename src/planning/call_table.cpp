// SPDX-License-Identifier: MIT
#include "planning/call_table.hpp"

#include <algorithm>
#include <cstring>

#include "problem/arrays.hpp"
#include "problem/masks/mask_layout.hpp"

namespace vkf {

void addStrides(const VkfProblem& problem, shared::CallTable* table) {
    for (const ArrayRow& row : arrayTable) {
        if (row.broadcast != nullptr && row.has(problem)) {
            const VkfBroadcastArray& strides = problem.*row.broadcast;
            const uint64_t bits = broadcastBits(strides.type);
            auto& inTable = table->*row.strides;
            inTable[0] = strides.sequences != 1 ? strides.batchStride * bits : 0;
            inTable[1] = strides.heads != 1 ? strides.headStride * bits : 0;
            inTable[2] = strides.rowStride * bits;
            auto& repeats = table->*row.repeats;
            repeats[0] = strides.sequences != 0 ? strides.sequences : UINT32_MAX;
            repeats[1] = strides.heads != 0 ? strides.heads : UINT32_MAX;
        }
    }
    table->mask_last_keys = problem.mask.lastKeys;
    const VkfChosenKeys& lists = problem.chosenKeys;
    table->list_stride[0] = lists.batchStride * sizeof(int32_t);
    table->list_stride[1] = lists.headStride * sizeof(int32_t);
    table->list_stride[2] = lists.rowStride * sizeof(int32_t);
}

Phase tablePhase() {
    Phase write;
    write.variant.kernel = Kernel::writeTable;
    write.items = 1;
    write.itemsPerStep = 1;
    return write;
}

uint64_t extraSlotAddress(uint32_t extraSlot, const shared::CallTable& table, uint64_t tableAddress) {
    if (extraSlot == VKF_EXTRA_SLOT_HAS_TABLE) {
        return tableAddress;
    }
    if (extraSlot == VKF_EXTRA_SLOT_HAS_BIAS) {
        return table.bias;
    }
    if (extraSlot == VKF_EXTRA_SLOT_HAS_MASK) {
        return table.mask;
    }
    if (extraSlot == VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS) {
        return table.chosen_keys;
    }
    uint64_t address = 0;
    for (const ArrayRow& row : arrayTable) {
        if (row.passedIn == PassedIn::extraSlot) {
            address = std::max(address, table.*row.field); // at most one of them is not 0
        }
    }
    return address;
}

uint32_t tableBatches(std::span<const uint32_t> words) {
    return static_cast<uint32_t>((words.size() + VKF_TABLE_BATCH_WORDS - 1) / VKF_TABLE_BATCH_WORDS);
}

shared::TableBatch tableBatch(std::span<const uint32_t> words, uint64_t tableAddress, uint32_t batch) {
    // The last batch ends with the table: it writes again what the one before it has written.
    const size_t first = std::min(size_t{batch} * VKF_TABLE_BATCH_WORDS, words.size() - VKF_TABLE_BATCH_WORDS);
    shared::TableBatch params{};
    params.to = tableAddress + first * sizeof(uint32_t);
    std::memcpy(params.word, words.subspan(first).data(), sizeof params.word);
    return params;
}

} // namespace vkf

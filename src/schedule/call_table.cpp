// SPDX-License-Identifier: MIT
#include "schedule/call_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "problem/window_place.hpp"

namespace vkf {
namespace {

constexpr size_t words = sizeof(shared::CallTable) / sizeof(uint32_t);

} // namespace

void addTable(const CheckedProblem& problem, Schedule* schedule) {
    if (windowPlace(problem.given) != VKF_PLACE_TABLE || schedule->phases.empty()) {
        return;
    }
    Phase write;
    write.variant.kernel = Kernel::writeTable;
    write.items = 1;
    write.itemsPerStep = 1;
    schedule->phases.insert(schedule->phases.begin(), write);
    schedule->tableOffset = schedule->reserveScratch(sizeof(shared::CallTable));
}

uint64_t placedAddress(uint32_t place, const shared::CallTable& table, uint64_t tableAddress) {
    if (place == VKF_PLACE_TABLE) {
        return tableAddress;
    }
    const std::array addresses = {table.block_mask, table.block_table, table.sinks, table.slopes};
    return *std::max_element(addresses.begin(), addresses.end()); // the others are 0
}

uint32_t tablePieces() { return (words + VKF_TABLE_PIECE_WORDS - 1) / VKF_TABLE_PIECE_WORDS; }

shared::TablePiece tablePiece(const shared::CallTable& table, uint64_t tableAddress, uint32_t piece) {
    const size_t first = size_t{piece} * VKF_TABLE_PIECE_WORDS;
    shared::TablePiece params{};
    params.to = tableAddress + first * sizeof(uint32_t);
    params.count = static_cast<uint32_t>(std::min<size_t>(words - first, VKF_TABLE_PIECE_WORDS));
    std::memcpy(params.word, reinterpret_cast<const char*>(&table) + first * sizeof(uint32_t),
                params.count * sizeof(uint32_t));
    return params;
}

} // namespace vkf

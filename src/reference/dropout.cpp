// SPDX-License-Identifier: MIT
#include "reference/dropout.hpp"

namespace vkf::reference {
namespace {

constexpr int rounds = 10;

} // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (int i = 0; i < rounds; i++) {
        const uint64_t first = uint64_t{0xd2511f53U} * counter[0];
        const uint64_t second = uint64_t{0xcd9e8d57U} * counter[2];
        counter = {static_cast<uint32_t>(second >> 32U) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
                   static_cast<uint32_t>(first >> 32U) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
        key = {key[0] + 0x9e3779b9U, key[1] + 0xbb67ae85U};
    }
    return counter;
}

RowGenerator::RowGenerator(uint64_t seed, uint32_t batch, uint32_t head, uint32_t row) {
    const auto words = philox({row, head, batch, 0}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U)});
    a_ = words[0];
    b_ = words[1];
}

void RowDropout::load(uint32_t batch, uint32_t queryHead, uint32_t row) {
    if (!any_) {
        return;
    }
    row_ = row;
    const VkfProblem& p = call_->problem;
    if (has(p, VKF_USE_DROPOUT_MASK)) {
        mask_ = booleansOf(p.dropoutMask, call_->inputs.dropoutMask, batch, queryHead, 0);
        return;
    }
    generator_ = {hasBoundSeed(p) ? *call_->inputs.dropoutSeed : p.dropout.seed, batch, queryHead, row};
}

} // namespace vkf::reference

uint32_t vkfDropoutKeeps(const VkfDropout* dropout, uint32_t batch, uint32_t head, uint32_t row, uint32_t key) {
    const vkf::reference::RowGenerator generator(dropout->seed, batch, head, row);
    return generator.number(key) >= vkf::dropoutThreshold(*dropout) ? 1 : 0;
}

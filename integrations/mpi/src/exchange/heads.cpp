// SPDX-License-Identifier: MIT
#include "exchange/heads.hpp"

#include <bit>
#include <cmath>

namespace vkf::mpi {
namespace {

// The standard slope of a head, as VKF_USE_ALIBI defines it.
float standardSlope(uint32_t head, uint32_t heads) {
    const uint32_t power = std::bit_floor(heads);
    const double exponent = head < power ? -8.0 * (head + 1) / power : -4.0 * (2.0 * (head - power) + 1) / power;
    return static_cast<float>(std::exp2(exponent));
}

} // namespace

ExchangeHeads::ExchangeHeads(State& state, const VkfProblem& whole, const Lengths& lengths)
    : rank_(static_cast<uint32_t>(state.ranks.rank())), allHeads_(whole.queryHeads), problem_(whole) {
    const auto ranks = static_cast<uint32_t>(state.ranks.size());
    if (whole.kvHeads % ranks != 0) {
        throw host::Error(VKF_ERROR_UNSUPPORTED,
                          "head exchange needs KV heads that divide by the ranks: " + std::to_string(whole.kvHeads) +
                              " KV heads, " + std::to_string(ranks) + " ranks");
    }
    problem_.queryHeads /= ranks;
    problem_.kvHeads /= ranks;
    enable(problem_, VKF_USE_LSE);
    // The standard slopes depend on the number of all heads.
    enable(problem_, VKF_USE_ALIBI_SLOPES, has(whole, VKF_USE_ALIBI));
    readsSlopes_ = has(whole, VKF_USE_ALIBI_SLOPES);
    Layout layout;
    const auto place = [&layout](bool used, uint64_t numbers) {
        return used ? layout.add(numbers * sizeof(int32_t)) : Range{};
    };
    const bool packed = has(whole, VKF_USE_CU_SEQLENS);
    keyLengths_ = place(has(whole, VKF_USE_KEY_LENGTHS), whole.batch);
    cuSeqlensQ_ = place(packed, uint64_t{whole.batch} + 1);
    cuSeqlensK_ = place(packed, uint64_t{whole.batch} + 1);
    slopes_ = place(has(whole, VKF_USE_ALIBI), problem_.queryHeads);
    arrays_ = Memory(*state.gpu, layout.bytes(), Place::device);
    Staging staging(*state.gpu);
    staging.upload(arrays_, keyLengths_, lengths.keyLengths);
    staging.upload(arrays_, cuSeqlensQ_, lengths.cuSeqlensQ);
    staging.upload(arrays_, cuSeqlensK_, lengths.cuSeqlensK);
}

void ExchangeHeads::upload(Staging& staging, const float* slopes) {
    if (readsSlopes_ && slopes == nullptr) {
        throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "an input that the call uses is null");
    }
    std::vector<float> own;
    const uint32_t first = rank_ * problem_.queryHeads;
    for (uint32_t head = first; head < first + problem_.queryHeads; ++head) {
        own.push_back(readsSlopes_ ? slopes[head] : standardSlope(head, allHeads_));
    }
    staging.upload(arrays_, slopes_, own.data());
}

void ExchangeHeads::bind(VkfBindings& bindings) const {
    bindings.keyLengths = keyLengths_.of(arrays_);
    bindings.cuSeqlensQ = cuSeqlensQ_.of(arrays_);
    bindings.cuSeqlensK = cuSeqlensK_.of(arrays_);
    bindings.alibiSlopes = slopes_.of(arrays_);
}

} // namespace vkf::mpi

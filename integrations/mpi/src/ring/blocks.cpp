// SPDX-License-Identifier: MIT
#include "ring/blocks.hpp"

#include <algorithm>

#include "split/pair.hpp"

namespace vkf::mpi {

RingBlocks::RingBlocks(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu),
      schedule_(whole, distribution, lengths, static_cast<uint32_t>(state.ranks.size()),
                static_cast<uint32_t>(state.ranks.rank())),
      window_(state.ranks, *state.gpu) {
    placeBlocks(whole);
    placeArrays(whole, lengths);
}

void RingBlocks::placeBlocks(const VkfProblem& whole) {
    for (const Part& part : schedule_.parts) {
        layouts_.emplace_back(whole, part);
        most_ = std::max(most_, layouts_.back().bytes);
    }
    block_ = Memory(gpu_, layouts_[schedule_.rank].bytes, Place::device);
    if (schedule_.ranks > 1) {
        for (Slot& slot : slots_) {
            slot.onDevice = Memory(gpu_, most_, Place::device);
        }
    }
}

void RingBlocks::connect(Transport transport) {
    if (schedule_.ranks == 1) {
        return;
    }
    std::vector<uint64_t> bytes;
    for (const BlockLayout& layout : layouts_) {
        bytes.push_back(std::max<uint64_t>(layout.bytes, 1));
    }
    isShared_ = transport == Transport::automatic && window_.allocate(bytes);
    state_.ranks.together([&] {
        for (Slot& slot : slots_) {
            if (!isShared_) {
                slot.onHost = Memory(gpu_, most_, Place::host);
            }
        }
    });
}

// The arrays of the calls: they depend on lengths alone.
void RingBlocks::placeArrays(const VkfProblem& whole, const Lengths& lengths) {
    Layout layout;
    std::vector<std::pair<Range, std::vector<int32_t>>> contents;
    const auto place = [&](std::vector<int32_t> numbers) {
        const Range range = layout.add(numbers.size() * sizeof(int32_t));
        contents.emplace_back(range, std::move(numbers));
        return range;
    };
    const bool packed = has(whole, VKF_USE_CU_SEQLENS);
    for (const Chunk& chunk : ownRows()) {
        rowOffsets_.push_back(packed ? place(offsetsIn(chunk)) : Range{});
    }
    for (const Part& part : schedule_.parts) {
        std::vector<Range>& offsets = keyOffsets_.emplace_back();
        std::vector<Range>& inside = keyLengths_.emplace_back();
        for (const Chunk& chunk : part.keys) {
            offsets.push_back(packed ? place(offsetsIn(chunk)) : Range{});
            inside.push_back(has(whole, VKF_USE_KEY_LENGTHS) ? place(lengthsIn(chunk, lengths.keyLengths, whole.batch))
                                                             : Range{});
        }
    }
    for (const std::vector<Pair>& step : schedule_.steps) {
        std::vector<Range>& positions = positions_.emplace_back();
        for (const Pair& pair : step) {
            positions.push_back(pair.rowOffsets.empty() ? Range{} : place(pair.rowOffsets));
        }
    }
    slopes_ = layout.add(has(whole, VKF_USE_ALIBI_SLOPES) ? whole.queryHeads * sizeof(float) : 0);
    arrays_ = Memory(gpu_, layout.bytes(), Place::device);
    Staging staging(gpu_);
    for (const auto& [range, numbers] : contents) {
        staging.upload(arrays_, range, numbers.data());
    }
}

std::string RingBlocks::text() const {
    return "ring of " + std::to_string(schedule_.ranks) + " ranks by " + (isShared_ ? "shared memory" : "messages");
}

void RingBlocks::upload(Staging& staging, const void* k, const void* v) {
    const auto* nextK = static_cast<const std::byte*>(k);
    const auto* nextV = static_cast<const std::byte*>(v);
    for (const KeyRanges& ranges : layouts_[schedule_.rank].chunks) {
        staging.upload(block_, ranges.k, nextK);
        staging.upload(block_, ranges.v, nextV);
        nextK += ranges.k.bytes;
        nextV += ranges.v.bytes;
    }
}

void RingBlocks::uploadSlopes(Staging& staging, const float* slopes) { staging.upload(arrays_, slopes_, slopes); }

void RingBlocks::bind(uint32_t step, size_t number, VkfBindings& bindings) const {
    const Pair& pair = schedule_.steps[step][number];
    const uint32_t owner = schedule_.ownerOf(step);
    const KeyRanges& keys = layouts_[owner].chunks[pair.keys];
    const Memory& block = step == 0 ? block_ : slotOf(step).onDevice;
    bindings.k = keys.k.of(block);
    bindings.v = keys.v.of(block);
    bindings.keyLengths = keyLengths_[owner][pair.keys].of(arrays_);
    bindings.cuSeqlensQ = rowOffsets_[pair.rows].of(arrays_);
    bindings.cuSeqlensK = keyOffsets_[owner][pair.keys].of(arrays_);
    bindings.rowOffsets = positions_[step][number].of(arrays_);
    bindings.alibiSlopes = slopes_.of(arrays_);
}

Moment RingBlocks::arrivalOf(uint32_t step) const { return step == 0 ? gpu_.toDevice().last() : slotOf(step).arrived; }

double RingBlocks::begin(Traffic& traffic) {
    for (Slot& slot : slots_) {
        slot.message = 0;
    }
    if (isShared_) {
        traffic.awaitAll(); // nobody reads the block of the run before
    }
    double idle = 0;
    if (schedule_.sendsBlock(0)) {
        const Memory& to = isShared_ ? window_.of(static_cast<int>(schedule_.rank)) : slots_[0].onHost;
        const Moment copied = gpu_.toHost().submit(
            [&](VkCommandBuffer commands) { gpu_.copy(commands, block_, 0, to, 0, block_.bytes()); },
            {gpu_.toDevice().last()});
        idle = traffic.awaitIdle(copied, gpu_.kernels().last());
    }
    if (isShared_) {
        traffic.awaitAll(); // all blocks are there
    }
    return idle;
}

void RingBlocks::send(Traffic& traffic, uint32_t step) {
    if (!isShared_ && schedule_.sendsBlock(step)) {
        slotOf(step).message =
            traffic.send(next(), Tag::block, slotOf(step).onHost.mapped(), layouts_[schedule_.ownerOf(step)].bytes);
    }
}

void RingBlocks::markRead(uint32_t step) { slotOf(step).read = gpu_.kernels().last(); }

void RingBlocks::receiveShared(Traffic& traffic, uint32_t step) {
    if (schedule_.steps[step].empty()) {
        return;
    }
    Slot& slot = slotOf(step);
    const uint32_t owner = schedule_.ownerOf(step);
    const Memory& from = window_.of(static_cast<int>(owner));
    const uint64_t bytes = layouts_[owner].bytes;
    slot.arrived = gpu_.toDevice().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, from, 0, slot.onDevice, 0, bytes); }, {slot.read});
    traffic.countShared(bytes);
}

void RingBlocks::receive(Traffic& traffic, uint32_t step) {
    if (!comesHere(step)) {
        return;
    }
    if (isShared_) {
        receiveShared(traffic, step);
        return;
    }
    Slot& slot = slotOf(step);
    // The block of two steps ago was in this slot.
    traffic.await(slot.message);
    traffic.await(slot.arrived);
    const bool isComputed = !schedule_.steps[step].empty();
    const auto arrived = [this, &slot, isComputed](uint64_t offset, uint64_t bytes) {
        if (isComputed) {
            slot.arrived = gpu_.toDevice().submit(
                [&](VkCommandBuffer commands) {
                    gpu_.copy(commands, slot.onHost, offset, slot.onDevice, offset, bytes);
                },
                {slot.read});
        }
    };
    slot.message =
        traffic.receive(previous(), Tag::block, slot.onHost.mapped(), layouts_[schedule_.ownerOf(step)].bytes, arrived);
}

double RingBlocks::await(Traffic& traffic, uint32_t step) const {
    if (!comesHere(step)) {
        return 0;
    }
    const Moment busy = gpu_.kernels().last();
    const double idle = isShared_ ? 0 : traffic.awaitIdle(slotOf(step).message, busy);
    return idle + (schedule_.steps[step].empty() ? 0 : traffic.awaitIdle(slotOf(step).arrived, busy));
}

} // namespace vkf::mpi

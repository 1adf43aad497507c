// SPDX-License-Identifier: MIT
#include "ring/blocks.hpp"

#include <algorithm>

#include "split/pair.hpp"

namespace vkf::mpi {
namespace {

// In shared memory a block travels in pieces: one can be copied from there while the next one is copied to it.
constexpr uint64_t pieceBytes = uint64_t{4} << 20;
// Pieces that the queue of copies has at a time, so that it never waits for this process.
constexpr uint64_t piecesInFlight = 3;

// Messages have a tag for each step, so that own blocks may overtake those that are sent on. Signals have a tag for
// each group, because those of two groups are awaited at a time.
Tag tagOf(uint32_t number) { return static_cast<Tag>(static_cast<uint32_t>(Tag::block) + number); }

} // namespace

RingBlocks::RingBlocks(State& state, const VkfProblem& group, uint32_t groups, Distribution distribution,
                       const Lengths& lengths)
    : state_(state), gpu_(*state.gpu),
      schedule_(group, distribution, lengths, static_cast<uint32_t>(state.ranks.size()),
                static_cast<uint32_t>(state.ranks.rank())),
      groups_{groups, tensorBatch(group)}, window_(state.ranks, *state.gpu) {
    for (uint32_t step = 1; step < schedule_.ranks; ++step) {
        if (comesHere(step)) {
            arriving_.push_back(step);
        }
    }
    placeBlocks(group);
    placeArrays(group, lengths);
}

void RingBlocks::placeBlocks(const VkfProblem& group) {
    uint64_t most = 0;
    for (const Part& part : schedule_.parts) {
        layouts_.emplace_back(group, part);
        most = std::max(most, layouts_.back().bytes);
    }
    groups_.bytes = layouts_[schedule_.rank].bytes;
    block_ = Memory(gpu_, groups_.count * groups_.bytes, Place::device);
    if (schedule_.ranks > 1) {
        for (Slot& slot : slots_) {
            slot.onDevice = Memory(gpu_, most, Place::device);
        }
    }
}

void RingBlocks::connect(Transport transport) {
    if (schedule_.ranks == 1) {
        return;
    }
    std::vector<uint64_t> bytes;
    for (const BlockLayout& layout : layouts_) {
        bytes.push_back(std::max<uint64_t>(groups_.count * layout.bytes, 1));
    }
    isShared_ = transport == Transport::automatic && window_.allocate(bytes);
    state_.ranks.together([&] {
        if (isShared_) {
            return;
        }
        for (Slot& slot : slots_) {
            slot.onHost = Memory(gpu_, slot.onDevice.bytes(), Place::host);
        }
        for (Memory& own : ownOnHost_) {
            own = Memory(gpu_, groups_.bytes, Place::host);
        }
    });
}

// The arrays of the calls: but for slopes, they depend on lengths alone.
void RingBlocks::placeArrays(const VkfProblem& group, const Lengths& lengths) {
    Layout layout;
    std::vector<std::pair<Range, std::vector<int32_t>>> contents;
    const auto place = [&](std::vector<int32_t> numbers) {
        const Range range = layout.add(numbers.size() * sizeof(int32_t));
        contents.emplace_back(range, std::move(numbers));
        return range;
    };
    const bool packed = has(group, VKF_USE_CU_SEQLENS);
    for (const Chunk& chunk : ownRows()) {
        rowOffsets_.push_back(packed ? place(offsetsIn(chunk)) : Range{});
    }
    for (const Part& part : schedule_.parts) {
        std::vector<Range>& offsets = keyOffsets_.emplace_back();
        std::vector<Range>& inside = keyLengths_.emplace_back();
        for (const Chunk& chunk : part.keys) {
            offsets.push_back(packed ? place(offsetsIn(chunk)) : Range{});
            inside.push_back(has(group, VKF_USE_KEY_LENGTHS) ? place(lengthsIn(chunk, lengths.keyLengths, group.batch))
                                                             : Range{});
        }
    }
    for (const std::vector<Pair>& step : schedule_.steps) {
        std::vector<Range>& positions = positions_.emplace_back();
        for (const Pair& pair : step) {
            positions.push_back(pair.rowOffsets.empty() ? Range{} : place(pair.rowOffsets));
        }
    }
    const uint64_t heads = uint64_t{groups_.count} * group.queryHeads;
    slopes_ = layout.add(has(group, VKF_USE_ALIBI_SLOPES) ? heads * sizeof(float) : 0);
    arrays_ = Memory(gpu_, layout.bytes(), Place::device);
    Staging staging(gpu_);
    for (const auto& [range, numbers] : contents) {
        staging.upload(arrays_, range, numbers.data());
    }
}

std::string RingBlocks::text() const {
    return "ring of " + std::to_string(schedule_.ranks) + " ranks by " + (isShared_ ? "shared memory" : "messages") +
           (groups_.count > 1 ? ", " + std::to_string(groups_.count) + " groups of heads" : "");
}

std::vector<Round> RingBlocks::rounds() const {
    std::vector<Round> rounds;
    for (uint32_t group = 0; group < groups_.count; ++group) {
        for (uint32_t step = 0; step < schedule_.ranks; ++step) {
            rounds.push_back({group, step});
        }
    }
    return rounds;
}

void RingBlocks::upload(Staging& staging, const void* k, const void* v) const {
    std::vector<Range> ofK;
    std::vector<Range> ofV;
    for (const KeyRanges& ranges : layouts_[schedule_.rank].chunks) {
        ofK.push_back(ranges.k);
        ofV.push_back(ranges.v);
    }
    groups_.upload(staging, block_, ofK, k);
    groups_.upload(staging, block_, ofV, v);
}

void RingBlocks::uploadSlopes(Staging& staging, const float* slopes) const { staging.upload(arrays_, slopes_, slopes); }

void RingBlocks::bind(const Round& round, size_t number, VkfBindings& bindings) const {
    const Pair& pair = schedule_.steps[round.step][number];
    const uint32_t owner = schedule_.ownerOf(round.step);
    const KeyRanges& keys = layouts_[owner].chunks[pair.keys];
    const bool isOwn = round.step == 0;
    const Memory& block = isOwn ? block_ : slotOf(round).onDevice;
    bindings.k = (isOwn ? groups_.of(round.group, keys.k) : keys.k).of(block);
    bindings.v = (isOwn ? groups_.of(round.group, keys.v) : keys.v).of(block);
    bindings.keyLengths = keyLengths_[owner][pair.keys].of(arrays_);
    bindings.cuSeqlensQ = rowOffsets_[pair.rows].of(arrays_);
    bindings.cuSeqlensK = keyOffsets_[owner][pair.keys].of(arrays_);
    bindings.rowOffsets = positions_[round.step][number].of(arrays_);
    const uint64_t slopes = slopes_.bytes / groups_.count;
    bindings.alibiSlopes = Range{slopes_.at + round.group * slopes, slopes}.of(arrays_);
}

size_t RingBlocks::numberOf(const Round& round) const {
    const auto step = std::find(arriving_.begin(), arriving_.end(), round.step);
    return round.group * arriving_.size() + static_cast<size_t>(step - arriving_.begin());
}

Moment RingBlocks::arrivalOf(const Round& round) const {
    return comesHere(round.step) ? slotOf(round).arrived : Moment{};
}

void RingBlocks::begin(Traffic& traffic) {
    for (Slot& slot : slots_) {
        slot.message = 0;
        slot.arrived = {};
    }
    if (isShared_) {
        traffic.awaitAll(); // nobody reads the blocks of the run before
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
        receive(traffic, i);
    }
    if (!schedule_.sendsBlock(0)) {
        return;
    }
    for (uint64_t i = 0; isShared_ && i < piecesInFlight; ++i) {
        publishPiece(traffic, i);
    }
    for (uint32_t group = 0; !isShared_ && group < ownOnHost_.size(); ++group) {
        sendOwn(traffic, group);
    }
}

// Takes a piece of the own blocks to shared memory, and tells the ranks that the blocks reach.
void RingBlocks::publishPiece(Traffic& traffic, uint64_t piece) {
    const uint64_t piecesOfGroup = (groups_.bytes + pieceBytes - 1) / pieceBytes;
    if (piece >= groups_.count * piecesOfGroup) {
        return;
    }
    const auto group = static_cast<uint32_t>(piece / piecesOfGroup);
    const uint64_t offset = piece % piecesOfGroup * pieceBytes;
    const Range range = groups_.of(group, {offset, std::min(pieceBytes, groups_.bytes - offset)});
    const Moment copied = gpu_.toHost().submit([&](VkCommandBuffer commands) {
        gpu_.copy(commands, block_, range.at, window_.of(static_cast<int>(schedule_.rank)), range.at, range.bytes);
    });
    traffic.when(copied, [this, &traffic, piece, group] {
        for (uint32_t step = 1; step <= schedule_.reach[schedule_.rank]; ++step) {
            traffic.send(static_cast<int>((schedule_.rank + step) % schedule_.ranks), tagOf(group), &one_, 1);
        }
        publishPiece(traffic, piece + piecesInFlight);
    });
}

// Sends the own block of a group, and then that of the group after the next one, which takes its place.
void RingBlocks::sendOwn(Traffic& traffic, uint32_t group) {
    if (group >= groups_.count) {
        return;
    }
    const Memory& own = ownOnHost_[group % ownOnHost_.size()];
    const uint64_t from = groups_.of(group, {}).at;
    const Moment copied = gpu_.toHost().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, block_, from, own, 0, groups_.bytes); });
    traffic.when(copied, [this, &traffic, &own, group] {
        const Traffic::Ticket sent = traffic.send(next(), tagOf(1), own.mapped(), groups_.bytes);
        traffic.when([&traffic, sent] { return traffic.isDone(sent); },
                     [this, &traffic, group] { sendOwn(traffic, group + static_cast<uint32_t>(ownOnHost_.size())); });
    });
}

void RingBlocks::copyToDevice(const Round& round, const Memory& from, uint64_t fromOffset, uint64_t offset,
                              uint64_t bytes) {
    Slot& slot = slotOf(round);
    slot.missing -= bytes;
    if (schedule_.steps[round.step].empty()) {
        return; // the block only goes on
    }
    slot.arrived = gpu_.toDevice().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, from, fromOffset, slot.onDevice, offset, bytes); },
        {slot.read});
}

// Waits for the owner's signal of a piece, copies it, and goes on with the next one.
void RingBlocks::receivePiece(Traffic& traffic, const Round& round, uint64_t offset) {
    const uint32_t owner = schedule_.ownerOf(round.step);
    const uint64_t all = layouts_[owner].bytes;
    if (offset >= all) {
        return;
    }
    const auto signalled = [this, &traffic, round, owner, offset, all](uint64_t, uint64_t) {
        const uint64_t bytes = std::min(pieceBytes, all - offset);
        copyToDevice(round, window_.of(static_cast<int>(owner)), round.group * all + offset, offset, bytes);
        receivePiece(traffic, round, offset + pieceBytes);
    };
    traffic.receive(static_cast<int>(owner), tagOf(round.group), &slotOf(round).signal, 1, signalled);
}

void RingBlocks::receiveMessage(Traffic& traffic, const Round& round) {
    Slot& slot = slotOf(round);
    traffic.await(slot.message); // the block that was in this place has gone on
    traffic.await(slot.arrived);
    slot.message = traffic.receive(previous(), tagOf(round.step), slot.onHost.mapped(), bytesOf(round.step),
                                   [this, round](uint64_t offset, uint64_t bytes) {
                                       copyToDevice(round, slotOf(round).onHost, offset, offset, bytes);
                                   });
}

// Begins to bring the block with this number, if there is one.
void RingBlocks::receive(Traffic& traffic, size_t number) {
    if (number >= groups_.count * arriving_.size()) {
        return;
    }
    const Round round = {static_cast<uint32_t>(number / arriving_.size()), arriving_[number % arriving_.size()]};
    slotOf(round).missing = bytesOf(round.step);
    if (isShared_) {
        if (!schedule_.steps[round.step].empty()) {
            traffic.countShared(bytesOf(round.step));
        }
        receivePiece(traffic, round, 0);
    } else {
        receiveMessage(traffic, round);
    }
}

double RingBlocks::await(Traffic& traffic, const Round& round, const Moment& busy) {
    if (!comesHere(round.step)) {
        return 0;
    }
    const Slot& slot = slotOf(round);
    return traffic.awaitIdle([&] { return slot.missing == 0; }, busy);
}

void RingBlocks::release(Traffic& traffic, const Round& round, const Moment& read) {
    if (!comesHere(round.step)) {
        return;
    }
    Slot& slot = slotOf(round);
    slot.read = read;
    if (!isShared_ && schedule_.sendsBlock(round.step)) {
        slot.message = traffic.send(next(), tagOf(round.step + 1), slot.onHost.mapped(), bytesOf(round.step));
    }
    receive(traffic, numberOf(round) + slots_.size());
}

} // namespace vkf::mpi

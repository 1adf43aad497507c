// SPDX-License-Identifier: MIT
//
// Ring attention, forward. In each step a rank computes its rows over one block of k and v, while the block of the next
// step travels: from the previous rank into mapped memory, and from there to the device.
#include <algorithm>
#include <array>
#include <chrono>

#include "pair.hpp"
#include "row_sums.hpp"
#include "schedule.hpp"
#include "state.hpp"
#include "traffic.hpp"

namespace vkf::mpi {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Places of the blocks that are here: the one that kernels read, and the one that arrives.
constexpr uint32_t slotCount = 2;

class Ring final : public Engine {
public:
    Ring(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths);
    std::string description() const override;
    void upload(const PartInputs& inputs) override;
    RunReport run() override;
    void download(const PartOutputs& outputs) override;

private:
    struct RowRanges {
        Range q, o, lse;
    };
    // A place for a block that travels.
    struct Slot {
        Memory onHost;
        Memory onDevice;
        Moment read;                 // until when kernels read onDevice
        Moment arrived;              // when onDevice is complete
        Traffic::Ticket message = 0; // the last one that MPI writes to onHost or reads from it
    };

    void placeRows();
    void placeBlocks();
    void placeArrays(const Lengths& lengths);
    const Memory& blockOf(uint32_t step) const;
    VkfBindings bindingsOf(uint32_t step, const Pair& pair) const;
    void receive(Traffic& traffic, uint32_t step);
    void send(Traffic& traffic, uint32_t step);
    void compute(uint32_t step, RunReport& report);
    void computePair(uint32_t step, const Pair& pair, VkfPlan plan, uint32_t planSteps);
    void finishEmptyRows();
    void runSteps(RunReport& report);

    State& state_;
    Gpu& gpu_;
    VkfProblem whole_;
    Schedule schedule_;
    Calls calls_;
    Staging staging_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<BlockLayout> blocks_;        // by owner
    std::vector<RowRanges> rows_;            // by chunk
    std::vector<RowSums> sums_;              // by chunk
    Memory q_, o_, lse_, block_, arrays_;
    std::vector<Range> rowOffsets_;              // by chunk of rows
    std::vector<std::vector<Range>> keyOffsets_; // by owner and chunk of keys
    std::vector<std::vector<Range>> keyLengths_; // by owner and chunk of keys
    std::array<Slot, slotCount> slots_;
};

Ring::Ring(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), whole_(whole),
      schedule_(whole, distribution, lengths, static_cast<uint32_t>(state.ranks.size()),
                static_cast<uint32_t>(state.ranks.rank())),
      calls_(gpu_), staging_(gpu_) {
    std::vector<uint32_t> partials(schedule_.parts[schedule_.rank].rows.size(), 0);
    for (const std::vector<Pair>& step : schedule_.steps) {
        std::vector<size_t>& numbers = plans_.emplace_back();
        for (const Pair& pair : step) {
            VkfProblem problem = pair.problem;
            problem.o = dense(VKF_TYPE_F32);
            numbers.push_back(calls_.addPlan(problem));
            partials[pair.rows]++;
        }
    }
    calls_.allocateScratch();
    placeRows();
    placeBlocks();
    placeArrays(lengths);
    for (size_t i = 0; i < partials.size(); ++i) {
        sums_.emplace_back(state_, calls_, whole_, schedule_.parts[schedule_.rank].rows[i], partials[i]);
    }
}

void Ring::placeRows() {
    Layout q;
    Layout o;
    Layout lse;
    for (const Chunk& chunk : schedule_.parts[schedule_.rank].rows) {
        const uint64_t elements = chunkElements(whole_, chunk, whole_.queryHeads, 1);
        rows_.push_back({q.add(elements * whole_.headDim * vkfTypeBytes(whole_.q.type)),
                         o.add(elements * valueDimOf(whole_) * vkfTypeBytes(whole_.o.type)),
                         lse.add(elements * sizeof(float))});
    }
    q_ = Memory(gpu_, q.bytes(), Place::device);
    o_ = Memory(gpu_, o.bytes(), Place::device);
    lse_ = Memory(gpu_, lse.bytes(), Place::device);
}

void Ring::placeBlocks() {
    uint64_t most = 0;
    for (const Part& part : schedule_.parts) {
        blocks_.emplace_back(whole_, part);
        most = std::max(most, blocks_.back().bytes);
    }
    block_ = Memory(gpu_, blocks_[schedule_.rank].bytes, Place::device);
    if (schedule_.ranks > 1) {
        for (Slot& slot : slots_) {
            slot.onHost = Memory(gpu_, most, Place::host);
            slot.onDevice = Memory(gpu_, most, Place::device);
        }
    }
}

// The arrays of the calls: they depend on lengths alone.
void Ring::placeArrays(const Lengths& lengths) {
    Layout layout;
    std::vector<std::pair<Range, std::vector<int32_t>>> contents;
    const auto place = [&](std::vector<int32_t> numbers) {
        const Range range = layout.add(numbers.size() * sizeof(int32_t));
        contents.emplace_back(range, std::move(numbers));
        return range;
    };
    const bool packed = has(whole_, VKF_USE_CU_SEQLENS);
    for (const Chunk& chunk : schedule_.parts[schedule_.rank].rows) {
        rowOffsets_.push_back(packed ? place(offsetsIn(chunk)) : Range{});
    }
    for (const Part& part : schedule_.parts) {
        std::vector<Range>& offsets = keyOffsets_.emplace_back();
        std::vector<Range>& inside = keyLengths_.emplace_back();
        for (const Chunk& chunk : part.keys) {
            offsets.push_back(packed ? place(offsetsIn(chunk)) : Range{});
            inside.push_back(
                has(whole_, VKF_USE_KEY_LENGTHS) ? place(lengthsIn(chunk, lengths.keyLengths, whole_.batch)) : Range{});
        }
    }
    arrays_ = Memory(gpu_, layout.bytes(), Place::device);
    for (const auto& [range, numbers] : contents) {
        staging_.upload(arrays_, range, numbers.data());
    }
}

std::string Ring::description() const {
    std::string text = "ring of " + std::to_string(schedule_.ranks) + " ranks";
    for (size_t step = 0; step < plans_.size(); ++step) {
        if (!plans_[step].empty()) {
            return text + ", " + calls_.info(plans_[step][0]).description;
        }
    }
    return text + ", nothing to do on this rank";
}

void Ring::upload(const PartInputs& inputs) {
    const auto* q = static_cast<const std::byte*>(inputs.q);
    for (const RowRanges& ranges : rows_) {
        staging_.upload(q_, ranges.q, q);
        q += ranges.q.bytes;
    }
    const auto* k = static_cast<const std::byte*>(inputs.k);
    const auto* v = static_cast<const std::byte*>(inputs.v);
    for (const KeyRanges& ranges : blocks_[schedule_.rank].chunks) {
        staging_.upload(block_, ranges.k, k);
        staging_.upload(block_, ranges.v, v);
        k += ranges.k.bytes;
        v += ranges.v.bytes;
    }
}

void Ring::download(const PartOutputs& outputs) {
    auto* o = static_cast<std::byte*>(outputs.o);
    auto* lse = reinterpret_cast<std::byte*>(outputs.lse);
    for (const RowRanges& ranges : rows_) {
        if (o != nullptr) {
            staging_.download(o, o_, ranges.o);
            o += ranges.o.bytes;
        }
        if (lse != nullptr) {
            staging_.download(lse, lse_, ranges.lse);
            lse += ranges.lse.bytes;
        }
    }
}

const Memory& Ring::blockOf(uint32_t step) const { return step == 0 ? block_ : slots_[step % slotCount].onDevice; }

VkfBindings Ring::bindingsOf(uint32_t step, const Pair& pair) const {
    const uint32_t owner = schedule_.ownerOf(step);
    const KeyRanges& keys = blocks_[owner].chunks[pair.keys];
    auto bindings = make<VkfBindings>();
    bindings.q = rows_[pair.rows].q.of(q_);
    bindings.k = keys.k.of(blockOf(step));
    bindings.v = keys.v.of(blockOf(step));
    bindings.o = sums_[pair.rows].nextO();
    bindings.lse = sums_[pair.rows].nextLse();
    bindings.scratch = calls_.scratch();
    bindings.keyLengths = keyLengths_[owner][pair.keys].of(arrays_);
    bindings.cuSeqlensQ = rowOffsets_[pair.rows].of(arrays_);
    bindings.cuSeqlensK = keyOffsets_[owner][pair.keys].of(arrays_);
    return bindings;
}

// Begins to bring the block of a step, if it comes here.
void Ring::receive(Traffic& traffic, uint32_t step) {
    if (step >= schedule_.ranks || !schedule_.hasBlock(step)) {
        return;
    }
    Slot& slot = slots_[step % slotCount];
    // The block of two steps ago was in this slot.
    traffic.await(slot.message);
    traffic.await(slot.arrived);
    const Moment free = slot.read;
    const bool isComputed = !schedule_.steps[step].empty();
    const auto arrived = [this, &slot, free, isComputed](uint64_t offset, uint64_t bytes) {
        if (isComputed) {
            slot.arrived = gpu_.toDevice().submit(
                [&](VkCommandBuffer commands) {
                    gpu_.copy(commands, slot.onHost, offset, slot.onDevice, offset, bytes);
                },
                {free});
        }
    };
    const auto from = static_cast<int>((schedule_.rank + schedule_.ranks - 1) % schedule_.ranks);
    slot.message =
        traffic.receive(from, Tag::block, slot.onHost.mapped(), blocks_[schedule_.ownerOf(step)].bytes, arrived);
}

void Ring::send(Traffic& traffic, uint32_t step) {
    Slot& slot = slots_[step % slotCount];
    if (schedule_.sendsBlock(step)) {
        const auto to = static_cast<int>((schedule_.rank + 1) % schedule_.ranks);
        slot.message = traffic.send(to, Tag::block, slot.onHost.mapped(), blocks_[schedule_.ownerOf(step)].bytes);
    }
}

void Ring::computePair(uint32_t step, const Pair& pair, VkfPlan plan, uint32_t planSteps) {
    const VkfBindings bindings = bindingsOf(step, pair);
    const Moment arrived = step == 0 ? gpu_.toDevice().last() : slots_[step % slotCount].arrived;
    VkfMessage message{};
    for (uint32_t i = 0; i < planSteps; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdAttentionSteps(commands, plan, &bindings, i, 1, &message), message);
                if (i + 1 == planSteps) {
                    const RowRanges& to = rows_[pair.rows];
                    sums_[pair.rows].record(commands, to.o.of(o_), to.lse.of(lse_));
                }
            },
            {arrived});
    }
}

void Ring::compute(uint32_t step, RunReport& report) {
    const std::vector<Pair>& pairs = schedule_.steps[step];
    for (size_t i = 0; i < pairs.size(); ++i) {
        const size_t plan = plans_[step][i];
        computePair(step, pairs[i], calls_.plan(plan), calls_.info(plan).stepCount);
        report.computed++;
    }
    slots_[step % slotCount].read = gpu_.kernels().last();
}

void Ring::finishEmptyRows() {
    for (size_t i = 0; i < sums_.size(); ++i) {
        if (sums_[i].partials() == 0 && rows_[i].o.bytes > 0) {
            gpu_.kernels().submit([&](VkCommandBuffer commands) {
                sums_[i].recordEmpty(commands, rows_[i].o.of(o_), rows_[i].lse.of(lse_));
            });
        }
    }
}

void Ring::runSteps(RunReport& report) {
    Traffic traffic(state_.ranks);
    slots_[0].message = slots_[1].message = 0;
    for (RowSums& sums : sums_) {
        sums.restart();
    }
    if (schedule_.sendsBlock(0)) {
        traffic.await(gpu_.toHost().submit(
            [&](VkCommandBuffer commands) { gpu_.copy(commands, block_, 0, slots_[0].onHost, 0, block_.bytes()); },
            {gpu_.toDevice().last(), gpu_.kernels().last()}));
    }
    for (uint32_t step = 0; step < schedule_.ranks; ++step) {
        if (schedule_.hasBlock(step)) {
            send(traffic, step);
            compute(step, report);
        }
        receive(traffic, step + 1);
        if (step + 1 < schedule_.ranks && schedule_.hasBlock(step + 1)) {
            const Moment computed = gpu_.kernels().last();
            Clock::time_point idleSince{};
            const Traffic::Ticket ticket = slots_[(step + 1) % slotCount].message;
            traffic.await([&] {
                if (idleSince == Clock::time_point{} && computed.queue->wait(computed.value, 0)) {
                    idleSince = Clock::now();
                }
                return traffic.isDone(ticket);
            });
            report.waited += idleSince == Clock::time_point{} ? 0 : secondsSince(idleSince);
        }
    }
    finishEmptyRows();
    traffic.await(gpu_.kernels().last());
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport Ring::run() {
    RunReport report;
    const Clock::time_point start = Clock::now();
    state_.ranks.guarded([&] { runSteps(report); });
    report.seconds = secondsSince(start);
    return report;
}

} // namespace

std::unique_ptr<Engine> makeRing(State& state, const VkfProblem& whole, Distribution distribution,
                                 const Lengths& lengths) {
    return std::make_unique<Ring>(state, whole, distribution, lengths);
}

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
//
// The backward pass of ring attention, for one group of heads after the other. Each pair of a chunk of rows and a chunk
// of keys gives its part of dq, dk and dv from the final o and lse. dq is summed up on the rank, dk and dv by
// RingGradients.
#include <algorithm>

#include "device/conversion.hpp"
#include "ring/gradients.hpp"
#include "split/head_groups.hpp"

namespace vkf::mpi {
namespace {

class RingBackward final : public BackwardEngine {
public:
    // `group` is the call of each group of heads.
    RingBackward(State& state, const VkfBackwardProblem& group, uint32_t groups, Distribution distribution,
                 const Lengths& lengths);
    std::string description() const override;
    VkfType productType() const override;
    void connect(Transport transport) override {
        blocks_.connect(transport);
        gradients_.connect();
    }
    void upload(const PartInputs& inputs, const PartGradientInputs& gradients) override;
    RunReport run(const Progress& progress) override;
    void download(const PartGradients& outputs) override;

private:
    void placeRows(const VkfBackwardProblem& group);
    void placeGradients(const VkfBackwardProblem& group);
    void makePlans(const VkfBackwardProblem& group);
    void compute(const Round& round, RunReport& report);
    void computePair(const Round& round, size_t number, bool firstOfKeys);
    uint64_t submissions() const;
    void runRounds(RunReport& report, const Progress& progress);
    void moveSums(Traffic& traffic, const Round* previous, const Round& round, RunReport& report);
    void convertRows(uint32_t group);
    void convertKeys(uint32_t group);

    State& state_;
    Gpu& gpu_;
    VkfProblem forward_; // of each group of heads
    RingBlocks blocks_;
    RingGradients gradients_;
    Calls calls_;
    Staging staging_;
    AddKernel add_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<Range> rowSums_;             // dq of the present group in fp32, by chunk
    std::vector<bool> hasSum_;               // by chunk of rows: whether the present group has written its sum
    std::vector<Conversion> dqConversions_, dkConversions_, dvConversions_;
    ChunkedMemory q_, o_, lse_, dout_, dq_, dk_, dv_;
    Memory sum_;
    Memory addend_;   // dq of a pair
    Memory addendKv_; // dk and dv of a pair
};

RingBackward::RingBackward(State& state, const VkfBackwardProblem& group, uint32_t groups, Distribution distribution,
                           const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), forward_(*group.forward),
      blocks_(state, forward_, groups, distribution, lengths), gradients_(state, forward_, blocks_), calls_(gpu_),
      staging_(gpu_), add_(gpu_) {
    makePlans(group);
    placeRows(group);
    placeGradients(group);
}

void RingBackward::makePlans(const VkfBackwardProblem& group) {
    for (const std::vector<Pair>& step : blocks_.schedule().steps) {
        std::vector<size_t>& numbers = plans_.emplace_back();
        for (const Pair& pair : step) {
            VkfBackwardProblem problem = group;
            problem.forward = &pair.problem;
            problem.dq = problem.dk = problem.dv = dense(VKF_TYPE_F32);
            numbers.push_back(calls_.addBackward(problem));
        }
    }
    calls_.allocateScratch();
}

void RingBackward::placeRows(const VkfBackwardProblem& group) {
    const auto place = [&](uint32_t dim, VkfType type) {
        return ChunkedMemory(gpu_, forward_, blocks_.groups(), blocks_.ownRows(), forward_.queryHeads, dim, type);
    };
    q_ = place(forward_.headDim, forward_.q.type);
    o_ = place(valueDimOf(forward_), forward_.o.type);
    lse_ = place(1, VKF_TYPE_F32);
    dout_ = place(valueDimOf(forward_), group.dout.type);
    dq_ = place(forward_.headDim, group.dq.type);
    Layout sums;
    uint64_t most = 0;
    for (const Chunk& chunk : blocks_.ownRows()) {
        const uint64_t rows = chunkElements(forward_, chunk, forward_.queryHeads, 1);
        rowSums_.push_back(sums.add(rows * forward_.headDim * sizeof(float)));
        dqConversions_.emplace_back(gpu_, rows, forward_.headDim, group.dq.type);
        most = std::max(most, rowSums_.back().bytes);
    }
    sum_ = Memory(gpu_, sums.bytes(), Place::device);
    addend_ = Memory(gpu_, most, Place::device);
    hasSum_.resize(rowSums_.size());
}

void RingBackward::placeGradients(const VkfBackwardProblem& group) {
    const Schedule& schedule = blocks_.schedule();
    const std::vector<Chunk>& keys = schedule.parts[schedule.rank].keys;
    dk_ = ChunkedMemory(gpu_, forward_, blocks_.groups(), keys, forward_.kvHeads, forward_.headDim, group.dk.type);
    dv_ = ChunkedMemory(gpu_, forward_, blocks_.groups(), keys, forward_.kvHeads, valueDimOf(forward_), group.dv.type);
    for (const Chunk& chunk : keys) {
        const uint64_t rows = chunkElements(forward_, chunk, forward_.kvHeads, 1);
        dkConversions_.emplace_back(gpu_, rows, forward_.headDim, group.dk.type);
        dvConversions_.emplace_back(gpu_, rows, valueDimOf(forward_), group.dv.type);
    }
    uint64_t most = 0;
    for (uint32_t owner = 0; owner < schedule.ranks; ++owner) {
        for (const KeyRanges& ranges : gradients_.layoutOf(owner).chunks) {
            most = std::max(most, std::max(ranges.k.bytes, ranges.v.bytes));
        }
    }
    addendKv_ = Memory(gpu_, 2 * most, Place::device);
}

std::string RingBackward::description() const {
    const size_t* const plan = firstPlanOf(plans_);
    return blocks_.text() + ", " +
           (plan != nullptr ? calls_.backwardInfo(*plan).description : "nothing to do on this rank");
}

VkfType RingBackward::productType() const {
    const size_t* const plan = firstPlanOf(plans_);
    return plan != nullptr ? calls_.backwardInfo(*plan).productType : VKF_TYPE_F32;
}

void RingBackward::upload(const PartInputs& inputs, const PartGradientInputs& gradients) {
    q_.upload(staging_, inputs.q);
    o_.upload(staging_, gradients.o);
    lse_.upload(staging_, gradients.lse);
    dout_.upload(staging_, gradients.dout);
    blocks_.upload(staging_, inputs.k, inputs.v);
    blocks_.uploadSlopes(staging_, inputs.alibiSlopes);
}

void RingBackward::download(const PartGradients& outputs) {
    dq_.download(staging_, outputs.dq);
    dk_.download(staging_, outputs.dk);
    dv_.download(staging_, outputs.dv);
}

// The first pair of a chunk of rows or keys writes the sum. The others write addends, which are added to it.
void RingBackward::computePair(const Round& round, size_t number, bool firstOfKeys) {
    const uint32_t step = round.step;
    const Pair& pair = blocks_.schedule().steps[step][number];
    const size_t plan = plans_[step][number];
    const Range& rowSum = rowSums_[pair.rows];
    const KeyRanges& keys = gradients_.layoutOf(blocks_.schedule().ownerOf(step)).chunks[pair.keys];
    const Memory& sumOfKeys = gradients_.sumOf(round);
    const bool firstOfRows = !hasSum_[pair.rows];
    const uint64_t middle = addendKv_.bytes() / 2;
    auto forward = make<VkfBindings>();
    blocks_.bind(round, number, forward);
    forward.q = q_.of(round.group, pair.rows);
    forward.o = o_.of(round.group, pair.rows);
    forward.lse = lse_.of(round.group, pair.rows);
    auto bindings = make<VkfBackwardBindings>();
    bindings.forward = &forward;
    bindings.dout = dout_.of(round.group, pair.rows);
    bindings.dq = firstOfRows ? rowSum.of(sum_) : addend_.binding(0, rowSum.bytes);
    bindings.dk = firstOfKeys ? keys.k.of(sumOfKeys) : addendKv_.binding(0, keys.k.bytes);
    bindings.dv = firstOfKeys ? keys.v.of(sumOfKeys) : addendKv_.binding(middle, keys.v.bytes);
    bindings.scratch = calls_.scratch();
    const uint32_t steps = calls_.backwardInfo(plan).stepCount;
    VkfMessage message{};
    for (uint32_t i = 0; i < steps; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdBackwardSteps(commands, calls_.backward(plan), &bindings, i, 1, &message), message);
            },
            {blocks_.arrivalOf(round), gradients_.freeOf(round)});
    }
    gpu_.kernels().submit([&](VkCommandBuffer commands) {
        constexpr uint64_t bytes = sizeof(float);
        if (!firstOfRows) {
            add_.record(commands, sum_.address(rowSum.at), addend_.address(), rowSum.bytes / bytes);
        }
        if (!firstOfKeys) {
            add_.record(commands, sumOfKeys.address(keys.k.at), addendKv_.address(), keys.k.bytes / bytes);
            add_.record(commands, sumOfKeys.address(keys.v.at), addendKv_.address(middle), keys.v.bytes / bytes);
        }
    });
    hasSum_[pair.rows] = true;
}

void RingBackward::compute(const Round& round, RunReport& report) {
    const uint32_t step = round.step;
    const std::vector<Pair>& pairs = blocks_.schedule().steps[step];
    const BlockLayout& layout = gradients_.layoutOf(blocks_.schedule().ownerOf(step));
    std::vector<bool> hasKeys(layout.chunks.size());
    for (const Pair& pair : pairs) {
        hasKeys[pair.keys] = true;
    }
    if (step == 0) {
        std::fill(hasSum_.begin(), hasSum_.end(), false);
    }
    // Gradients of keys that no row of this rank sees.
    gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            for (size_t i = 0; i < hasKeys.size(); ++i) {
                if (!hasKeys[i]) {
                    gpu_.fill(commands, gradients_.sumOf(round), layout.chunks[i].k.at, layout.chunks[i].k.bytes, 0);
                    gpu_.fill(commands, gradients_.sumOf(round), layout.chunks[i].v.at, layout.chunks[i].v.bytes, 0);
                }
            }
        },
        {gradients_.freeOf(round)});
    std::vector<bool> started(hasKeys.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
        computePair(round, i, !started[pairs[i].keys]);
        started[pairs[i].keys] = true;
        report.computed++;
    }
}

void RingBackward::convertRows(uint32_t group) {
    gpu_.kernels().submit([&](VkCommandBuffer commands) {
        for (size_t i = 0; i < rowSums_.size(); ++i) {
            if (!hasSum_[i]) {
                gpu_.fill(commands, sum_, rowSums_[i].at, rowSums_[i].bytes, 0);
            }
            dqConversions_[i].record(commands, rowSums_[i].of(sum_), dq_.of(group, i));
        }
    });
}

// After the sums of the rank's keys have come home.
void RingBackward::convertKeys(uint32_t group) {
    gpu_.kernels().submit([&](VkCommandBuffer commands) {
        const BlockLayout& sums = gradients_.layoutOf(blocks_.schedule().rank);
        for (size_t i = 0; i < sums.chunks.size(); ++i) {
            dkConversions_[i].record(commands, sums.chunks[i].k.of(gradients_.own(group)), dk_.of(group, i));
            dvConversions_[i].record(commands, sums.chunks[i].v.of(gradients_.own(group)), dv_.of(group, i));
        }
    });
}

// How often a run submits kernels. Each step fills gradients before its pairs, and each pair ends with additions.
uint64_t RingBackward::submissions() const {
    uint64_t count = 0;
    for (const std::vector<size_t>& step : plans_) {
        count++;
        for (const size_t pass : step) {
            count += uint64_t{calls_.backwardInfo(pass).stepCount} + 1;
        }
    }
    return blocks_.groups() * count;
}

// What moves after the kernels of a round were submitted. `previous` is the round before; the first one has none.
void RingBackward::moveSums(Traffic& traffic, const Round* previous, const Round& round, RunReport& report) {
    if (previous != nullptr) {
        gradients_.send(traffic, previous->step);
    }
    if (round.step == 0) {
        // The sums of the group before come home while the first kernels of this one run.
        if (round.group > 0) {
            gradients_.complete(traffic, round.group - 1);
            convertKeys(round.group - 1);
        }
        gradients_.expectHome(traffic);
    }
    report.waited += gradients_.receive(traffic, round.step);
    gradients_.finish(traffic, round.step);
    if (round.step + 1 == blocks_.schedule().ranks) {
        convertRows(round.group);
    }
}

void RingBackward::runRounds(RunReport& report, const Progress& progress) {
    Traffic traffic(state_.ranks, gpu_.watch(progress, submissions()));
    gradients_.begin();
    const std::vector<Round> rounds = blocks_.rounds();
    for (size_t i = 0; i < rounds.size(); ++i) {
        const Round& round = rounds[i];
        const Moment before = gpu_.kernels().last();
        report.waited += blocks_.await(traffic, round, before);
        if (blocks_.schedule().hasBlock(round.step)) {
            compute(round, report);
        }
        if (i == 0) {
            blocks_.begin(traffic);
        }
        const Moment read = gpu_.kernels().last();
        report.waited += traffic.awaitIdle(blocks_.arrivalOf(round), before);
        moveSums(traffic, i == 0 ? nullptr : &rounds[i - 1], round, report);
        // After the sums: copies of the next block wait for kernels, and those of sums would wait behind them.
        blocks_.release(traffic, round, read);
    }
    gradients_.send(traffic, rounds.back().step);
    gradients_.complete(traffic, rounds.back().group);
    convertKeys(rounds.back().group);
    traffic.await(gpu_.kernels().last());
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport RingBackward::run(const Progress& progress) {
    return state_.run([&](RunReport& report) { runRounds(report, progress); });
}

} // namespace

std::unique_ptr<BackwardEngine> makeRingBackward(State& state, const VkfBackwardProblem& whole, const Split& split,
                                                 const Lengths& lengths) {
    const auto ranks = static_cast<uint32_t>(state.ranks.size());
    const uint32_t groups = chooseHeadGroups(*whole.forward, split, ranks, true);
    const VkfProblem forward = groupOf(*whole.forward, groups);
    VkfBackwardProblem group = whole;
    group.forward = &forward;
    return std::make_unique<RingBackward>(state, group, groups, split.distribution, lengths);
}

} // namespace vkf::mpi

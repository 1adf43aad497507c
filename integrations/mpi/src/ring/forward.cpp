// SPDX-License-Identifier: MIT
//
// Ring attention, forward, for one group of heads after the other: a rank computes its rows over one block after the
// other, and merges the partial results.
#include "ring/blocks.hpp"
#include "ring/row_sums.hpp"
#include "split/head_groups.hpp"

namespace vkf::mpi {
namespace {

class Ring final : public Engine {
public:
    Ring(State& state, const VkfProblem& group, uint32_t groups, Distribution distribution, const Lengths& lengths);
    std::string description() const override;
    VkfType productType() const override;
    void connect(Transport transport) override { blocks_.connect(transport); }
    void upload(const PartInputs& inputs) override;
    RunReport run(const Progress& progress) override;
    void download(const PartOutputs& outputs) override;

private:
    // The rows of a chunk, of a group of heads.
    struct Rows {
        uint32_t group;
        uint32_t chunk;
    };

    void placeRows();
    void compute(const Round& round, RunReport& report);
    void computePair(const Round& round, size_t number);
    void finishRows(VkCommandBuffer commands);
    void finishEmptyRows();
    uint64_t submissions() const;
    void runRounds(RunReport& report, const Progress& progress);

    State& state_;
    Gpu& gpu_;
    VkfProblem group_; // the call of each group of heads
    RingBlocks blocks_;
    Calls calls_;
    Staging staging_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<RowSums> sums_;              // by chunk
    std::vector<Rows> complete_;             // their last merge waits for the next kernel, beside which it runs
    ChunkedMemory q_, o_, lse_;
};

Ring::Ring(State& state, const VkfProblem& group, uint32_t groups, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), group_(group), blocks_(state, group, groups, distribution, lengths),
      calls_(gpu_), staging_(gpu_) {
    const std::vector<Chunk>& rows = blocks_.ownRows();
    std::vector<uint32_t> partials(rows.size(), 0);
    for (const std::vector<Pair>& step : blocks_.schedule().steps) {
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
    for (size_t i = 0; i < partials.size(); ++i) {
        sums_.emplace_back(state_, calls_, group_, rows[i], partials[i]);
    }
}

void Ring::placeRows() {
    const auto place = [&](uint32_t dim, VkfType type) {
        return ChunkedMemory(gpu_, group_, blocks_.groups(), blocks_.ownRows(), group_.queryHeads, dim, type);
    };
    q_ = place(group_.headDim, group_.q.type);
    o_ = place(valueDimOf(group_), group_.o.type);
    lse_ = place(1, VKF_TYPE_F32);
}

std::string Ring::description() const {
    const size_t* const plan = firstPlanOf(plans_);
    return blocks_.text() + ", " + (plan != nullptr ? calls_.info(*plan).description : "nothing to do on this rank");
}

VkfType Ring::productType() const {
    const size_t* const plan = firstPlanOf(plans_);
    return plan != nullptr ? calls_.info(*plan).productType : VKF_TYPE_F32;
}

void Ring::upload(const PartInputs& inputs) {
    q_.upload(staging_, inputs.q);
    blocks_.upload(staging_, inputs.k, inputs.v);
    blocks_.uploadSlopes(staging_, inputs.alibiSlopes);
}

void Ring::download(const PartOutputs& outputs) {
    if (outputs.o != nullptr) {
        o_.download(staging_, outputs.o);
    }
    if (outputs.lse != nullptr) {
        lse_.download(staging_, outputs.lse);
    }
}

void Ring::computePair(const Round& round, size_t number) {
    const Pair& pair = blocks_.schedule().steps[round.step][number];
    const size_t plan = plans_[round.step][number];
    RowSums& sums = sums_[pair.rows];
    auto bindings = make<VkfBindings>();
    blocks_.bind(round, number, bindings);
    bindings.q = q_.of(round.group, pair.rows);
    bindings.o = sums.nextO();
    bindings.lse = sums.nextLse();
    bindings.scratch = calls_.scratch();
    const uint32_t planSteps = calls_.info(plan).stepCount;
    VkfMessage message{};
    for (uint32_t i = 0; i < planSteps; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                finishRows(commands);
                check(vkfCmdAttentionSteps(commands, calls_.plan(plan), &bindings, i, 1, &message), message);
                if (i + 1 == planSteps && sums.record(commands)) {
                    complete_.push_back({round.group, pair.rows});
                }
            },
            {blocks_.arrivalOf(round)});
    }
}

void Ring::compute(const Round& round, RunReport& report) {
    for (size_t i = 0; i < plans_[round.step].size(); ++i) {
        computePair(round, i);
        report.computed++;
    }
}

// Records the last merges of what is complete.
void Ring::finishRows(VkCommandBuffer commands) {
    for (const Rows& rows : complete_) {
        sums_[rows.chunk].recordLast(commands, o_.of(rows.group, rows.chunk), lse_.of(rows.group, rows.chunk));
    }
    complete_.clear();
}

void Ring::finishEmptyRows() {
    for (uint32_t chunk = 0; chunk < sums_.size(); ++chunk) {
        for (uint32_t group = 0; sums_[chunk].partials() == 0 && group < blocks_.groups(); ++group) {
            gpu_.kernels().submit([&](VkCommandBuffer commands) {
                sums_[chunk].recordEmpty(commands, o_.of(group, chunk), lse_.of(group, chunk));
            });
        }
    }
}

// How often a run submits kernels.
uint64_t Ring::submissions() const {
    uint64_t count = 0;
    for (const std::vector<size_t>& step : plans_) {
        for (const size_t plan : step) {
            count += calls_.info(plan).stepCount;
        }
    }
    return blocks_.groups() * count;
}

void Ring::runRounds(RunReport& report, const Progress& progress) {
    Traffic traffic(state_.ranks, gpu_.watch(progress, submissions()));
    for (RowSums& sums : sums_) {
        sums.restart();
    }
    complete_.clear();
    bool hasBegun = false;
    for (const Round& round : blocks_.rounds()) {
        const Moment before = gpu_.kernels().last();
        report.waited += blocks_.await(traffic, round, before);
        compute(round, report);
        if (!hasBegun) {
            blocks_.begin(traffic);
            hasBegun = true;
        }
        blocks_.release(traffic, round);
        report.waited += traffic.awaitIdle(blocks_.arrivalOf(round), before);
    }
    gpu_.kernels().submit([this](VkCommandBuffer commands) { finishRows(commands); });
    finishEmptyRows();
    traffic.await(gpu_.kernels().last());
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport Ring::run(const Progress& progress) {
    return state_.run([&](RunReport& report) { runRounds(report, progress); });
}

} // namespace

std::unique_ptr<Engine> makeRing(State& state, const VkfProblem& whole, const Split& split, const Lengths& lengths) {
    const auto ranks = static_cast<uint32_t>(state.ranks.size());
    const uint32_t groups = headGroupsOf(whole, split, ranks, mostForwardGroups);
    return std::make_unique<Ring>(state, groupOf(whole, groups), groups, split.distribution, lengths);
}

} // namespace vkf::mpi

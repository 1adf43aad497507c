// SPDX-License-Identifier: MIT
//
// Ring attention, forward, for one group of heads after the other: a rank computes its rows over one block after the
// other, and merges the partial results.
#include "ring/blocks.hpp"
#include "ring/partial_results.hpp"
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
    // A pair that is ready to be recorded.
    struct Bound {
        size_t plan;
        VkfBindings bindings;
    };

    void placeRows();
    void compute(const Round& round, RunReport& report);
    Bound bound(const Round& round, size_t number) const;
    void submit(const Round& round, std::vector<Bound>& pairs);
    void mergeSome(PartialResults& results);
    void mergeGroup(const Round& last);
    Queue& queueOf(const Round& round);
    uint64_t submissions() const;
    void runRounds(RunReport& report, const Progress& progress);

    State& state_;
    Gpu& gpu_;
    VkfProblem group_; // the call of each group of heads
    RingBlocks blocks_;
    Calls calls_;
    Staging staging_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<PartialResults> results_;    // by chunk
    Moment merged_;                          // from which on slots are free again
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
        results_.emplace_back(state_, calls_, group_, rows[i], partials[i]);
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

Ring::Bound Ring::bound(const Round& round, size_t number) const {
    const Pair& pair = blocks_.schedule().steps[round.step][number];
    Bound bound{plans_[round.step][number], make<VkfBindings>()};
    blocks_.bind(round, number, bound.bindings);
    bound.bindings.q = q_.of(round.group, pair.rows);
    bound.bindings.o = results_[pair.rows].nextO();
    bound.bindings.lse = results_[pair.rows].nextLse();
    bound.bindings.scratch = calls_.scratch();
    return bound;
}

// Steps take turns, so that kernels of one step begin while those of the step before end.
Queue& Ring::queueOf(const Round& round) {
    return round.step % 2 == 1 && calls_.runBesideEachOther() ? gpu_.kernelsBeside() : gpu_.kernels();
}

void Ring::submit(const Round& round, std::vector<Bound>& pairs) {
    Queue& queue = queueOf(round);
    VkfMessage message{};
    const auto record = [&](VkCommandBuffer commands, const Bound& pair, uint32_t step) {
        check(vkfCmdAttentionSteps(commands, calls_.plan(pair.plan), &pair.bindings, step, 1, &message), message);
    };
    if (!calls_.runBesideEachOther()) {
        for (const Bound& pair : pairs) {
            for (uint32_t i = 0; i < calls_.info(pair.plan).stepCount; ++i) {
                queue.submit([&](VkCommandBuffer commands) { record(commands, pair, i); },
                             {blocks_.arrivalOf(round), merged_});
            }
        }
    } else if (!pairs.empty()) {
        queue.submit(
            [&](VkCommandBuffer commands) {
                for (const Bound& pair : pairs) {
                    record(commands, pair, 0);
                }
            },
            {blocks_.arrivalOf(round), merged_});
    }
    pairs.clear();
}

void Ring::compute(const Round& round, RunReport& report) {
    std::vector<Bound> pairs;
    for (size_t i = 0; i < plans_[round.step].size(); ++i) {
        PartialResults& results = results_[blocks_.schedule().steps[round.step][i].rows];
        if (results.isFull()) {
            submit(round, pairs);
            mergeSome(results);
        }
        pairs.push_back(bound(round, i));
        results.add();
        report.computed++;
    }
    submit(round, pairs);
}

void Ring::mergeSome(PartialResults& results) {
    merged_ = gpu_.kernels().submit([&](VkCommandBuffer commands) { results.mergeSome(commands); },
                                    {gpu_.kernelsBeside().last()});
}

// On the queue of the last step, whose kernels end last: the next kernels on it need not wait for another queue.
void Ring::mergeGroup(const Round& last) {
    merged_ = queueOf(last).submit(
        [&](VkCommandBuffer commands) {
            for (size_t i = 0; i < results_.size(); ++i) {
                results_[i].mergeLast(commands, o_.of(last.group, i), lse_.of(last.group, i));
            }
        },
        {gpu_.kernels().last(), gpu_.kernelsBeside().last()});
}

// How often a run submits kernels, but for merges of some partial results.
uint64_t Ring::submissions() const {
    uint64_t count = 1; // the merge of a group
    for (const std::vector<size_t>& step : plans_) {
        if (calls_.runBesideEachOther()) {
            count += step.empty() ? 0 : 1;
            continue;
        }
        for (const size_t plan : step) {
            count += calls_.info(plan).stepCount;
        }
    }
    return blocks_.groups() * count;
}

void Ring::runRounds(RunReport& report, const Progress& progress) {
    Traffic traffic(state_.ranks, gpu_.watch(progress, submissions()));
    for (PartialResults& results : results_) {
        results.restart();
    }
    const std::vector<Round> rounds = blocks_.rounds();
    for (size_t i = 0; i < rounds.size(); ++i) {
        const Round& round = rounds[i];
        const Moment before = queueOf(rounds[i == 0 ? 0 : i - 1]).last();
        report.waited += blocks_.await(traffic, round, before);
        compute(round, report);
        if (i == 0) {
            blocks_.begin(traffic);
        }
        blocks_.release(traffic, round, queueOf(round).last());
        report.waited += traffic.awaitIdle(blocks_.arrivalOf(round), before);
        if (round.step + 1 == blocks_.schedule().ranks) {
            mergeGroup(round);
        }
    }
    traffic.await(merged_);
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport Ring::run(const Progress& progress) {
    return state_.run([&](RunReport& report) { runRounds(report, progress); });
}

} // namespace

std::unique_ptr<Engine> makeRing(State& state, const VkfProblem& whole, const Split& split, const Lengths& lengths) {
    const auto ranks = static_cast<uint32_t>(state.ranks.size());
    const uint32_t groups = chooseHeadGroups(whole, split, ranks, false);
    return std::make_unique<Ring>(state, groupOf(whole, groups), groups, split.distribution, lengths);
}

} // namespace vkf::mpi

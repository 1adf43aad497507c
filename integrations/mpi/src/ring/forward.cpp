// SPDX-License-Identifier: MIT
//
// Ring attention, forward: a rank computes its rows over one block after the other, and merges the partial results.
#include "ring/blocks.hpp"
#include "ring/row_sums.hpp"

namespace vkf::mpi {
namespace {

class Ring final : public Engine {
public:
    Ring(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths);
    std::string description() const override;
    VkfType productType() const override;
    void connect(Transport transport) override { blocks_.connect(transport); }
    void upload(const PartInputs& inputs) override;
    RunReport run(const Progress& progress) override;
    void download(const PartOutputs& outputs) override;

private:
    struct RowRanges {
        Range q, o, lse;
    };

    void placeRows();
    void compute(uint32_t step, RunReport& report);
    void computePair(uint32_t step, size_t number);
    void finishEmptyRows();
    uint64_t submissions() const;
    void runSteps(RunReport& report, const Progress& progress);

    State& state_;
    Gpu& gpu_;
    VkfProblem whole_;
    RingBlocks blocks_;
    Calls calls_;
    Staging staging_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<RowRanges> rows_;            // by chunk
    std::vector<RowSums> sums_;              // by chunk
    Memory q_, o_, lse_;
};

Ring::Ring(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), whole_(whole), blocks_(state, whole, distribution, lengths), calls_(gpu_),
      staging_(gpu_) {
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
        sums_.emplace_back(state_, calls_, whole_, rows[i], partials[i]);
    }
}

void Ring::placeRows() {
    Layout q;
    Layout o;
    Layout lse;
    for (const Chunk& chunk : blocks_.ownRows()) {
        const uint64_t elements = chunkElements(whole_, chunk, whole_.queryHeads, 1);
        rows_.push_back({q.add(elements * whole_.headDim * vkfTypeBytes(whole_.q.type)),
                         o.add(elements * valueDimOf(whole_) * vkfTypeBytes(whole_.o.type)),
                         lse.add(elements * sizeof(float))});
    }
    q_ = Memory(gpu_, q.bytes(), Place::device);
    o_ = Memory(gpu_, o.bytes(), Place::device);
    lse_ = Memory(gpu_, lse.bytes(), Place::device);
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
    const auto* q = static_cast<const std::byte*>(inputs.q);
    for (const RowRanges& ranges : rows_) {
        staging_.upload(q_, ranges.q, q);
        q += ranges.q.bytes;
    }
    blocks_.upload(staging_, inputs.k, inputs.v);
    blocks_.uploadSlopes(staging_, inputs.alibiSlopes);
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

void Ring::computePair(uint32_t step, size_t number) {
    const Pair& pair = blocks_.schedule().steps[step][number];
    const size_t plan = plans_[step][number];
    auto bindings = make<VkfBindings>();
    blocks_.bind(step, number, bindings);
    bindings.q = rows_[pair.rows].q.of(q_);
    bindings.o = sums_[pair.rows].nextO();
    bindings.lse = sums_[pair.rows].nextLse();
    bindings.scratch = calls_.scratch();
    const uint32_t planSteps = calls_.info(plan).stepCount;
    VkfMessage message{};
    for (uint32_t i = 0; i < planSteps; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdAttentionSteps(commands, calls_.plan(plan), &bindings, i, 1, &message), message);
                if (i + 1 == planSteps) {
                    const RowRanges& to = rows_[pair.rows];
                    sums_[pair.rows].record(commands, to.o.of(o_), to.lse.of(lse_));
                }
            },
            {blocks_.arrivalOf(step)});
    }
}

void Ring::compute(uint32_t step, RunReport& report) {
    for (size_t i = 0; i < plans_[step].size(); ++i) {
        computePair(step, i);
        report.computed++;
    }
    blocks_.markRead(step);
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

// How often a run submits kernels.
uint64_t Ring::submissions() const {
    uint64_t count = 0;
    for (const std::vector<size_t>& step : plans_) {
        for (const size_t plan : step) {
            count += calls_.info(plan).stepCount;
        }
    }
    return count;
}

void Ring::runSteps(RunReport& report, const Progress& progress) {
    const Schedule& schedule = blocks_.schedule();
    Traffic traffic(state_.ranks, gpu_.watch(progress, submissions()));
    for (RowSums& sums : sums_) {
        sums.restart();
    }
    for (uint32_t step = 0; step < schedule.ranks; ++step) {
        if (schedule.hasBlock(step)) {
            compute(step, report);
        }
        if (step == 0) {
            report.waited += blocks_.begin(traffic);
        }
        if (schedule.hasBlock(step)) {
            blocks_.send(traffic, step);
        }
        blocks_.receive(traffic, step + 1);
        report.waited += blocks_.await(traffic, step + 1);
    }
    finishEmptyRows();
    traffic.await(gpu_.kernels().last());
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport Ring::run(const Progress& progress) {
    return state_.run([&](RunReport& report) { runSteps(report, progress); });
}

} // namespace

std::unique_ptr<Engine> makeRing(State& state, const VkfProblem& whole, Distribution distribution,
                                 const Lengths& lengths) {
    return std::make_unique<Ring>(state, whole, distribution, lengths);
}

} // namespace vkf::mpi

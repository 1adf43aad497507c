// SPDX-License-Identifier: MIT
//
// The backward pass of ring attention. Each pair of a chunk of rows and a chunk of keys gives its part of dq, dk and dv
// from the final o and lse. dq is summed up on the rank, dk and dv by RingGradients.
#include <algorithm>
#include <array>

#include "device/conversion.hpp"
#include "ring/gradients.hpp"

namespace vkf::mpi {
namespace {

class RingBackward final : public BackwardEngine {
public:
    RingBackward(State& state, const VkfBackwardProblem& whole, Distribution distribution, const Lengths& lengths);
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
    struct RowRanges {
        Range q, o, lse, dout, sum, dq;
    };

    void placeRows(const VkfBackwardProblem& whole);
    void placeGradients(const VkfBackwardProblem& whole);
    void makePlans(const VkfBackwardProblem& whole);
    void compute(uint32_t step, RunReport& report);
    void computePair(uint32_t step, size_t number, bool firstOfKeys);
    uint64_t submissions() const;
    void runSteps(RunReport& report, const Progress& progress);
    void convert();

    State& state_;
    Gpu& gpu_;
    VkfProblem forward_;
    RingBlocks blocks_;
    RingGradients gradients_;
    Calls calls_;
    Staging staging_;
    AddKernel add_;
    std::vector<std::vector<size_t>> plans_; // by step and pair
    std::vector<RowRanges> rows_;            // by chunk
    std::vector<KeyRanges> keys_;            // dk and dv by chunk, in their types
    std::vector<bool> hasSum_;               // by chunk of rows: whether this run has written its sum
    std::vector<Conversion> dqConversions_, dkConversions_, dvConversions_;
    Memory q_, o_, lse_, dout_, sum_, dq_, dkv_;
    Memory addend_;   // dq of a pair
    Memory addendKv_; // dk and dv of a pair
};

RingBackward::RingBackward(State& state, const VkfBackwardProblem& whole, Distribution distribution,
                           const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), forward_(*whole.forward), blocks_(state, forward_, distribution, lengths),
      gradients_(state, forward_, blocks_), calls_(gpu_), staging_(gpu_), add_(gpu_) {
    makePlans(whole);
    placeRows(whole);
    placeGradients(whole);
}

void RingBackward::makePlans(const VkfBackwardProblem& whole) {
    for (const std::vector<Pair>& step : blocks_.schedule().steps) {
        std::vector<size_t>& numbers = plans_.emplace_back();
        for (const Pair& pair : step) {
            VkfBackwardProblem problem = whole;
            problem.forward = &pair.problem;
            problem.dq = problem.dk = problem.dv = dense(VKF_TYPE_F32);
            numbers.push_back(calls_.addBackward(problem));
        }
    }
    calls_.allocateScratch();
}

void RingBackward::placeRows(const VkfBackwardProblem& whole) {
    std::array<Layout, 6> layouts;
    auto& [q, o, lse, dout, sum, dq] = layouts;
    uint64_t most = 0;
    for (const Chunk& chunk : blocks_.ownRows()) {
        const uint64_t rows = chunkElements(forward_, chunk, forward_.queryHeads, 1);
        const uint64_t elements = rows * forward_.headDim;
        const uint64_t values = rows * valueDimOf(forward_);
        rows_.push_back({q.add(elements * vkfTypeBytes(forward_.q.type)), o.add(values * vkfTypeBytes(forward_.o.type)),
                         lse.add(rows * sizeof(float)), dout.add(values * vkfTypeBytes(whole.dout.type)),
                         sum.add(elements * sizeof(float)), dq.add(elements * vkfTypeBytes(whole.dq.type))});
        dqConversions_.emplace_back(gpu_, rows, forward_.headDim, whole.dq.type);
        most = std::max(most, elements * sizeof(float));
    }
    q_ = Memory(gpu_, q.bytes(), Place::device);
    o_ = Memory(gpu_, o.bytes(), Place::device);
    lse_ = Memory(gpu_, lse.bytes(), Place::device);
    dout_ = Memory(gpu_, dout.bytes(), Place::device);
    sum_ = Memory(gpu_, sum.bytes(), Place::device);
    dq_ = Memory(gpu_, dq.bytes(), Place::device);
    addend_ = Memory(gpu_, most, Place::device);
    hasSum_.resize(rows_.size());
}

void RingBackward::placeGradients(const VkfBackwardProblem& whole) {
    const Schedule& schedule = blocks_.schedule();
    const BlockLayout layout(forward_, schedule.parts[schedule.rank], whole.dk.type, whole.dv.type);
    keys_ = layout.chunks;
    dkv_ = Memory(gpu_, layout.bytes, Place::device);
    for (const Chunk& chunk : schedule.parts[schedule.rank].keys) {
        const uint64_t rows = chunkElements(forward_, chunk, forward_.kvHeads, 1);
        dkConversions_.emplace_back(gpu_, rows, forward_.headDim, whole.dk.type);
        dvConversions_.emplace_back(gpu_, rows, valueDimOf(forward_), whole.dv.type);
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
    const auto* q = static_cast<const std::byte*>(inputs.q);
    const auto* o = static_cast<const std::byte*>(gradients.o);
    const auto* lse = reinterpret_cast<const std::byte*>(gradients.lse);
    const auto* dout = static_cast<const std::byte*>(gradients.dout);
    for (const RowRanges& ranges : rows_) {
        staging_.upload(q_, ranges.q, q);
        staging_.upload(o_, ranges.o, o);
        staging_.upload(lse_, ranges.lse, lse);
        staging_.upload(dout_, ranges.dout, dout);
        q += ranges.q.bytes;
        o += ranges.o.bytes;
        lse += ranges.lse.bytes;
        dout += ranges.dout.bytes;
    }
    blocks_.upload(staging_, inputs.k, inputs.v);
    blocks_.uploadSlopes(staging_, inputs.alibiSlopes);
}

void RingBackward::download(const PartGradients& outputs) {
    auto* dq = static_cast<std::byte*>(outputs.dq);
    for (const RowRanges& ranges : rows_) {
        staging_.download(dq, dq_, ranges.dq);
        dq += ranges.dq.bytes;
    }
    auto* dk = static_cast<std::byte*>(outputs.dk);
    auto* dv = static_cast<std::byte*>(outputs.dv);
    for (const KeyRanges& ranges : keys_) {
        staging_.download(dk, dkv_, ranges.k);
        staging_.download(dv, dkv_, ranges.v);
        dk += ranges.k.bytes;
        dv += ranges.v.bytes;
    }
}

// The first pair of a chunk of rows or keys writes the sum. The others write addends, which are added to it.
void RingBackward::computePair(uint32_t step, size_t number, bool firstOfKeys) {
    const Pair& pair = blocks_.schedule().steps[step][number];
    const size_t plan = plans_[step][number];
    const RowRanges& rows = rows_[pair.rows];
    const KeyRanges& keys = gradients_.layoutOf(blocks_.schedule().ownerOf(step)).chunks[pair.keys];
    const Memory& sumOfKeys = gradients_.sumOf(step);
    const bool firstOfRows = !hasSum_[pair.rows];
    const uint64_t middle = addendKv_.bytes() / 2;
    auto forward = make<VkfBindings>();
    blocks_.bind(step, number, forward);
    forward.q = rows.q.of(q_);
    forward.o = rows.o.of(o_);
    forward.lse = rows.lse.of(lse_);
    auto bindings = make<VkfBackwardBindings>();
    bindings.forward = &forward;
    bindings.dout = rows.dout.of(dout_);
    bindings.dq = firstOfRows ? rows.sum.of(sum_) : addend_.binding(0, rows.sum.bytes);
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
            {blocks_.arrivalOf(step), gradients_.freeOf(step)});
    }
    gpu_.kernels().submit([&](VkCommandBuffer commands) {
        constexpr uint64_t bytes = sizeof(float);
        if (!firstOfRows) {
            add_.record(commands, sum_.address(rows.sum.at), addend_.address(), rows.sum.bytes / bytes);
        }
        if (!firstOfKeys) {
            add_.record(commands, sumOfKeys.address(keys.k.at), addendKv_.address(), keys.k.bytes / bytes);
            add_.record(commands, sumOfKeys.address(keys.v.at), addendKv_.address(middle), keys.v.bytes / bytes);
        }
    });
    hasSum_[pair.rows] = true;
}

void RingBackward::compute(uint32_t step, RunReport& report) {
    const std::vector<Pair>& pairs = blocks_.schedule().steps[step];
    const BlockLayout& layout = gradients_.layoutOf(blocks_.schedule().ownerOf(step));
    std::vector<bool> hasKeys(layout.chunks.size());
    for (const Pair& pair : pairs) {
        hasKeys[pair.keys] = true;
    }
    // Gradients of keys that no row of this rank sees.
    gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            for (size_t i = 0; i < hasKeys.size(); ++i) {
                if (!hasKeys[i]) {
                    gpu_.fill(commands, gradients_.sumOf(step), layout.chunks[i].k.at, layout.chunks[i].k.bytes, 0);
                    gpu_.fill(commands, gradients_.sumOf(step), layout.chunks[i].v.at, layout.chunks[i].v.bytes, 0);
                }
            }
        },
        {gradients_.freeOf(step)});
    std::vector<bool> started(hasKeys.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
        computePair(step, i, !started[pairs[i].keys]);
        started[pairs[i].keys] = true;
        report.computed++;
    }
    blocks_.markRead(step);
}

void RingBackward::convert() {
    gpu_.kernels().submit(
        [&](VkCommandBuffer commands) {
            for (size_t i = 0; i < rows_.size(); ++i) {
                if (!hasSum_[i]) {
                    gpu_.fill(commands, sum_, rows_[i].sum.at, rows_[i].sum.bytes, 0);
                }
                dqConversions_[i].record(commands, rows_[i].sum.of(sum_), rows_[i].dq.of(dq_));
            }
            const BlockLayout& sums = gradients_.layoutOf(blocks_.schedule().rank);
            for (size_t i = 0; i < keys_.size(); ++i) {
                dkConversions_[i].record(commands, sums.chunks[i].k.of(gradients_.own()), keys_[i].k.of(dkv_));
                dvConversions_[i].record(commands, sums.chunks[i].v.of(gradients_.own()), keys_[i].v.of(dkv_));
            }
        },
        {gpu_.toDevice().last()});
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
    return count;
}

void RingBackward::runSteps(RunReport& report, const Progress& progress) {
    const Schedule& schedule = blocks_.schedule();
    Traffic traffic(state_.ranks, gpu_.watch(progress, submissions()));
    std::fill(hasSum_.begin(), hasSum_.end(), false);
    gradients_.begin(traffic);
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
        if (step > 0) {
            gradients_.send(traffic, step - 1);
        }
        blocks_.receive(traffic, step + 1);
        report.waited += gradients_.receive(traffic, step);
        gradients_.finish(traffic, step);
        report.waited += blocks_.await(traffic, step + 1);
    }
    gradients_.send(traffic, schedule.ranks - 1);
    gradients_.complete(traffic);
    convert();
    traffic.await(gpu_.kernels().last());
    traffic.finish();
    report.sentBytes = traffic.sentBytes();
}

RunReport RingBackward::run(const Progress& progress) {
    return state_.run([&](RunReport& report) { runSteps(report, progress); });
}

} // namespace

std::unique_ptr<BackwardEngine> makeRingBackward(State& state, const VkfBackwardProblem& whole,
                                                 Distribution distribution, const Lengths& lengths) {
    return std::make_unique<RingBackward>(state, whole, distribution, lengths);
}

} // namespace vkf::mpi

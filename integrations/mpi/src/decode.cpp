// SPDX-License-Identifier: MIT
//
// Decode over ranks: each rank computes all rows over its keys of the cache. The partial results of all ranks are
// gathered and merged on each of them, in the order of the ranks.
#include <algorithm>

#include "device/tensors.hpp"
#include "ranks/agreement.hpp"
#include "ranks/traffic.hpp"
#include "split/pair.hpp"
#include "state.hpp"

namespace vkf::mpi {
namespace {

// The keys of a rank, in the order of the cache.
Chunk keysOf(Deal deal, uint32_t keys, uint32_t ranks, uint32_t rank) {
    const uint32_t count = keysDealt(deal, keys, ranks, rank);
    const uint32_t first = firstKeyDealt(deal, keys, ranks, rank);
    return {{{first, count, first}}, count};
}

// Whether positions change what rows see. One row stands at the last key, so that a causal mask drops nothing.
bool needsPositions(const VkfProblem& whole) {
    const bool oneRow = whole.queryRows <= 1 && whole.alignment == VKF_ALIGNMENT_BOTTOM_RIGHT;
    return has(whole, VKF_USE_WINDOW) || has(whole, VKF_USE_ALIBI) || (has(whole, VKF_USE_CAUSAL) && !oneRow);
}

// The call of this rank.
VkfProblem localProblem(const VkfProblem& whole, Deal deal, const Chunk& keys, uint32_t ranks) {
    VkfProblem local = whole;
    local.keys = keys.rows;
    if (!needsPositions(whole)) {
        enable(local, VKF_USE_CAUSAL, false);
        local.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
        return local;
    }
    if (has(whole, VKF_USE_KEY_LENGTHS)) {
        setPositions(local, 0);
        enable(local, VKF_USE_ROW_OFFSETS);
    } else {
        setPositions(local, firstPosition(whole, {}, 0) - keys.ranges[0].first);
    }
    local.positions.keyStride = deal == Deal::striped ? ranks : 1;
    return local;
}

void checkDecode(const VkfProblem& whole) {
    checkWhole(whole);
    if (has(whole, VKF_USE_CU_SEQLENS)) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, "packed sequences do not work in decode over ranks");
    }
}

} // namespace

uint32_t keysDealt(Deal deal, uint32_t keys, uint32_t ranks, uint32_t rank) {
    if (deal == Deal::striped) {
        return keys > rank ? (keys - rank - 1) / ranks + 1 : 0;
    }
    return firstKeyDealt(deal, keys, ranks, rank + 1) - firstKeyDealt(deal, keys, ranks, rank);
}

uint32_t firstKeyDealt(Deal deal, uint32_t keys, uint32_t ranks, uint32_t rank) {
    return deal == Deal::striped ? rank : static_cast<uint32_t>(uint64_t{keys} * rank / ranks);
}

class Decode::Impl {
public:
    Impl(std::shared_ptr<State> state, const VkfProblem& whole, Deal deal);

    std::string description() const {
        return "decode on " + std::to_string(ranks_) + " ranks, " + calls_.info(plan_).description;
    }
    VkfType productType() const { return calls_.info(plan_).productType; }
    void uploadCache(const void* k, const void* v);
    void uploadRows(const void* q, const int32_t* keyLengths, const float* slopes);
    RunReport run();
    void download(void* o, float* lse);
    const Communicator& ranks() const { return state_->ranks; }

private:
    void place();
    void runSteps(RunReport& report);
    void compute();
    void merge();

    std::shared_ptr<State> state_;
    Gpu& gpu_;
    uint32_t ranks_;
    uint32_t rank_;
    VkfProblem whole_;
    Deal deal_;
    Chunk keys_;
    Calls calls_;
    Staging staging_;
    size_t plan_ = 0;
    Merge merge_;
    Range o_, lse_; // of one partial result, in fp32
    uint64_t partialBytes_ = 0;
    Memory q_, k_, v_, lengths_, offsets_, slopes_, partial_, resultO_, resultLse_;
    // Mapped: the partial result of this rank, and those of all ranks. The merge reads them there.
    Memory partialOnHost_, allOnHost_;
};

Decode::Impl::Impl(std::shared_ptr<State> state, const VkfProblem& whole, Deal deal)
    : state_(std::move(state)), gpu_(*state_->gpu), ranks_(static_cast<uint32_t>(state_->ranks.size())),
      rank_(static_cast<uint32_t>(state_->ranks.rank())), whole_(whole), deal_(deal), calls_(gpu_), staging_(gpu_) {
    Agreement values = agreementOf(whole, {}, {});
    values.emplace_back("deal", deal == Deal::striped ? "striped" : "contiguous");
    state_->ranks.agree(values);
    state_->ranks.together([&] {
        checkDecode(whole_);
        keys_ = keysOf(deal_, whole_.keys, ranks_, rank_);
        VkfProblem local = localProblem(whole_, deal_, keys_, ranks_);
        enable(local, VKF_USE_LSE);
        local.o = dense(VKF_TYPE_F32);
        plan_ = calls_.addPlan(local);
        calls_.allocateScratch();
        place();
    });
}

void Decode::Impl::place() {
    const uint64_t rows = uint64_t{whole_.batch} * whole_.queryHeads * whole_.queryRows;
    const uint64_t keys = uint64_t{whole_.batch} * whole_.kvHeads * keys_.rows;
    const uint32_t valueDim = valueDimOf(whole_);
    q_ = Memory(gpu_, rows * whole_.headDim * vkfTypeBytes(whole_.q.type), Place::device);
    k_ = Memory(gpu_, keys * whole_.headDim * vkfTypeBytes(whole_.k.type), Place::device);
    v_ = Memory(gpu_, keys * valueDim * vkfTypeBytes(whole_.v.type), Place::device);
    lengths_ = Memory(gpu_, uint64_t{whole_.batch} * sizeof(int32_t), Place::device);
    offsets_ = Memory(gpu_, uint64_t{whole_.batch} * sizeof(int32_t), Place::device);
    slopes_ = Memory(gpu_, has(whole_, VKF_USE_ALIBI_SLOPES) ? whole_.queryHeads * sizeof(float) : 0, Place::device);
    Layout layout;
    o_ = layout.add(rows * valueDim * sizeof(float));
    lse_ = layout.add(rows * sizeof(float));
    partialBytes_ = layout.bytes();
    if (partialBytes_ > INT32_MAX) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, "the rows of decode over ranks pass 2 GiB");
    }
    partial_ = Memory(gpu_, partialBytes_, Place::device);
    partialOnHost_ = Memory(gpu_, partialBytes_, Place::host);
    allOnHost_ = Memory(gpu_, ranks_ * partialBytes_, Place::host);
    resultO_ = Memory(gpu_, rows * valueDim * vkfTypeBytes(whole_.o.type), Place::device);
    resultLse_ = Memory(gpu_, rows * sizeof(float), Place::device);
    auto problem = make<VkfMergeProblem>();
    problem.partials = ranks_;
    problem.batch = whole_.batch;
    problem.heads = whole_.queryHeads;
    problem.rows = whole_.queryRows;
    problem.dim = valueDim;
    problem.use = VKF_USE_LSE;
    problem.o.type = whole_.o.type;
    problem.partialStride = problem.lsePartialStride = partialBytes_ / sizeof(float);
    merge_ = calls_.makeMerge(problem);
}

void Decode::Impl::uploadCache(const void* k, const void* v) {
    staging_.upload(k_, {0, k_.bytes()}, k);
    staging_.upload(v_, {0, v_.bytes()}, v);
}

void Decode::Impl::uploadRows(const void* q, const int32_t* keyLengths, const float* slopes) {
    staging_.upload(q_, {0, q_.bytes()}, q);
    staging_.upload(slopes_, {0, slopes_.bytes()}, slopes);
    if (!has(whole_, VKF_USE_KEY_LENGTHS)) {
        return;
    }
    if (keyLengths == nullptr) {
        throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "keyLengths must not be null");
    }
    std::vector<int32_t> own;
    std::vector<int32_t> offsets; // from the first key to the first row
    for (uint32_t i = 0; i < whole_.batch; ++i) {
        const int32_t length = std::clamp(keyLengths[i], 0, static_cast<int32_t>(whole_.keys));
        const auto first = static_cast<int32_t>(keys_.ranges[0].first);
        own.push_back(deal_ == Deal::striped
                          ? static_cast<int32_t>(keysDealt(deal_, static_cast<uint32_t>(length), ranks_, rank_))
                          : std::clamp(length - first, 0, static_cast<int32_t>(keys_.rows)));
        offsets.push_back(static_cast<int32_t>(firstPosition(whole_, {keyLengths, nullptr, nullptr}, i)) - first);
    }
    staging_.upload(lengths_, {0, lengths_.bytes()}, own.data());
    staging_.upload(offsets_, {0, offsets_.bytes()}, offsets.data());
}

void Decode::Impl::compute() {
    auto bindings = make<VkfBindings>();
    bindings.q = q_.binding(0, q_.bytes());
    bindings.k = k_.binding(0, k_.bytes());
    bindings.v = v_.binding(0, v_.bytes());
    bindings.o = o_.of(partial_);
    bindings.lse = lse_.of(partial_);
    bindings.scratch = calls_.scratch();
    if (has(whole_, VKF_USE_KEY_LENGTHS)) {
        bindings.keyLengths = lengths_.binding(0, lengths_.bytes());
    }
    if (has(whole_, VKF_USE_KEY_LENGTHS) && needsPositions(whole_)) {
        bindings.rowOffsets = offsets_.binding(0, offsets_.bytes());
    }
    bindings.alibiSlopes = slopes_.binding(0, slopes_.bytes());
    const uint32_t steps = calls_.info(plan_).stepCount;
    VkfMessage message{};
    for (uint32_t i = 0; i < steps; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdAttentionSteps(commands, calls_.plan(plan_), &bindings, i, 1, &message), message);
                if (i + 1 == steps) {
                    // By this queue: to wait for another one takes longer than a copy of few rows.
                    gpu_.barrier(commands);
                    gpu_.copy(commands, partial_, 0, partialOnHost_, 0, partialBytes_);
                }
            },
            {gpu_.toDevice().last()});
    }
}

void Decode::Impl::merge() {
    auto bindings = make<VkfMergeBindings>();
    const uint64_t others = (ranks_ - 1) * partialBytes_;
    bindings.partials = allOnHost_.binding(o_.at, others + o_.bytes);
    bindings.partialLse = allOnHost_.binding(lse_.at, others + lse_.bytes);
    bindings.o = resultO_.binding(0, resultO_.bytes());
    bindings.lse = resultLse_.binding(0, resultLse_.bytes());
    VkfMessage message{};
    gpu_.kernels().submit(
        [&](VkCommandBuffer commands) { check(vkfCmdMerge(commands, merge_.get(), &bindings, &message), message); });
}

void Decode::Impl::runSteps(RunReport& report) {
    Traffic traffic(state_->ranks);
    compute();
    traffic.await(gpu_.kernels().last());
    traffic.gather(partialOnHost_.mapped(), allOnHost_.mapped(), partialBytes_);
    merge();
    traffic.await(gpu_.kernels().last());
    report.sentBytes = partialBytes_ * (ranks_ - 1);
    report.computed = 1;
}

RunReport Decode::Impl::run() {
    return state_->run([this](RunReport& report) { runSteps(report); });
}

void Decode::Impl::download(void* o, float* lse) {
    state_->guarded([&] {
        staging_.download(o, resultO_, {0, resultO_.bytes()});
        staging_.download(lse, resultLse_, {0, resultLse_.bytes()});
    });
}

Decode::Decode(Ranks& ranks, const VkfProblem& problem, Deal deal)
    : impl_(std::make_unique<Impl>(ranks.state_, problem, deal)) {}

Decode::Decode(Decode&&) noexcept = default;
Decode& Decode::operator=(Decode&&) noexcept = default;
Decode::~Decode() = default;

VkfType Decode::productType() const noexcept { return impl_->productType(); }

std::string Decode::description() const { return impl_->description(); }

void Decode::uploadCache(const void* k, const void* v) {
    impl_->ranks().together([&] { impl_->uploadCache(k, v); });
}

void Decode::uploadRows(const void* q, const int32_t* keyLengths, const float* alibiSlopes) {
    impl_->ranks().together([&] { impl_->uploadRows(q, keyLengths, alibiSlopes); });
}

RunReport Decode::run() { return impl_->run(); }

void Decode::download(void* o, float* lse) { impl_->download(o, lse); }

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
#include "ranks/agreement.hpp"
#include "split/pair.hpp"
#include "split/schedule.hpp"
#include "state.hpp"

namespace vkf::mpi {

const char* distributionName(Distribution distribution) noexcept {
    return distribution == Distribution::zigzag ? "zigzag" : "contiguous";
}

const char* methodName(Method method) noexcept {
    switch (method) {
    case Method::ring:
        return "ring";
    case Method::headExchange:
        return "heads";
    default:
        return "auto";
    }
}

MethodChoice chooseMethod(const VkfProblem& problem, const Split& split, uint32_t ranks) {
    if (split.method != Method::automatic) {
        return {split.method, "the caller chose it"};
    }
    if (problem.kvHeads % ranks != 0) {
        return {Method::ring,
                std::to_string(problem.kvHeads) + " KV heads do not divide by " + std::to_string(ranks) + " ranks"};
    }
    // Elements that a rank sends, without the factor (ranks - 1) / ranks of both.
    const double dims = double{1} * problem.headDim + (problem.valueDim == 0 ? problem.headDim : problem.valueDim);
    const double ofKeys = dims * problem.keys * problem.kvHeads;
    const double ofRows = dims * problem.queryRows * problem.queryHeads;
    // Copies of the ring hide behind kernels, those of an exchange do not.
    constexpr double hidden = 2;
    if ((ofKeys + ofRows) / ranks * hidden < ofKeys) {
        return {Method::headExchange, "it moves less than half of the bytes of the ring"};
    }
    return {Method::ring, "its copies hide behind kernels, and an exchange does not move less than half of the bytes"};
}

class Attention::Impl {
public:
    Impl(std::shared_ptr<State> state, const VkfProblem& problem, const Split& split, const Lengths& lengths)
        : state_(std::move(state)) {
        const Communicator& ranks = state_->ranks;
        ranks.agree(agreementOf(problem, split, lengths));
        const auto count = static_cast<uint32_t>(ranks.size());
        ranks.together([&] {
            checkWhole(problem);
            part = partOf(problem, split.distribution, lengths, count, static_cast<uint32_t>(ranks.rank()));
            method = chooseMethod(problem, split, count);
            if (method.method == Method::ring) {
                engine = makeRing(*state_, problem, split, lengths);
            } else {
                engine = makeExchange(*state_, problem, split.distribution, lengths);
            }
        });
        engine->connect(split.transport);
    }

    State& state() const { return *state_; }
    const Communicator& ranks() const { return state_->ranks; }

private:
    std::shared_ptr<State> state_; // outlives the engine

public:
    Part part;
    MethodChoice method;
    std::unique_ptr<Engine> engine;
};

Attention::Attention(Ranks& ranks, const VkfProblem& problem, const Split& split, const Lengths& lengths)
    : impl_(std::make_unique<Impl>(ranks.state_, problem, split, lengths)) {}

Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;
Attention::~Attention() = default;

const Part& Attention::part() const noexcept { return impl_->part; }

const MethodChoice& Attention::method() const noexcept { return impl_->method; }

VkfType Attention::productType() const noexcept { return impl_->engine->productType(); }

std::string Attention::description() const { return impl_->engine->description(); }

void Attention::upload(const PartInputs& inputs) {
    impl_->ranks().together([&] { impl_->engine->upload(inputs); });
}

RunReport Attention::run(const Progress& progress) { return impl_->engine->run(progress); }

void Attention::download(const PartOutputs& outputs) {
    impl_->state().guarded([&] { impl_->engine->download(outputs); });
}

} // namespace vkf::mpi

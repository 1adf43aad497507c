// SPDX-License-Identifier: MIT
#include "ranks/agreement.hpp"
#include "split/pair.hpp"
#include "state.hpp"

namespace vkf::mpi {
namespace {

constexpr VkfGradients allGradients = VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;

Agreement backwardAgreement(const VkfBackwardProblem& problem, const Split& split, const Lengths& lengths) {
    Agreement values = agreementOf(*problem.forward, split, lengths);
    values.emplace_back("gradients", std::to_string(problem.gradients));
    values.emplace_back("dout.type", vkfTypeName(problem.dout.type));
    values.emplace_back("dq.type", vkfTypeName(problem.dq.type));
    values.emplace_back("dk.type", vkfTypeName(problem.dk.type));
    values.emplace_back("dv.type", vkfTypeName(problem.dv.type));
    return values;
}

void checkGradients(const VkfBackwardProblem& problem) {
    if (problem.gradients != 0 && problem.gradients != allGradients) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, "gradients: over ranks they are those of q, k and v, all three");
    }
    if (problem.use != 0) {
        throw host::Error(VKF_ERROR_UNSUPPORTED, "VKF_USE_DLSE does not work over ranks");
    }
    VkfMessage message{};
    if (const VkfResult result = vkfCheckBackward(&problem, &message); result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
    checkTensor(problem.dout, "dout");
    checkTensor(problem.dq, "dq");
    checkTensor(problem.dk, "dk");
    checkTensor(problem.dv, "dv");
}

} // namespace

class Backward::Impl {
public:
    Impl(std::shared_ptr<State> state, const VkfBackwardProblem& problem, const Split& split, const Lengths& lengths)
        : state_(std::move(state)) {
        const Communicator& ranks = state_->ranks;
        ranks.together([&] {
            if (problem.forward == nullptr) {
                throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "forward must not be null");
            }
        });
        ranks.agree(backwardAgreement(problem, split, lengths));
        const auto count = static_cast<uint32_t>(ranks.size());
        ranks.together([&] {
            checkWhole(*problem.forward);
            checkGradients(problem);
            part = partOf(*problem.forward, split.distribution, lengths, count, static_cast<uint32_t>(ranks.rank()));
            method = chooseMethod(*problem.forward, split, count);
            if (method.method == Method::ring) {
                engine = makeRingBackward(*state_, problem, split, lengths);
            } else {
                engine = makeExchangeBackward(*state_, problem, split.distribution, lengths);
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
    std::unique_ptr<BackwardEngine> engine;
};

Backward::Backward(Ranks& ranks, const VkfBackwardProblem& problem, const Split& split, const Lengths& lengths)
    : impl_(std::make_unique<Impl>(ranks.state_, problem, split, lengths)) {}

Backward::Backward(Backward&&) noexcept = default;
Backward& Backward::operator=(Backward&&) noexcept = default;
Backward::~Backward() = default;

const Part& Backward::part() const noexcept { return impl_->part; }

const MethodChoice& Backward::method() const noexcept { return impl_->method; }

VkfType Backward::productType() const noexcept { return impl_->engine->productType(); }

std::string Backward::description() const { return impl_->engine->description(); }

void Backward::upload(const PartInputs& inputs, const PartGradientInputs& gradients) {
    impl_->ranks().together([&] { impl_->engine->upload(inputs, gradients); });
}

RunReport Backward::run(const Progress& progress) { return impl_->engine->run(progress); }

void Backward::download(const PartGradients& outputs) {
    impl_->state().guarded([&] { impl_->engine->download(outputs); });
}

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
//
// The backward pass of head exchange: one backward pass of this rank's heads between two exchanges.
#include "exchange/heads.hpp"

namespace vkf::mpi {
namespace {

class ExchangeBackward final : public BackwardEngine {
public:
    ExchangeBackward(State& state, const VkfBackwardProblem& whole, Distribution distribution, const Lengths& lengths);
    std::string description() const override;
    void connect(Transport transport) override {
        moves_.connect(transport, {&q_, &k_, &v_, &o_, &lse_, &dout_}, {&dq_, &dk_, &dv_});
    }
    VkfType productType() const override { return calls_.backwardInfo(pass_).productType; }
    void upload(const PartInputs& inputs, const PartGradientInputs& gradients) override;
    RunReport run(const Progress& progress) override;
    void download(const PartGradients& outputs) override;

private:
    void compute();

    Gpu& gpu_;
    ExchangeMoves moves_;
    ExchangeHeads heads_;
    Calls calls_;
    Staging staging_;
    size_t pass_ = 0;
    MovedMemory q_, k_, v_, o_, lse_, dout_, dq_, dk_, dv_;
};

ExchangeBackward::ExchangeBackward(State& state, const VkfBackwardProblem& whole, Distribution distribution,
                                   const Lengths& lengths)
    : gpu_(*state.gpu), moves_(state, *whole.forward, distribution, lengths), heads_(state, *whole.forward, lengths),
      calls_(gpu_), staging_(gpu_),
      q_(gpu_, moves_, movedRows(*whole.forward, whole.forward->headDim, whole.forward->q.type)),
      k_(gpu_, moves_, movedKeys(*whole.forward, whole.forward->headDim, whole.forward->k.type)),
      v_(gpu_, moves_, movedKeys(*whole.forward, valueDimOf(*whole.forward), whole.forward->v.type)),
      o_(gpu_, moves_, movedRows(*whole.forward, valueDimOf(*whole.forward), whole.forward->o.type)),
      lse_(gpu_, moves_, movedRows(*whole.forward, 1, VKF_TYPE_F32)),
      dout_(gpu_, moves_, movedRows(*whole.forward, valueDimOf(*whole.forward), whole.dout.type)),
      dq_(gpu_, moves_, movedRows(*whole.forward, whole.forward->headDim, whole.dq.type)),
      dk_(gpu_, moves_, movedKeys(*whole.forward, whole.forward->headDim, whole.dk.type)),
      dv_(gpu_, moves_, movedKeys(*whole.forward, valueDimOf(*whole.forward), whole.dv.type)) {
    VkfBackwardProblem problem = whole;
    problem.forward = &heads_.problem();
    pass_ = calls_.addBackward(problem);
    calls_.allocateScratch();
}

std::string ExchangeBackward::description() const {
    return moves_.text() + ", " + calls_.backwardInfo(pass_).description;
}

void ExchangeBackward::upload(const PartInputs& inputs, const PartGradientInputs& gradients) {
    staging_.upload(q_.part, q_.all(), inputs.q);
    staging_.upload(k_.part, k_.all(), inputs.k);
    staging_.upload(v_.part, v_.all(), inputs.v);
    staging_.upload(o_.part, o_.all(), gradients.o);
    staging_.upload(lse_.part, lse_.all(), gradients.lse);
    staging_.upload(dout_.part, dout_.all(), gradients.dout);
    heads_.upload(staging_, inputs.alibiSlopes);
}

void ExchangeBackward::download(const PartGradients& outputs) {
    staging_.download(outputs.dq, dq_.part, dq_.all());
    staging_.download(outputs.dk, dk_.part, dk_.all());
    staging_.download(outputs.dv, dv_.part, dv_.all());
}

void ExchangeBackward::compute() {
    auto forward = make<VkfBindings>();
    heads_.bind(forward);
    forward.q = q_.ofHeads();
    forward.k = k_.ofHeads();
    forward.v = v_.ofHeads();
    forward.o = o_.ofHeads();
    forward.lse = lse_.ofHeads();
    auto bindings = make<VkfBackwardBindings>();
    bindings.forward = &forward;
    bindings.dout = dout_.ofHeads();
    bindings.dq = dq_.ofHeads();
    bindings.dk = dk_.ofHeads();
    bindings.dv = dv_.ofHeads();
    bindings.scratch = calls_.scratch();
    VkfMessage message{};
    for (uint32_t i = 0; i < calls_.backwardInfo(pass_).stepCount; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdBackwardSteps(commands, calls_.backward(pass_), &bindings, i, 1, &message), message);
            },
            {gpu_.toDevice().last()});
    }
}

RunReport ExchangeBackward::run(const Progress& progress) {
    return moves_.run(
        {&q_, &k_, &v_, &o_, &lse_, &dout_}, [this] { compute(); }, calls_.backwardInfo(pass_).stepCount,
        {&dq_, &dk_, &dv_}, progress);
}

} // namespace

std::unique_ptr<BackwardEngine> makeExchangeBackward(State& state, const VkfBackwardProblem& whole,
                                                     Distribution distribution, const Lengths& lengths) {
    return std::make_unique<ExchangeBackward>(state, whole, distribution, lengths);
}

} // namespace vkf::mpi

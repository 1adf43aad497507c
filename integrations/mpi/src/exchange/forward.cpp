// SPDX-License-Identifier: MIT
//
// Head exchange, forward: an exchange gives this rank some heads of the whole sequence, one call computes them, and
// another exchange brings o and lse to the ranks that hold the rows.
#include "exchange/heads.hpp"

namespace vkf::mpi {
namespace {

class Exchange final : public Engine {
public:
    Exchange(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths);
    std::string description() const override;
    void connect(Transport transport) override { moves_.connect(transport, {&q_, &k_, &v_}, {&o_, &lse_}); }
    VkfType productType() const override { return calls_.info(plan_).productType; }
    void upload(const PartInputs& inputs) override;
    RunReport run(const Progress& progress) override;
    void download(const PartOutputs& outputs) override;

private:
    void compute();

    Gpu& gpu_;
    ExchangeMoves moves_;
    ExchangeHeads heads_;
    Calls calls_;
    Staging staging_;
    size_t plan_;
    MovedMemory q_, k_, v_, o_, lse_;
};

Exchange::Exchange(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : gpu_(*state.gpu), moves_(state, whole, distribution, lengths), heads_(state, whole, lengths), calls_(gpu_),
      staging_(gpu_), plan_(calls_.addPlan(heads_.problem())),
      q_(gpu_, moves_, movedRows(whole, whole.headDim, whole.q.type)),
      k_(gpu_, moves_, movedKeys(whole, whole.headDim, whole.k.type)),
      v_(gpu_, moves_, movedKeys(whole, valueDimOf(whole), whole.v.type)),
      o_(gpu_, moves_, movedRows(whole, valueDimOf(whole), whole.o.type)),
      lse_(gpu_, moves_, movedRows(whole, 1, VKF_TYPE_F32)) {
    calls_.allocateScratch();
}

std::string Exchange::description() const { return moves_.text() + ", " + calls_.info(plan_).description; }

void Exchange::upload(const PartInputs& inputs) {
    staging_.upload(q_.part, q_.all(), inputs.q);
    staging_.upload(k_.part, k_.all(), inputs.k);
    staging_.upload(v_.part, v_.all(), inputs.v);
    heads_.upload(staging_, inputs.alibiSlopes);
}

void Exchange::download(const PartOutputs& outputs) {
    if (outputs.o != nullptr) {
        staging_.download(outputs.o, o_.part, o_.all());
    }
    if (outputs.lse != nullptr) {
        staging_.download(outputs.lse, lse_.part, lse_.all());
    }
}

void Exchange::compute() {
    auto bindings = make<VkfBindings>();
    heads_.bind(bindings);
    bindings.q = q_.ofHeads();
    bindings.k = k_.ofHeads();
    bindings.v = v_.ofHeads();
    bindings.o = o_.ofHeads();
    bindings.lse = lse_.ofHeads();
    bindings.scratch = calls_.scratch();
    VkfMessage message{};
    for (uint32_t i = 0; i < calls_.info(plan_).stepCount; ++i) {
        gpu_.kernels().submit(
            [&](VkCommandBuffer commands) {
                check(vkfCmdAttentionSteps(commands, calls_.plan(plan_), &bindings, i, 1, &message), message);
            },
            {gpu_.toDevice().last()});
    }
}

RunReport Exchange::run(const Progress& progress) {
    return moves_.run(
        {&q_, &k_, &v_}, [this] { compute(); }, calls_.info(plan_).stepCount, {&o_, &lse_}, progress);
}

} // namespace

std::unique_ptr<Engine> makeExchange(State& state, const VkfProblem& whole, Distribution distribution,
                                     const Lengths& lengths) {
    return std::make_unique<Exchange>(state, whole, distribution, lengths);
}

} // namespace vkf::mpi

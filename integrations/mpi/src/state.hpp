// SPDX-License-Identifier: MIT
//
// What a Ranks holds, and what attention and backward passes of every method are.
#pragma once

#include <memory>

#include <vkflash/mpi.hpp>

#include "device/gpu.hpp"
#include "ranks/communicator.hpp"

namespace vkf::mpi {

class State {
public:
    // Collective.
    State(MPI_Comm communicator, const host::DeviceOptions& options);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    // Calls `work`, which waits for other ranks while the device works. If it throws, the other ranks hear of it, and
    // the device has finished, so that memory can go.
    void guarded(const std::function<void()>& work);
    // A guarded run of a call, with its time.
    RunReport run(const std::function<void(RunReport&)>& work);

    Communicator ranks;
    std::unique_ptr<Gpu> gpu;
    uint32_t ranksOnDevice = 1;
};

// Attention by one method. The functions are those of Attention.
class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // Second part of the construction, after all ranks have done the first one. Collective.
    virtual void connect(Transport) {}
    virtual std::string description() const = 0;
    virtual VkfType productType() const = 0;
    virtual void upload(const PartInputs& inputs) = 0;
    virtual RunReport run(const Progress& progress) = 0;
    virtual void download(const PartOutputs& outputs) = 0;
};

// A backward pass by one method. The functions are those of Backward.
class BackwardEngine {
public:
    BackwardEngine() = default;
    BackwardEngine(const BackwardEngine&) = delete;
    BackwardEngine& operator=(const BackwardEngine&) = delete;
    virtual ~BackwardEngine() = default;

    // Second part of the construction, after all ranks have done the first one. Collective.
    virtual void connect(Transport) {}
    virtual std::string description() const = 0;
    virtual VkfType productType() const = 0;
    virtual void upload(const PartInputs& inputs, const PartGradientInputs& gradients) = 0;
    virtual RunReport run(const Progress& progress) = 0;
    virtual void download(const PartGradients& outputs) = 0;
};

std::unique_ptr<Engine> makeRing(State& state, const VkfProblem& whole, const Split& split, const Lengths& lengths);
std::unique_ptr<Engine> makeExchange(State& state, const VkfProblem& whole, Distribution distribution,
                                     const Lengths& lengths);
std::unique_ptr<BackwardEngine> makeRingBackward(State& state, const VkfBackwardProblem& whole, const Split& split,
                                                 const Lengths& lengths);
std::unique_ptr<BackwardEngine> makeExchangeBackward(State& state, const VkfBackwardProblem& whole,
                                                     Distribution distribution, const Lengths& lengths);

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
//
// A benched call with optional inputs: host copies for the reference, device copies for the kernels, and its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/problem_measure.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// The optional inputs of a call. An empty vector means that the problem does not use the input.
struct CallExtras {
    std::vector<float> sinks;
    // The bytes of bias and mask are rounded up to a multiple of 4.
    std::vector<std::byte> bias;
    std::vector<std::byte> mask;
    std::vector<int32_t> documents;
    std::vector<int32_t> starts; // starts of packed sequences; rows and keys have the same starts
    // Arrays that functions read, in their order. Their bytes are rounded up to a multiple of 4.
    std::vector<std::vector<std::byte>> functionArrays;

    // Sets pointers into this object.
    void addTo(host::HostTensors& tensors) const;
};

// The device copies of CallExtras.
class ExtraBuffers {
public:
    ExtraBuffers(host::Device& device, const CallExtras& extras);
    void addTo(VkfBindings& bindings) const;

private:
    host::Buffer sinks_, bias_, mask_, documents_, starts_;
    std::vector<host::Buffer> functionArrays_;
};

// A call to measure.
struct ExtraCall {
    VkfProblem problem{};
    CallExtras extras{};
    // (query row, key) pairs that one head sees. 0 = the plan's own count.
    double pairsOfHead = 0;
};

// Operations of a forward pass over so many pairs of each head.
double operationsOf(const VkfProblem& problem, double pairsOfHead);

// A call with its plan and its optional inputs. It runs on the tensors of a BenchMemory, which several calls may share.
class CallRuns {
public:
    // The caller prepares the memory before begin(). Device, clock and memory must outlive this object.
    CallRuns(host::Device& device, GpuClock& clock, BenchMemory& memory, ExtraCall call);
    CallRuns(const CallRuns&) = delete;
    CallRuns& operator=(const CallRuns&) = delete;

    const VkfPlanInfo& info() const { return plan_.info(); }
    const ExtraCall& call() const { return call_; }
    double operations() const;

    // Makes the map of tiles, if the problem has one, and runs once. The first run goes step by step, which is safe on
    // any device.
    void begin();
    // Runs once on the next set of buffers.
    ClockSample run();
    // Runs once more, into outputs that hold NaN, and verifies that run with the reference of `meant`, which is this
    // call if null. `formulas` are those of its functions.
    BenchResult checked(const Timing& timing, uint32_t sampleRows, const VkfReferenceFunctions* formulas = nullptr,
                        const ExtraCall* meant = nullptr);

    void record(VkCommandBuffer commands, size_t set) const;
    void recordMap(VkCommandBuffer commands, size_t set) const;

private:
    VkfBindings bindings(size_t set) const;

    host::Device& device_;
    BenchMemory& memory_;
    ExtraCall call_;
    host::Plan plan_;
    ExtraBuffers extras_;
    PlanRuns runs_;
    host::Buffer tileMap_; // only with VKF_USE_TILE_MAP
    size_t set_ = 0;
};

} // namespace vkf::tools

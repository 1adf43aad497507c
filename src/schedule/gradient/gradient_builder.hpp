// SPDX-License-Identifier: MIT
//
// Builds the phases of the schedule of a backward pass.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/gradient/gradient.hpp"
#include "schedule/kernel_parameters.hpp"

namespace vkf {

class GradientBuilder {
public:
    GradientBuilder(const TunedDevice& device, const CheckedGradient& gradient, GradientSchedule* schedule)
        : device_(device), gradient_(gradient), schedule_(schedule) {}

    const TunedDevice& device() const { return device_; }
    const Caps& caps() const { return device_.caps; }
    const CheckedGradient& gradient() const { return gradient_; }
    const CheckedProblem& forward() const { return gradient_.forward; }
    GradientSchedule& schedule() { return *schedule_; }
    Phase& lastPhase() { return schedule_->phases.back(); }

    // Query heads of all sequences.
    uint64_t heads() const { return uint64_t{tensorSequences(forward().given)} * forward().given.queryHeads; }
    bool needsStorage16() const;

    // A tensor of a phase. `layout` is null for memory without strides.
    struct Tensor {
        Operand operand;
        const VkfTensorLayout* layout;
        const char* name; // in messages
    };

    // Adds a kernel over `items` work items of at most `operations` each.
    VkfResult add(Kernel kernel, const Constants& ofTile, const std::array<Tensor, 4>& tensors, uint64_t items,
                  double operations, VkfMessage* message);

    // Adds the kernel that recomputes scores. Grows the numbers of the tile that vkfGetBackwardInfo shows.
    VkfResult addPairs(const GradientTile& tile, uint64_t items, double operations, VkfMessage* message);
    VkfResult addPairs(const GradientMatrixTile& tile, uint64_t items, double operations, VkfMessage* message);

    // Adds the kernel that makes dq, dk or dv from stored p and ds.
    VkfResult addSums(const GradientSumTile& tile, bool writesDv, uint64_t items, double operations,
                      VkfMessage* message);

    // The phases that follow are on cooperative matrices, if their kernels are.
    void setMatrices(const MatrixLayout& layout);

    // Reserves the state of so many rows in the scratch memory.
    void reserveState(uint64_t rows);
    // Lets the last phase, which writes a gradient, run beside the gradients before it.
    void joinGradients();
    // Adds the phases that run before all others, and reserves scratch memory for them. Removes all phases if none
    // writes a gradient.
    void finish();

private:
    std::array<Tensor, 4> pairTensors() const;
    template <KernelTile Tile> void showTile(const Tile& tile);
    template <KernelTile Tile> void setWholeWords(const Tile& tile, Constants* constants);
    template <KernelTile Tile>
    VkfResult addPairs(Kernel kernel, const Tile& tile, Constants constants, uint64_t items, double operations,
                       VkfMessage* message);
    void addList(TileSequences* tileSequences, Operand starts);

    TunedDevice device_;
    const CheckedGradient& gradient_;
    GradientSchedule* schedule_;
    bool hasGradient_ = false;
};

} // namespace vkf

// SPDX-License-Identifier: MIT
//
// Builds the phases of a schedule from what those of every path have in common.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "problem/strides.hpp"
#include "schedule/kernel_parameters.hpp"
#include "schedule/schedule.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {

class ScheduleBuilder {
public:
    ScheduleBuilder(const Caps& caps, const CheckedProblem& problem, Schedule* schedule)
        : caps_(caps), problem_(problem), schedule_(schedule) {}

    // Sets the tile of the path and of its phases from here on. `splits` is for the tile's text alone (setSplits).
    template <KernelTile Tile> void setTile(const Tile& tile, uint32_t splits, bool tuned = false) {
        schedule_->tile = {tile.rows(), tile.keys(), tile.workgroupSize(), tile.sharedBytes()};
        schedule_->tileText = tile.text(splits);
        schedule_->tuned = tuned;
        tileConstants_ = tileConstants(tile);
    }
    // Adds the numbers of a phase's own tile to the text.
    void addToTileText(std::string_view text) { schedule_->tileText += text; }
    ConsideredTiles* considered() { return &schedule_->considered; }
    VkfPath path() const { return schedule_->path; }
    const TileShape& tile() const { return schedule_->tile; }

    // Adds a kernel over `items` work items of at most `operations` each.
    VkfResult add(Kernel kernel, const std::array<Operand, 4>& operands, uint64_t items, double operations,
                  VkfMessage* message);

    // How Operand::scratch is laid out.
    void setScratch(const VkfTensorLayout& layout);
    // m and l of each row, `parts` times, behind the rest of the scratch.
    void addScratchState(uint32_t parts);
    // lse behind the rest of the scratch, for probabilities where the caller wants no lse.
    void addScratchLse();
    // Sets the tile of the phases from here on, and leaves the tile of the path as it is.
    template <KernelTile Tile> void setPhaseTile(const Tile& tile) { tileConstants_ = tileConstants(tile); }
    void setSplits(uint32_t splits) { schedule_->splits = splits; }
    // Products of 16-bit types: p is of their type too.
    void setMatrices(const MatrixLayout& layout);
    // Whether rows of q, k and v are loaded in whole words, or element by element.
    void setWholeWords(bool wholeWords);
    // Whether rows of o leave in them.
    void setOutputWords(bool words) { tileConstants_[VKF_ID_OUTPUT_WORDS] = words ? 1 : 0; }
    // From here on a row tile is one of the packed rows of so many query heads of a KV head.
    void packHeads(uint32_t heads) { tileConstants_[VKF_ID_PACKED_HEADS] = heads; }
    Phase& lastPhase() { return schedule_->phases.back(); }
    // Has the phase that finishes rows write lse.
    void writeLse(Operand lse);
    uint32_t tileConstant(size_t id) const { return tileConstants_[id]; }

    bool needsStorage16() const;
    // Of all heads. Packed sequences have a slot for each, and more.
    uint64_t rowTiles() const;
    uint64_t heads() const { return uint64_t{tensorSequences(problem_.given)} * problem_.given.queryHeads; }

private:
    double stepOperations(Kernel kernel) const;
    // The problem's tensor behind an operand; null for none and scratch.
    const VkfTensorLayout* tensorOf(Operand operand) const;
    ByteStrides operandStrides(Operand operand) const;

    const Caps& caps_;
    const CheckedProblem& problem_;
    Schedule* schedule_;
    Constants tileConstants_{};
    VkfTensorLayout scratch_{};
};

} // namespace vkf

// SPDX-License-Identifier: MIT
//
// Builds the phases of a schedule. It does what the paths have in common.
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

    // Sets the tile of the path, and of the phases that follow. `splits` only enters the text of the tile; setSplits
    // sets the number of splits.
    template <KernelTile Tile> void setTile(const Tile& tile, uint32_t splits, bool tuned = false) {
        schedule_->tile = {tile.rows(), tile.keys(), tile.workgroupSize(), tile.sharedBytes()};
        schedule_->tileText = tile.text(splits);
        schedule_->tuned = tuned;
        tileConstants_ = tileConstants(tile);
    }
    // Adds the numbers of one phase's tile to the text of the tile.
    void addToTileText(std::string_view text) { schedule_->tileText += text; }
    ConsideredTiles* considered() { return &schedule_->considered; }
    VkfPath path() const { return schedule_->path; }
    const TileShape& tile() const { return schedule_->tile; }

    // Adds a kernel over `items` work items of at most `operations` each.
    VkfResult add(Kernel kernel, const std::array<Operand, 4>& operands, uint64_t items, double operations,
                  VkfMessage* message);

    // Sets the layout of Operand::scratch, with which the scratch memory begins.
    void setScratch(const VkfTensorLayout& layout);
    // Reserves (m, l) of each row and key split at the end of the scratch memory.
    void addScratchState(uint32_t keySplits);
    // Reserves lse at the end of the scratch memory. Probabilities need it if the caller wants no lse.
    void addScratchLse();
    // Sets the tile of the phases that follow, and leaves the tile of the path as it is.
    template <KernelTile Tile> void setPhaseTile(const Tile& tile) { tileConstants_ = tileConstants(tile); }
    void setSplits(uint32_t splits) { schedule_->splits = splits; }
    // Sets the cooperative matrices of the phases that follow. Their 16-bit type is matrixType, and p has it too.
    void setMatrices(const MatrixLayout& layout);
    // Sets the cooperative matrices of the phases that follow, which hold parts of fp32 numbers.
    void setBf16x3Matrices(const MatrixLayout& layout);
    // Sets whether the kernels load rows of q, k and v in whole words, or element by element.
    void setWholeWords(bool wholeWords);
    // Sets whether the kernels store rows of o in whole words.
    void setOutputWords(bool words) { tileConstants_[VKF_ID_OUTPUT_WORDS] = words ? 1 : 0; }
    // Makes the attention kernel read converted k and v with these layouts.
    void setDequantizedKeys(const VkfTensorLayout& k, const VkfTensorLayout& v) {
        schedule_->dequantizedKeys.k = k;
        schedule_->dequantizedKeys.v = v;
    }
    // The operands that the attention kernel reads as q, k and v, and `output`.
    std::array<Operand, 4> attentionOperands(Operand output) const;
    // Sets the tile for rows whose bias is a mask.
    void setBiasMaskTile(const BiasMaskTile& masked) { schedule_->biasMaskTile = masked; }
    // In the phases that follow, a row tile holds packed rows of so many query heads of one KV head.
    void packHeads(uint32_t heads) { tileConstants_[VKF_ID_PACKED_HEADS] = heads; }
    Phase& lastPhase() { return schedule_->phases.back(); }
    // Makes the phases that finish rows write lse.
    void writeLse(Operand lse);
    uint32_t tileConstant(size_t id) const { return tileConstants_[id]; }

    // Row tiles of all heads. For packed sequences it is the number of tiles that they may have, which can be higher.
    uint64_t rowTiles() const;
    uint64_t heads() const { return uint64_t{tensorSequences(problem_.given)} * problem_.given.queryHeads; }

private:
    double stepOperations(Kernel kernel) const;
    void setLayout(const MatrixLayout& layout, VkfType type);
    bool dequantizesKeys() const { return schedule_->dequantizedKeys.k.elements != 0; }
    // The tensor that an operand stands for. Null for operands that are not q, k, v, o, or converted k and v.
    const VkfTensorLayout* tensorOf(Operand operand) const;
    ByteStrides operandStrides(Operand operand) const;

    const Caps& caps_;
    const CheckedProblem& problem_;
    Schedule* schedule_;
    VkfType matrices_ = VKF_TYPE_F32; // the 16-bit type of cooperative matrices; f32 = none
    Constants tileConstants_{};
    VkfTensorLayout scratch_{};
};

} // namespace vkf

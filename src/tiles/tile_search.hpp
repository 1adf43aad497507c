// SPDX-License-Identifier: MIT
//
// How a tile is chosen from a list, and what is remembered of it: every path's choice goes through here, so that
// what is told about it (vkfGetPlanTile) is what happened.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <vkflash/vkflash.h>

namespace vkf {

struct Objection {
    VkfTileReason reason = VKF_TILE_SUITS;
    uint64_t value = 0;
    uint64_t limit = 0;

    // This one, or the other if there is none.
    Objection orElse(const Objection& other) const { return reason != VKF_TILE_SUITS ? *this : other; }
};

// The first that applies.
inline Objection firstObjection(std::initializer_list<std::pair<bool, Objection>> objections) {
    for (const auto& [applies, objection] : objections) {
        if (applies) {
            return objection;
        }
    }
    return {};
}

struct ConsideredTile {
    std::string tile; // as tuning data writes it, or would
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t sharedBytes = 0;
    uint32_t registers = 0;
    uint32_t splits = 1;
    uint64_t workgroups = 0; // of all splits
    Objection objection;
    bool fromTuning = false;
    bool taken = false;

    // An entry of tuning data is taken for what it is or not at all.
    bool usable() const {
        return objection.reason == VKF_TILE_SUITS || (!fromTuning && objection.reason >= VKF_TILE_REGISTERS);
    }
};

using ConsideredTiles = std::vector<ConsideredTile>;

// Takes the first tile that suits, else the last that can be used.
template <typename Choice> class TileSearch {
public:
    void consider(const Choice& choice, ConsideredTile tile) {
        if (settled_) {
            tile.objection = {VKF_TILE_NOT_NEEDED, 0, 0};
        } else if (tile.usable()) {
            choice_ = choice;
            taken_ = considered_.size();
            settled_ = tile.objection.reason == VKF_TILE_SUITS;
        }
        considered_.push_back(tile);
    }

    // Whether a tile suits, and the rest will not be looked at.
    bool settled() const { return settled_; }

    // Whether a tile that can be used was among those so far.
    bool found() const { return taken_ < considered_.size(); }

    // The tile taken, or a default one if none can be used. Hands over what was considered, unless null.
    Choice finish(ConsideredTiles* considered) {
        if (found()) {
            considered_[taken_].taken = true;
        }
        if (considered != nullptr) {
            *considered = std::move(considered_);
        }
        return choice_;
    }

private:
    Choice choice_{};
    ConsideredTiles considered_;
    size_t taken_ = SIZE_MAX;
    bool settled_ = false;
};

} // namespace vkf

// SPDX-License-Identifier: MIT
//
// How a tile is chosen from a list, and what a plan remembers of the choice. The choices of all paths go through this
// file, so that the explanation of a plan (vkfGetPlanTile) is what happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tiles/kernel_tile.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

struct ConsideredTile {
    std::string tile; // KernelTile's text
    uint32_t rows = 0;
    uint32_t keys = 0;
    uint32_t workgroupSize = 0;
    uint32_t sharedBytes = 0;
    uint32_t registers = 0;
    uint32_t splits = 1;
    uint64_t workgroups = 0; // of all splits
    Rejection rejection;
    bool fromTuning = false;
    bool taken = false;

    // A tile that suits can be used. A built-in tile with a weak rejection can be used too: the device can run it. A
    // tile of tuning data cannot, because the built-in choice is better then.
    bool usable() const {
        return rejection.reason == VKF_TILE_SUITS || (!fromTuning && rejection.reason >= VKF_TILE_REGISTERS);
    }
};

using ConsideredTiles = std::vector<ConsideredTile>;

// Takes the first tile that suits. Where none suits, it takes the last tile that can be used and does not spill. Where
// all of them spill, it takes the first of them. Choice is a TilePlan, or a variant of several.
template <typename Choice> class TileSearch {
public:
    // `workgroups` counts those of one split.
    template <KernelTile Tile>
    void consider(const TilePlan<Tile>& plan, uint64_t workgroups, const Rejection& rejection) {
        const Tile& tile = plan.tile;
        ConsideredTile one = {tile.text(plan.splits),
                              tile.rows(),
                              tile.keys(),
                              tile.workgroupSize(),
                              tile.sharedBytes(),
                              tile.registers(),
                              plan.splits,
                              workgroups * plan.splits,
                              rejection,
                              plan.tuned};
        if (settled_) {
            one.rejection = {VKF_TILE_NOT_NEEDED, 0, 0};
        } else if (one.usable() && !(spills(one) && found())) {
            choice_ = plan;
            taken_ = considered_.size();
            settled_ = rejection.reason == VKF_TILE_SUITS;
        }
        considered_.push_back(std::move(one));
    }

    // A tile suits, so that no later tile is taken.
    bool settled() const { return settled_; }

    // One of the tiles so far can be used.
    bool found() const { return taken_ < considered_.size(); }

    // Returns the tile taken, or a default choice if no tile can be used. Moves the list to *considered, unless null.
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
    static bool spills(const ConsideredTile& tile) { return tile.rejection.reason == VKF_TILE_SPILLS; }

    Choice choice_{};
    ConsideredTiles considered_;
    size_t taken_ = SIZE_MAX;
    bool settled_ = false;
};

// Whether an entry of tuning data is for a kernel of the problem.
bool isAbout(const TuningEntry& entry, TunedKernel kernel, const TileProblem& problem);

// Considers the tiles of tuning data for the problem, in the order of the entries. planOf makes a TilePlan of an entry,
// rejectionOf says what the path itself has against a tile. A tile of tuning data never makes a result wrong or a
// problem unsupported, because a tile that does not fit is passed over.
template <typename Choice, typename PlanOf, typename RejectionOf>
void considerTuned(const TunedDevice& device, const TileProblem& problem, const PlanOf& planOf,
                   const RejectionOf& rejectionOf, TileSearch<Choice>& search) {
    for (const TuningEntry& entry : device.tuning) {
        if (!isAbout(entry, TunedKernel::attention, problem)) {
            continue;
        }
        auto plan = planOf(entry);
        plan.tuned = true;
        const auto& tile = plan.tile;
        search.consider(plan, problem.workgroups(tile.rows()),
                        firstOf({
                            exceedsDevice(tile, device.caps),
                            rejectionOf(tile),
                            tooManyPartialResults(problem, plan.splits, device.caps),
                            spansBlocks(problem, tile.rows(), tile.keys()),
                        }));
    }
}

} // namespace vkf

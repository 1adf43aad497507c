// SPDX-License-Identifier: MIT
//
// The decisions of the paths, one function each. Each fills in the tile, its kernels and how they load rows, and fails
// with a message where the device cannot run the path.
#pragma once

#include <cstdint>
#include <optional>

#include "planning/decision.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/wgmma_tile.hpp"

namespace vkf {

// The tile of path coopmat, with the problem that its attention kernel computes.
struct CoopmatChoice {
    CheckedProblem problem; // k and v converted, if a phase before attention converts them
    bool dequantizesKeys = false;
    CoopmatPlan plan;
    ConsideredTiles considered;
};
CoopmatChoice chooseCoopmat(const TunedDevice& device, const CheckedProblem& problem);

// The tile of path wgmma, or why the device cannot do the problem there.
struct WgmmaChoice {
    CheckedProblem problem; // k and v converted, if a phase before attention converts them
    bool dequantizesKeys = false;
    const char* whyNot = nullptr; // null = it can
    WgmmaPlan plan;
    TileProblem tiled{}; // of which the plan was made
    ConsideredTiles considered;
};
// Why the device cannot do the problem on path wgmma, whatever the tile, or null.
const char* whyNotWgmma(const TunedDevice& device, const CheckedProblem& problem);
WgmmaChoice chooseWgmma(const TunedDevice& device, const CheckedProblem& problem);

// The path that a problem asks for, or VKF_PATH_AUTO takes. `coopmat` and `wgmma` are what AUTO found on the way, if it
// takes it.
struct PathChoice {
    VkfPath path{};
    std::optional<CoopmatChoice> coopmat{};
    std::optional<WgmmaChoice> wgmma{};
    PathDecisions decisions{};
};
PathChoice choosePath(const TunedDevice& device, const CheckedProblem& problem);

VkfResult decideScalar(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                       VkfMessage* message);
VkfResult decideKeyOuter(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                         VkfMessage* message);
VkfResult decideStandard(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                         VkfMessage* message);
VkfResult decideDecode(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                       VkfMessage* message);
VkfResult decideCoopmat(const TunedDevice& device, const CheckedProblem& problem, const CoopmatChoice& chosen,
                        Decision* decision, VkfMessage* message);

VkfResult decideWgmma(const CheckedProblem& problem, const WgmmaChoice& chosen, Decision* decision,
                      VkfMessage* message);

// The tile of the kernels of plain arithmetic, which paths scalar, key_outer and standard have.
VkfResult decideScalarTile(const TunedDevice& device, const CheckedProblem& problem, ScalarPlan* plan,
                           Decision* decision, VkfMessage* message);

// ---- What several paths share ----------------------------------------------------------------------------------

// Sets the tile of the path. `splits` only enters the text of the tile.
template <KernelTile Tile> void setTile(const Tile& tile, uint32_t splits, bool tuned, Decision* decision) {
    decision->tile = {tile.rows(), tile.keys(), tile.workgroupSize(), tile.sharedBytes()};
    decision->tileText = tile.text(splits);
    decision->tuned = tuned;
}

// Sets the cooperative matrices. Their 16-bit type is `elements`.
void setMatrices(const Caps& caps, const MatrixLayout& layout, VkfType elements, Decision* decision);
// Sets the matrices of a kernel whose products, and p, have the type of the matrices.
void setProductMatrices(const Caps& caps, const CheckedProblem& problem, const MatrixLayout& layout,
                        Decision* decision);

// Returns the key splits of a problem on a tile: those that the problem asks for, or else `chosen`.
uint32_t splitsOf(const CheckedProblem& problem, const TileShape& tile, uint32_t chosen);

// Sets the tile, and the key splits unless the output is empty. `chosen` are the splits that the library would take.
template <KernelTile Tile>
void setTileAndSplits(const CheckedProblem& problem, const Tile& tile, uint32_t chosen, bool tuned,
                      Decision* decision) {
    const TileShape shape = {tile.rows(), tile.keys(), tile.workgroupSize(), tile.sharedBytes()};
    const uint32_t splits = splitsOf(problem, shape, chosen);
    setTile(tile, splits, tuned, decision);
    decision->splits = problem.empty ? 1 : splits;
}

// Sets whether the kernels load rows of q, k and v in whole words, or element by element.
void setWholeWords(bool wholeWords, Decision* decision);

} // namespace vkf

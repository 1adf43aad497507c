// SPDX-License-Identifier: MIT
//
// The text of tuning files: the tiles that `vkflash tune` tries, and the entries that it writes. The library reads
// them, ignores tiles that do not fit a device, and describes them in src/tiles/tuning_file.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vkflash/host.hpp"
#include "vkflash/vkflash.h"

namespace vkf::tools {

// A tile as an entry says it.
struct KernelTileText {
    const char* kernel; // of the backward pass: dq, dk, dv or dk-dv; "" for the forward pass
    std::string tile;
};

// Problems that share one choice of tiles. They have equal types, dimensions and kind of mask. Their rows, keys and
// heads are within a factor of the square root of two of the measured ones.
class ProblemClass {
public:
    ProblemClass(const VkfProblem& measured, VkfPath path);

    // The class that holds only the measured size.
    ProblemClass narrowed() const;
    // The smallest and the largest problem of the class.
    std::vector<VkfProblem> corners() const;
    // The line that gives the class a tile, with a remark for people.
    std::string entry(const KernelTileText& tile, const std::string& remark = {}) const;

private:
    struct Range {
        uint32_t least;
        uint32_t most;
    };
    static Range around(uint32_t number);
    VkfProblem corner(uint32_t Range::*end) const;

    VkfProblem measured_;
    VkfPath path_;
    Range rows_, keys_, heads_;
};

// The line that holds an element layout.
std::string matrixLine(const VkfMatrixLayout& layout);

// The text of a file: version and device, then the entries and other lines.
std::string tuningText(const host::DeviceSummary& device, const std::vector<std::string>& entries);

// ---- Candidates --------------------------------------------------------------------------------------

// Tiles for a problem that the library by itself would run as `builtIn`. Each tile occurs without key splits and, if
// `builtIn` splits the keys, with its number of splits.
std::vector<std::string> candidateTiles(const VkfProblem& problem, const VkfPlanInfo& builtIn);

// The tile of a plan with other numbers of splits, if these can help. Empty on a path without splits.
std::vector<std::string> otherSplits(const VkfProblem& problem, const VkfPlanInfo& plan);

// Tiles of path coopmat for the kernels that write these gradients: VKF_GRADIENT_Q, or k and v together. Each is what
// one or two entries say, because dk and dv may come from one kernel or from two.
std::vector<std::vector<KernelTileText>> backwardCandidates(const VkfProblem& problem, VkfGradients gradients);

} // namespace vkf::tools

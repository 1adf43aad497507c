// SPDX-License-Identifier: MIT
//
// Looks for tiles that run a call, and calls like it, faster than the library's own choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vkflash/host.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

struct TunerOptions {
    // Wall time of runs before each comparison, because clocks rise slowly.
    double warmSeconds = 0.05;
    double seconds = 0.15; // wall time of each comparison
    size_t maxRuns = 21;   // runs of each tile in a comparison
    // Share by which a tile must be faster to be taken. The tuner measures it twice.
    double margin = 0.03;
    uint32_t sampleRows = 4; // number of rows of each head to check
};

// The library's own choice, and the best other tile.
struct TuneResult {
    VkfProblem problem{}; // of the forward pass
    VkfPath path = VKF_PATH_AUTO;
    // The best candidate, or the built-in choice if there is no candidate. For people: "128x64/256 x2" is rows x keys /
    // invocations x splits; the backward pass has tiles as in tuning data.
    std::string builtInTile, bestTile;
    double builtInSeconds = 0;
    double bestSeconds = 0;
    bool taken = false; // the best is faster by the margin
    // The best is also not slower for the class of similar problems. The entries then cover the class.
    bool alike = false;
    // Lines for a tuning file. Empty if the built-in choice stays.
    std::vector<std::string> entries;

    double ratio() const { return builtInSeconds / bestSeconds; }
};

class TunedPass;

class Tuner {
public:
    // Calls afterRun after each of many runs. The device must outlive the tuner.
    Tuner(host::Device& device, const TunerOptions& options, std::function<void()> afterRun);
    ~Tuner();
    Tuner(const Tuner&) = delete;
    Tuner& operator=(const Tuner&) = delete;

    // Throws what planning and running throw. Checks the results of the built-in tile and of a tile that would be
    // taken, and throws ProgramError if one is wrong.
    // `gradients` = 0: the forward pass. VKF_GRADIENT_Q: the kernel of dq. VKF_GRADIENT_K and VKF_GRADIENT_V: the
    // kernels of dk and dv. Throws host::Error too if the path has no tuning data.
    TuneResult tune(const VkfProblem& problem, VkfGradients gradients);

private:
    std::unique_ptr<TunedPass> forward_, backward_;
};

} // namespace vkf::tools

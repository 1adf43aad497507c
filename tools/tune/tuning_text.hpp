// SPDX-License-Identifier: MIT
//
// Writes tuning files. The library reads them; src/tiles/tuning_file.hpp describes them.
#ifndef VKFLASH_TOOLS_TUNING_TEXT_HPP
#define VKFLASH_TOOLS_TUNING_TEXT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

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
    std::string entry(const std::string& tile, const std::string& remark = {}) const;
    // The line that gives a kernel of the backward pass a tile. The kernel is dq, dk, dv or dk-dv.
    std::string gradientEntry(const std::string& kernel, const std::string& tile, const std::string& remark = {}) const;

private:
    struct Range {
        uint32_t least;
        uint32_t most;
    };
    static Range around(uint32_t number);
    std::string line(const std::string& firstWord, const std::string& tile, const std::string& remark) const;
    VkfProblem corner(uint32_t Range::*end) const;

    VkfProblem measured_;
    VkfPath path_;
    Range rows_, keys_, heads_;
};

// The line that holds an element layout.
std::string matrixLine(const VkfMatrixLayout& layout);

// The text of a file: version and device, then the entries and other lines.
std::string tuningText(const host::DeviceSummary& device, const std::vector<std::string>& entries);

} // namespace vkf::tools

#endif

// SPDX-License-Identifier: MIT
//
// Tuning files, written. The library reads them; src/tiles/tuning_file.hpp describes them.
#ifndef VKFLASH_TOOLS_TUNING_TEXT_HPP
#define VKFLASH_TOOLS_TUNING_TEXT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Problems that count as one when tiles are chosen: of the same types, dimensions and kind of mask, rows, keys and
// heads within a factor of the square root of two of those that were measured.
class ProblemClass {
public:
    ProblemClass(const VkfProblem& measured, VkfPath path);

    // The problems of the very size that was measured.
    ProblemClass narrowed() const;
    // Its smallest and its largest problem.
    std::vector<VkfProblem> corners() const;
    // A line that gives the class a tile, with a remark for people.
    std::string entry(const std::string& tile, const std::string& remark = {}) const;

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

// A file's text: what it is and for which device, then the entries.
std::string tuningText(const host::DeviceSummary& device, const std::vector<std::string>& entries);

} // namespace vkf::tools

#endif

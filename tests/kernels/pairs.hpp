// SPDX-License-Identifier: MIT
//
// Calls that show each pair of features together, few enough to run all of them on every path.
//
// A feature is what a caller may ask for, with some levels: "mask" has none, bytes and bits. Level 0 is the plain one.
// A design is a list of calls for one path: for every two levels of two features that the library takes together on
// that path, some call has both. Whole sweeps run all of them, other runs as few as show every level, and every
// two features together that are not plain. A new optional input gets a row in the table of features (pairs.cpp), and
// every design then has it together with everything else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/caps.hpp"
#include "schedule/schedule.hpp"
#include "support/call.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// The level of each feature, by number.
using Levels = std::vector<size_t>;

struct PairedCall {
    VkfProblem problem{};
    Data data;
};

// One path, and the variations that share its calls. Whole sweeps run every call on every one of them. Otherwise each
// call runs on one of them.
struct Design {
    const char* name;
    std::vector<size_t> variations; // by number
    bool onMatrices = false;        // fp16 and bf16 alone
};
const std::vector<Design>& designs();

size_t featureCount();
size_t levelCount(size_t feature);
std::string featureName(size_t feature);
// Of a feature on the design's path; the first levels.
size_t levelsOn(const Design& design, size_t feature);
// "mask: bits"
std::string levelName(size_t feature, size_t level);

// A device that is described, with everything that a path may need, as the variation makes the library see it.
Caps capsFor(const Variation& variation);

PairedCall callOf(const Design& design, const Levels& levels);
// Whether the library plans the call on the first variation of the design. *schedule may be null.
bool isPlanned(const Design& design, const Levels& levels, Schedule* schedule = nullptr);
// Whether the library takes the two levels together, everything else being plain.
bool goTogether(const Design& design, size_t feature, size_t level, size_t otherFeature, size_t otherLevel);

// callsOf has a call for every two levels of two features. fewCallsOf begins with plain calls; after them come as few
// of callsOf's as have every level, and every two features that are not plain. Both lists are equal in every run.
std::vector<Levels> callsOf(const Design& design);
std::vector<Levels> fewCallsOf(const Design& design);

} // namespace vkf::test

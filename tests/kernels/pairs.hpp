// SPDX-License-Identifier: MIT
//
// Calls that cover each pair of features. They are few enough to run all of them on every path.
//
// A feature is something that a caller may ask for, with some levels. For example, "mask" has the levels none, bytes
// and bits. Level 0 is the plain one.
// A design is a list of calls for one path. For every two levels of two features that the library supports together on
// that path, some call has both.
// Whole sweeps run all calls. Other runs take as few as cover every level, and every two features that are not plain.
// A new optional input gets a row in the table of features (pairs.cpp). Every design then combines it with every other
// feature.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/caps.hpp"
#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// The level of each feature, by the number of the feature.
using Levels = std::vector<size_t>;

struct PairedCall {
    VkfProblem problem{};
    Data data;
};

// One path, with the variations that share its calls. Whole sweeps run every call on every variation. Other runs use
// one variation for each call.
struct Design {
    const char* name;
    std::vector<size_t> variations; // numbers of variations
    size_t callsOfSecond = 0; // n > 0: the second variation gets every n-th call only, because it compiles for long
    bool onMatrices = false;  // only fp16 and bf16, and an fp32 q beside them
    bool wholeWords = false;  // head dimensions and strides are whole words
    bool bf16x3 = false;      // only fp32 q, k and v
};
const std::vector<Design>& designs();

// The variation, by its place in the design, on which a call runs without whole sweeps.
size_t variationOf(const Design& design, size_t call);

size_t featureCount();
size_t levelCount(size_t feature);
std::string featureName(size_t feature);
// Number of levels of a feature on the design's path. The levels are the first ones of the feature.
size_t levelsOn(const Design& design, size_t feature);
// "mask: bits"
std::string levelName(size_t feature, size_t level);

// A described device with everything that a path may need, as the library sees it on the variation.
Caps capsFor(const Variation& variation);

PairedCall callOf(const Design& design, const Levels& levels);
// True if the library plans the call on the first variation of the design. *plan may be null.
bool isPlanned(const Design& design, const Levels& levels, AttentionPlan* plan = nullptr);
// True if the library supports the two levels together with all other features plain.
bool goTogether(const Design& design, size_t feature, size_t level, size_t otherFeature, size_t otherLevel);

// callsOf has a call for every two levels of two features. fewCallsOf begins with plain calls. After them come as few
// calls of callsOf as have every level, and every two features that are not plain. Both lists are equal in every run.
std::vector<Levels> callsOf(const Design& design);
std::vector<Levels> fewCallsOf(const Design& design);

} // namespace vkf::test

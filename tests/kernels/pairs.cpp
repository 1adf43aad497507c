// SPDX-License-Identifier: MIT
#include "kernels/pairs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "problem/problem.hpp"
#include "support/described_device.hpp"
#include "support/dice.hpp"
#include "support/lists/chosen_keys.hpp"
#include "support/masks.hpp"

namespace vkf::test {
namespace {

struct Level {
    const char* name;
    void (*apply)(PairedCall& call);
};

struct Feature {
    const char* name;
    std::vector<Level> levels;
};

void nothing(PairedCall& /*call*/) {}

void setHeads(VkfProblem& p, uint32_t queryHeads, uint32_t kvHeads) {
    p.queryHeads = queryHeads;
    p.kvHeads = kvHeads;
}

void setDims(VkfProblem& p, uint32_t headDim, uint32_t valueDim) {
    p.headDim = headDim;
    p.valueDim = valueDim;
}

void setTypes(VkfProblem& p, VkfType q, VkfType k, VkfType v) {
    p.q.type = p.o.type = q;
    p.k.type = k;
    p.v.type = v;
}

void setBlockTypes(VkfProblem& p, VkfType k, VkfType v) {
    p.k.type = k;
    p.v.type = v;
}

// Sequences without rows, without keys, and with fewer keys than rows.
void packSequences(PairedCall& call) {
    if (call.problem.queryRows < 16) {
        setPacked(call.problem, call.data, {1, 0, 3, 2, 1}, {100, 7, 0, 190, 65});
    } else {
        setPacked(call.problem, call.data, {0, 65, 1, 0, 30, 16}, {3, 90, 1, 12, 131, 0});
    }
    if (has(call.problem, VKF_USE_BLOCK_TABLE)) {
        setPages(call.problem, call.problem.paging.pageSize, 3); // of more sequences than before
    }
}

void rowsOutside(VkfTensor& tensor, uint64_t rows, uint64_t heads, uint64_t dim, uint64_t gap) {
    tensor.headStride = dim + gap;
    tensor.rowStride = heads * (dim + gap) + gap;
    tensor.batchStride = rows * tensor.rowStride + gap;
}

// [batch, rows, heads, dim] with a gap after each row of each head. For block types a gap consists of whole blocks.
void scatter(PairedCall& call) {
    VkfProblem& p = call.problem;
    const uint32_t rows = has(p, VKF_USE_BLOCK_TABLE) ? p.paging.pageSize : p.keys;
    const auto gapOf = [](VkfType type, uint64_t gap) { return gap * vkfBlockElements(type); };
    rowsOutside(p.q, p.queryRows, p.queryHeads, p.headDim, 3);
    rowsOutside(p.k, rows, p.kvHeads, p.headDim, gapOf(p.k.type, 1));
    rowsOutside(p.v, rows, p.kvHeads, p.valueDim, gapOf(p.v.type, 2));
    rowsOutside(p.o, p.queryRows, p.queryHeads, p.valueDim, 7);
    call.data.oOffset = 1;
}

void setKeyLengths(PairedCall& call) {
    enable(call.problem, VKF_USE_KEY_LENGTHS);
    Dice dice(call.problem.batch);
    for (uint32_t b = 0; b < call.problem.batch; b++) { // around the number of keys, and below zero
        call.data.keyLengths.push_back(b == 2 ? -7 : static_cast<int32_t>(dice.below(call.problem.keys + 20)));
    }
}

// One sequence before all keys, one far behind them.
void setPositions(PairedCall& call) {
    call.problem.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    call.problem.use |= VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS;
    call.problem.positions = {0, 3, 0, 2, {}};
    Dice dice(call.problem.batch);
    for (uint32_t b = 0; b < call.problem.batch; b++) {
        const int32_t near = static_cast<int32_t>(dice.below(2 * call.problem.keys)) - 40;
        call.data.rowOffsets.push_back(b == 1 ? -200 : b == 4 ? 100000 : near);
    }
}

// Rows of packed sequences count together.
void setLists(PairedCall& call, uint32_t count, ListShape shape) {
    shape.sequences = shape.sequences && !has(call.problem, VKF_USE_CU_SEQLENS);
    setChosenKeys(call.problem, count, shape);
}

void setFirstKeys(PairedCall& call) {
    if (!vkf::has(call.problem, VKF_USE_WINDOW)) {
        setWindow(call.problem, 20, -1);
    }
    call.problem.window.firstKeys = 11;
}

void setBiasFactors(PairedCall& call) {
    if (!has(call.problem, VKF_USE_BIAS)) {
        call.problem.bias = broadcast(call.problem, VKF_TYPE_F32, true, true, true, 1);
        enable(call.problem, VKF_USE_BIAS);
    }
    enable(call.problem, VKF_USE_BIAS_FACTORS);
}

// Arrays that differ by head or sequence repeat with 2 of them.
void repeatByModulo(PairedCall& call) {
    VkfProblem& p = call.problem;
    if (!has(p, VKF_USE_BIAS)) {
        p.bias = broadcast(p, VKF_TYPE_F16, true, true, true, 1);
        enable(p, VKF_USE_BIAS);
    }
    const auto repeat = [&](VkfUseBits array, VkfBroadcastArray& of) {
        if (has(p, array)) {
            of.heads = std::min(p.queryHeads, 2U);
            of.sequences = std::min(p.batch, 2U);
        }
    };
    repeat(VKF_USE_BIAS, p.bias);
    repeat(VKF_USE_MASK, p.mask);
    repeat(VKF_USE_DROPOUT_MASK, p.dropoutMask);
}

void setBlockMask(VkfProblem& p, uint32_t block) {
    p.blockMask.blockSize = block;
    enable(p, VKF_USE_BLOCK_MASK);
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(p);
    p.blockMask.headStride = uint64_t{layout.rowBlocks} * layout.rowWords;
}

void setDropout(VkfProblem& p, bool onDevice) {
    p.dropout.probability = 0.3F;
    p.dropout.seed = 0x1234567890123ULL;
    enable(p, VKF_USE_DROPOUT_SEED, onDevice);
}

// Some levels read what others set. They are applied in the order of this table.
const std::vector<Feature> table = {
    {"rows",
     {{"77 on 131 keys", nothing},
      {"3 on 203 keys",
       [](PairedCall& c) {
           c.problem.queryRows = 3;
           c.problem.keys = 203;
       }},
      {"1 on 97 keys",
       [](PairedCall& c) {
           c.problem.queryRows = 1;
           c.problem.keys = 97;
       }}}},
    {"heads",
     {{"2 on 2", nothing},
      {"6 on 2", [](PairedCall& c) { setHeads(c.problem, 6, 2); }},
      {"5 on 1", [](PairedCall& c) { setHeads(c.problem, 5, 1); }}}},
    {"head dimensions",
     {{"64", nothing},
      {"96 and 32", [](PairedCall& c) { setDims(c.problem, 96, 32); }},
      {"40 and 24", [](PairedCall& c) { setDims(c.problem, 40, 24); }},
      {"33 and 7", [](PairedCall& c) { setDims(c.problem, 33, 7); }}}},
    {"types",
     {{"f16", nothing},
      {"bf16", [](PairedCall& c) { setTypes(c.problem, VKF_TYPE_BF16, VKF_TYPE_BF16, VKF_TYPE_BF16); }},
      {"f32 beside f16", [](PairedCall& c) { setTypes(c.problem, VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_F16); }},
      {"f32 beside bf16", [](PairedCall& c) { setTypes(c.problem, VKF_TYPE_F32, VKF_TYPE_BF16, VKF_TYPE_BF16); }},
      {"f32", [](PairedCall& c) { setTypes(c.problem, VKF_TYPE_F32, VKF_TYPE_F32, VKF_TYPE_F32); }},
      {"f32, f16 and bf16", [](PairedCall& c) { setTypes(c.problem, VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16); }}}},
    {"o",
     {{"of the type of q", nothing},
      {"in f32", [](PairedCall& c) { c.problem.o.type = VKF_TYPE_F32; }},
      {"in bf16", [](PairedCall& c) { c.problem.o.type = VKF_TYPE_BF16; }}}},
    {"k and v",
     {{"of no block type", nothing},
      {"q8_0 and q4_0", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_Q8_0, VKF_TYPE_Q4_0); }},
      {"q4_0 and q4_1", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_Q4_0, VKF_TYPE_Q4_1); }},
      {"q4_1 and q5_0", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0); }},
      {"q5_0 and q5_1", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1); }},
      {"q5_1 and iq4_nl", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL); }},
      {"iq4_nl and q8_0", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_IQ4_NL, VKF_TYPE_Q8_0); }},
      {"e4m3 and e5m2", [](PairedCall& c) { setBlockTypes(c.problem, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2); }},
      {"scaled e5m2 and e4m3",
       [](PairedCall& c) {
           setBlockTypes(c.problem, VKF_TYPE_F8_E5M2, VKF_TYPE_F8_E4M3);
           setScales(c.problem, 1, c.problem.kvHeads);
       }}}},
    {"pages", {{"none", nothing}, {"of 20 rows", [](PairedCall& c) { setPages(c.problem, 20, 3); }}}},
    {"sequences", {{"of one length", nothing}, {"packed", packSequences}}},
    {"layout", {{"dense", nothing}, {"rows outside, with gaps", scatter}}},
    {"range of keys",
     {
         {"all", nothing},
         {"causal", [](PairedCall& c) { c.problem.use |= VKF_USE_CAUSAL; }},
         {"causal, top-left",
          [](PairedCall& c) {
              c.problem.use |= VKF_USE_CAUSAL;
              c.problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
          }},
         {"a window", [](PairedCall& c) { setWindow(c.problem, 30, 9); }},
         {"a window, top-left",
          [](PairedCall& c) {
              setWindow(c.problem, 17, -1);
              c.problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
          }},
     }},
    {"positions", {{"by the alignment", nothing}, {"of the call, offsets on the device", setPositions}}},
    {"first keys", {{"none", nothing}, {"some", setFirstKeys}}},
    {"key lengths", {{"none", nothing}, {"on the device", setKeyLengths}}},
    {"chosen keys",
     {{"none", nothing},
      {"lists of each row",
       [](PairedCall& c) {
           setLists(c, 90, {true, false, true});
       }},
      {"lists of each head, with more entries than keys",
       [](PairedCall& c) {
           setLists(c, 210, {false, true, false});
       }}}},
    {"documents", {{"none", nothing}, {"some", [](PairedCall& c) { enable(c.problem, VKF_USE_DOCUMENT_IDS); }}}},
    {"mask",
     {{"none", nothing},
      {"bytes",
       [](PairedCall& c) {
           c.problem.mask = broadcast(c.problem, VKF_TYPE_BOOL8, true, false, true, 3);
           enable(c.problem, VKF_USE_MASK);
       }},
      {"bits",
       [](PairedCall& c) {
           c.problem.mask = broadcast(c.problem, VKF_TYPE_BOOL1, false, true, true, 3);
           enable(c.problem, VKF_USE_MASK);
       }},
      {"bits of the last keys",
       [](PairedCall& c) {
           c.problem.mask = lastKeysMask(c.problem, VKF_TYPE_BOOL1, 75, true, false, true, 3);
           enable(c.problem, VKF_USE_MASK);
       }}}},
    {"block mask",
     {{"none", nothing},
      {"blocks of 16", [](PairedCall& c) { setBlockMask(c.problem, 16); }},
      {"blocks of 64", [](PairedCall& c) { setBlockMask(c.problem, 64); }}}},
    {"bias",
     {{"none", nothing},
      {"f32",
       [](PairedCall& c) {
           c.problem.bias = broadcast(c.problem, VKF_TYPE_F32, true, true, true, 1);
           enable(c.problem, VKF_USE_BIAS);
       }},
      {"f16",
       [](PairedCall& c) {
           c.problem.bias = broadcast(c.problem, VKF_TYPE_F16, false, true, true, 3);
           enable(c.problem, VKF_USE_BIAS);
       }},
      {"bf16",
       [](PairedCall& c) {
           c.problem.bias = broadcast(c.problem, VKF_TYPE_BF16, true, false, false);
           enable(c.problem, VKF_USE_BIAS);
       }},
      {"mostly 0 and -infinity, f16",
       [](PairedCall& c) {
           c.problem.bias = broadcast(c.problem, VKF_TYPE_F16, false, false, true, 5);
           c.data.biasSquare = 16;
           enable(c.problem, VKF_USE_BIAS);
       }}}},
    {"factors of the bias", {{"none", nothing}, {"some", setBiasFactors}}},
    {"ALiBi",
     {{"none", nothing},
      {"standard slopes", [](PairedCall& c) { c.problem.use |= VKF_USE_ALIBI; }},
      {"slopes of the caller",
       [](PairedCall& c) {
           c.problem.use |= VKF_USE_ALIBI;
           enable(c.problem, VKF_USE_ALIBI_SLOPES);
       }}}},
    {"softcap", {{"none", nothing}, {"some", [](PairedCall& c) { c.problem.softcap = 3.0F; }}}},
    {"scale", {{"default", nothing}, {"negative", [](PairedCall& c) { c.problem.scale = -0.3F; }}}},
    {"sinks", {{"none", nothing}, {"some", [](PairedCall& c) { enable(c.problem, VKF_USE_SINKS); }}}},
    {"dropout",
     {{"none", nothing},
      {"seed", [](PairedCall& c) { setDropout(c.problem, false); }},
      {"seed on the device", [](PairedCall& c) { setDropout(c.problem, true); }},
      {"mask of bytes",
       [](PairedCall& c) {
           c.problem.dropout.probability = 0.2F;
           c.problem.dropoutMask = broadcast(c.problem, VKF_TYPE_BOOL8, false, true, true, 1);
           enable(c.problem, VKF_USE_DROPOUT_MASK);
       }},
      {"mask of bits",
       [](PairedCall& c) {
           c.problem.dropoutMask = broadcast(c.problem, VKF_TYPE_BOOL1, true, true, true, 2);
           enable(c.problem, VKF_USE_DROPOUT_MASK);
       }}}},
    {"heads and sequences of biases and masks", {{"each its own", nothing}, {"repeated by modulo", repeatByModulo}}},
    {"probabilities",
     {{"none", nothing},
      {"of all rows", [](PairedCall& c) { enable(c.problem, VKF_USE_PROBABILITIES); }},
      {"of chosen rows",
       [](PairedCall& c) {
           enable(c.problem, VKF_USE_PROBABILITIES);
           c.problem.probabilityRowCount = 5;
           enable(c.problem, VKF_USE_PROBABILITY_ROWS);
       }}}},
    {"lse", {{"written", nothing}, {"left out", [](PairedCall& c) { enable(c.problem, VKF_USE_LSE, false); }}}},
    {"key splits",
     {{"of the library's choice", nothing},
      {"3", [](PairedCall& c) { c.problem.kvSplits = 3; }},
      {"40", [](PairedCall& c) { c.problem.kvSplits = 40; }},
      {"of 70 keys", [](PairedCall& c) { c.problem.splitKeys = 70; }}}},
    {"steps",
     {{"of the library's choice", nothing}, {"many", [](PairedCall& c) { c.problem.maxStepOperations = 100000; }}}},
};

constexpr size_t typesFeature = 3;
constexpr size_t blockTypesFeature = 5;
constexpr size_t matrixTypes = 4; // the first levels of the feature
constexpr size_t wordTypes = 2;   // of those, q has the type of k and v
constexpr size_t f32Types = 4;    // the level in which all tensors are fp32
constexpr size_t anyLevel = 100;  // any level but the plain one

struct Choice {
    size_t feature;
    size_t level;
    auto operator<=>(const Choice&) const = default;
};
using Pair = std::pair<Choice, Choice>;

Pair pairOf(Choice a, Choice b) { return a < b ? Pair{a, b} : Pair{b, a}; }

// Every pair of levels that the library supports together on a design's path.
std::set<Pair> pairsOf(const Design& design) {
    std::set<Pair> pairs;
    for (size_t a = 0; a < table.size(); a++) {
        for (size_t b = a + 1; b < table.size(); b++) {
            for (size_t i = 0; i < levelsOn(design, a); i++) {
                for (size_t j = 0; j < levelsOn(design, b); j++) {
                    if (goTogether(design, a, i, b, j)) {
                        pairs.insert({{a, i}, {b, j}});
                    }
                }
            }
        }
    }
    return pairs;
}

// Starts from one pair. Gives every other feature the level that adds the most new pairs.
Levels grow(const Design& design, const Pair& seed, const std::set<Pair>& allowed, const std::set<Pair>& missing) {
    Levels levels(table.size(), 0);
    std::vector<Choice> chosen = {seed.first, seed.second};
    for (size_t feature = 0; feature < table.size(); feature++) {
        if (feature == seed.first.feature || feature == seed.second.feature) {
            continue;
        }
        Choice best{feature, 0};
        size_t maxNew = 0;
        for (size_t level = 0; level < levelsOn(design, feature); level++) {
            const Choice candidate{feature, level};
            const auto isIn = [&](const std::set<Pair>& pairs) {
                return [&](const Choice& other) { return pairs.contains(pairOf(candidate, other)); };
            };
            if (std::all_of(chosen.begin(), chosen.end(), isIn(allowed))) {
                const auto fresh = static_cast<size_t>(std::count_if(chosen.begin(), chosen.end(), isIn(missing)));
                if (fresh > maxNew) {
                    maxNew = fresh;
                    best = candidate;
                }
            }
        }
        chosen.push_back(best);
    }
    for (const Choice& choice : chosen) {
        levels[choice.feature] = choice.level;
    }
    // Levels that work in pairs need not work in threes.
    for (size_t feature = table.size(); feature-- > 0 && !isPlanned(design, levels);) {
        if (feature != seed.first.feature && feature != seed.second.feature) {
            levels[feature] = 0;
        }
    }
    return levels;
}

} // namespace

const std::vector<Design>& designs() {
    static const std::vector<Design> all = {
        {.name = "scalar", .variations = {0, 1, 2}},
        {.name = "standard", .variations = {3}},
        {.name = "coopmat", .variations = {4, 5}, .callsOfSecond = 5, .onMatrices = true},
        {.name = "decode", .variations = {6}, .onMatrices = true},
        {.name = "decode in plain arithmetic", .variations = {7, 8}},
        {.name = "key_outer", .variations = {9}},
        {.name = "bf16x3", .variations = {bf16x3Variation}, .bf16x3 = true},
        {.name = "wgmma", .variations = {wgmmaVariation}, .onMatrices = true, .wholeWords = true},
    };
    return all;
}

size_t variationOf(const Design& design, size_t call) {
    return design.callsOfSecond == 0 ? call % design.variations.size() : call % design.callsOfSecond == 1 ? 1 : 0;
}

size_t levelsOn(const Design& design, size_t feature) {
    if (design.bf16x3 && (feature == typesFeature || feature == blockTypesFeature)) {
        return 1;
    }
    const size_t matrixLevels = design.wholeWords ? wordTypes : matrixTypes;
    return feature == typesFeature && design.onMatrices ? matrixLevels : table[feature].levels.size();
}

size_t featureCount() { return table.size(); }
size_t levelCount(size_t feature) { return table[feature].levels.size(); }
std::string featureName(size_t feature) { return table[feature].name; }
std::string levelName(size_t feature, size_t level) {
    return std::string(table[feature].name) + ": " + table[feature].levels[level].name;
}

Caps capsFor(const Variation& variation) {
    Caps caps = matrixCaps();
    caps.f16Matrix.viaShared = viaSharedMatrixLayout(caps.subgroupSize, 16, 16, 16);
    caps.bf16Matrix = caps.f16Matrix;
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.features |= variation.path == VKF_PATH_WGMMA ? VKF_FEATURE_BINARY_IMPORT : 0;
    caps.quirks = variation.quirks;
    if (variation.maxSharedMemoryBytes != 0) {
        caps.maxSharedMemoryBytes = variation.maxSharedMemoryBytes;
    }
    return caps;
}

PairedCall callOf(const Design& design, const Levels& levels) {
    PairedCall call;
    call.problem = problemOf({3, 2, 2, 77, 131, 64, 64, design.bf16x3 ? VKF_TYPE_F32 : VKF_TYPE_F16});
    call.data.seed = std::accumulate(levels.begin(), levels.end(), 1U, [](uint32_t seed, size_t level) {
        return seed * 7 + static_cast<uint32_t>(level);
    });
    for (size_t feature = 0; feature < table.size(); feature++) {
        table[feature].levels[levels[feature]].apply(call);
    }
    if (design.wholeWords) {
        makeWholeWords(call.problem);
    }
    apply(variations[design.variations.front()], call.problem);
    return call;
}

bool isPlanned(const Design& design, const Levels& levels, AttentionPlan* plan) {
    const VkfProblem problem = callOf(design, levels).problem;
    const Caps caps = capsFor(variations[design.variations.front()]);
    CheckedProblem checked{};
    AttentionPlan made;
    return checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS &&
           makePlan({caps}, checked, plan != nullptr ? plan : &made, nullptr) == VKF_SUCCESS;
}

bool goTogether(const Design& design, size_t feature, size_t level, size_t otherFeature, size_t otherLevel) {
    if (level >= levelsOn(design, feature) || otherLevel >= levelsOn(design, otherFeature)) {
        return false;
    }
    Levels levels(table.size(), 0);
    levels[feature] = level;
    levels[otherFeature] = otherLevel;
    return isPlanned(design, levels);
}

std::vector<Levels> callsOf(const Design& design) {
    const std::set<Pair> allowed = pairsOf(design);
    std::set<Pair> missing = allowed;
    std::vector<Levels> calls;
    while (!missing.empty()) {
        calls.push_back(grow(design, *missing.begin(), allowed, missing));
        const Levels& levels = calls.back();
        for (size_t a = 0; a < levels.size(); a++) {
            for (size_t b = a + 1; b < levels.size(); b++) {
                missing.erase({{a, levels[a]}, {b, levels[b]}});
            }
        }
    }
    return calls;
}

namespace {

// Everything that a call covers on one variation of the design: its levels, all pairs of its features that are not
// plain, and its types on this variation.
std::set<Pair> shownBy(const Levels& levels, size_t variation) {
    std::set<Pair> shown = {{{typesFeature, levels[typesFeature]}, {table.size(), variation}}};
    for (size_t a = 0; a < levels.size(); a++) {
        shown.insert({{a, levels[a]}, {a, levels[a]}});
        for (size_t b = a + 1; b < levels.size(); b++) {
            if (levels[a] != 0 && levels[b] != 0) {
                shown.insert({{a, anyLevel}, {b, anyLevel}});
            }
        }
    }
    return shown;
}

size_t countNew(const std::set<Pair>& shown, const std::set<Pair>& missing) {
    return static_cast<size_t>(
        std::count_if(shown.begin(), shown.end(), [&](const Pair& pair) { return missing.contains(pair); }));
}

} // namespace

std::vector<Levels> fewCallsOf(const Design& design) {
    const std::vector<Levels> all = callsOf(design);
    std::set<Pair> missing;
    for (size_t variation = 0; variation < design.variations.size(); variation++) {
        for (const Levels& levels : all) {
            missing.merge(shownBy(levels, variation));
        }
    }
    // Plain calls in one other type on each variation, because these have their own shaders.
    Levels plain(table.size(), 0);
    plain[typesFeature] = design.bf16x3 ? 0 : design.onMatrices ? 1 : f32Types;
    std::vector<Levels> few(design.variations.size(), plain);
    while (!missing.empty()) {
        const size_t variation = variationOf(design, few.size());
        few.push_back(*std::max_element(all.begin(), all.end(), [&](const Levels& a, const Levels& b) {
            return countNew(shownBy(a, variation), missing) < countNew(shownBy(b, variation), missing);
        }));
        for (const Pair& pair : shownBy(few.back(), variation)) {
            missing.erase(pair);
        }
    }
    return few;
}

} // namespace vkf::test

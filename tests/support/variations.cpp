// SPDX-License-Identifier: MIT
#include "support/variations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <iterator>

#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "device/matrix_support.hpp"
#include "support/call.hpp"
#include "support/lacking.hpp"

namespace vkf::test {

bool hasBf16x3() {
    static const bool has = [] {
        VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64, 0, VKF_TYPE_F32});
        problem.path = VKF_PATH_COOPMAT;
        return vkfCheckSupport(testDevice().context(), &problem, nullptr) == VKF_SUCCESS;
    }();
    return has;
}

bool hasWgmma() {
    static const bool has = [] {
        VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64, 0, VKF_TYPE_F16});
        problem.path = VKF_PATH_WGMMA;
        return vkfCheckSupport(testDevice().context(), &problem, nullptr) == VKF_SUCCESS;
    }();
    return has;
}

void needWgmma() {
    if (!hasWgmma()) {
        constexpr const char* reason = "path wgmma: the device or this build has no such kernels";
        std::fprintf(stderr, "SKIPPED, NOT TESTED ON THIS DEVICE: %s\n", reason);
        SKIP(reason);
    }
}

std::span<const Variation> offeredVariations() {
    return std::span(variations).first(std::size(variations) - (hasWgmma() ? 0 : 1));
}

namespace {

constexpr uint32_t wordColumns = 8; // of 16 bits

uint64_t wholeWords(uint64_t columns) { return (columns + wordColumns - 1) / wordColumns * wordColumns; }

// Strides with gaps stay in their order. A stride of 0 stays.
void makeWholeWords(VkfTensor& tensor, uint64_t rows, uint64_t heads, uint64_t dim) {
    const bool headsOutside = tensor.headStride >= tensor.rowStride;
    uint64_t& inner = headsOutside ? tensor.rowStride : tensor.headStride;
    uint64_t& outer = headsOutside ? tensor.headStride : tensor.rowStride;
    const auto widen = [](uint64_t& stride, uint64_t least) {
        stride = stride != 0 ? wholeWords(std::max(stride, least)) : 0;
    };
    widen(inner, dim);
    widen(outer, std::max((headsOutside ? rows : heads) * inner, dim));
    widen(tensor.batchStride, (headsOutside ? heads : rows) * outer);
}

} // namespace

void makeWholeWords(VkfProblem& p) {
    const uint32_t valueDim = p.valueDim != 0 ? p.valueDim : p.headDim;
    p.headDim = static_cast<uint32_t>(wholeWords(p.headDim));
    p.valueDim = static_cast<uint32_t>(wholeWords(valueDim));
    makeWholeWords(p.q, p.queryRows, p.queryHeads, p.headDim);
    const uint32_t rows = has(p, VKF_USE_BLOCK_TABLE) ? p.paging.pageSize : p.keys;
    makeWholeWords(p.k, rows, p.kvHeads, p.headDim);
    makeWholeWords(p.v, rows, p.kvHeads, p.valueDim);
    if (std::min(p.o.rowStride, p.o.headStride) < p.valueDim) { // rows would overlap
        p.o.rowStride = p.o.headStride = p.o.batchStride = 0;
    }
}

void fitToWgmma(VkfProblem& p) {
    p.q.type = p.k.type = p.v.type = p.q.type == VKF_TYPE_BF16 ? VKF_TYPE_BF16 : VKF_TYPE_F16;
    constexpr VkfUse lacking = VKF_USE_BIAS | VKF_USE_BIAS_FACTORS | VKF_USE_MASK | VKF_USE_DOCUMENT_IDS |
                               VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS | VKF_USE_BLOCK_MASK | VKF_USE_PROBABILITIES |
                               VKF_USE_PROBABILITY_ROWS | VKF_USE_DROPOUT_SEED | VKF_USE_DROPOUT_MASK |
                               VKF_USE_CHOSEN_KEYS;
    p.use &= ~lacking;
    p.bias = p.mask = p.dropoutMask = {};
    p.blockMask = {};
    p.dropout = {};
    p.positions = {};
    p.chosenKeys = {};
    p.probabilityRowCount = 0;
    makeWholeWords(p);
}

host::Device& deviceOf(const Variation& variation) {
    const bool real = (variation.quirks & VKF_QUIRK_FP16X3) != 0 && hasBf16x3();
    return testDevice(real ? 0 : variation.quirks, variation.maxSharedMemoryBytes);
}

void apply(const Variation& variation, VkfProblem& problem) {
    problem.path = variation.path;
    problem.precision = variation.precision;
}

namespace {

// By per-key masks.
bool isMaskedByKey(const VkfProblem& problem) {
    const bool firstKeys = vkf::has(problem, VKF_USE_WINDOW) && problem.window.firstKeys != 0;
    return has(problem, VKF_USE_MASK) || has(problem, VKF_USE_DOCUMENT_IDS) || firstKeys;
}

// Whether path wgmma takes the problem. A device that has the path does not decide: a refusal there fails the test.
bool fitsWgmma(const VkfProblem& problem) {
    VkfProblem fitted = problem;
    fitToWgmma(fitted);
    const auto equal = [](const VkfTensor& a, const VkfTensor& b) {
        return a.type == b.type && a.rowStride == b.rowStride && a.headStride == b.headStride &&
               a.batchStride == b.batchStride;
    };
    return problem.precision == VKF_PRECISION_DEFAULT && fitted.use == problem.use &&
           problem.dropout.probability == 0.0F && fitted.headDim == problem.headDim &&
           (problem.valueDim == 0 || fitted.valueDim == problem.valueDim) && equal(fitted.q, problem.q) &&
           equal(fitted.k, problem.k) && equal(fitted.v, problem.v);
}

// The variations by number. Three neighbours are of three paths.
constexpr std::array<size_t, std::size(variations)> turns = {
    0, 4, 6, 3, 1, 5, 7, 9, 2, 8, bf16x3Variation, wgmmaVariation};

// Turns on the test device.
size_t turnCount() { return offeredVariations().size(); }

// A number that problems with equal kernels share: those that differ only in sizes and contents of tensors.
size_t turnOf(const VkfProblem& p) {
    const bool dense = p.q.rowStride == 0 && p.k.rowStride == 0;
    const auto number = [](auto value) { return static_cast<uint64_t>(value); };
    uint64_t hash = 0;
    for (const uint64_t part :
         {number(p.headDim), number(p.valueDim), number(p.q.type), number(p.k.type), number(p.v.type), number(p.o.type),
          number(p.use), number(p.alignment), number(p.softcap != 0.0F), number(p.dropout.probability != 0.0F),
          number(p.kvSplits > 1 || p.splitKeys != 0), number(dense), number(p.blockMask.blockSize),
          number(p.paging.pageSize), number(p.bias.type), number(p.mask.type) + (p.mask.lastKeys != 0 ? 64U : 0U),
          number(p.dropoutMask.type)}) {
        hash = (hash ^ part) * 0x100000001b3; // FNV-1a by numbers
        hash ^= hash >> 32U;
    }
    return hash % turnCount();
}

bool takesSplitKeys(const Variation& variation, const VkfProblem& problem) {
    const bool ofMatrices = problem.q.type != VKF_TYPE_F32 || problem.k.type != VKF_TYPE_F32;
    return variation.path == VKF_PATH_SCALAR || variation.path == VKF_PATH_DECODE ||
           (variation.path == VKF_PATH_COOPMAT && ofMatrices);
}

size_t nextTurn = 0;

// A test case takes the same numbers alone and among others.
class TurnListener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override { nextTurn = info.name.size(); }
};

CATCH_REGISTER_LISTENER(TurnListener)

} // namespace

bool takes(const Variation& variation, const VkfProblem& problem) {
    if (leavesOut(deviceOf(variation), variation.path) ||
        (problem.splitKeys != 0 && !takesSplitKeys(variation, problem))) {
        return false;
    }
    if (variation.path == VKF_PATH_WGMMA) {
        return hasWgmma() && fitsWgmma(problem);
    }
    if (variation.path != VKF_PATH_COOPMAT) {
        const bool knowsBlocks = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_DECODE;
        const bool knowsMasks = variation.path != VKF_PATH_STANDARD;
        const bool knowsPacked = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER;
        const bool knowsLists = variation.path == VKF_PATH_SCALAR || variation.path == VKF_PATH_DECODE;
        return (knowsLists || !has(problem, VKF_USE_CHOSEN_KEYS)) &&
               (knowsPacked || !has(problem, VKF_USE_CU_SEQLENS)) &&
               (knowsBlocks || !has(problem, VKF_USE_BLOCK_MASK)) && (knowsMasks || !isMaskedByKey(problem));
    }
    VkfProblem onMatrices = problem;
    onMatrices.path = variation.path;
    const bool supported = vkfCheckSupport(deviceOf(variation).context(), &onMatrices, nullptr) == VKF_SUCCESS;
    const bool bf16x3 = (variation.quirks & VKF_QUIRK_FP16X3) != 0;
    if (bf16x3 != usesBf16x3(problem)) {
        return false;
    }
    if (bf16x3) {
        return supported;
    }
    const VkfType type = problem.k.type; // an fp32 q is rounded to it
    const bool fits = problem.q.type == type || problem.q.type == VKF_TYPE_F32;
    if (type == VKF_TYPE_F32 || !fits || problem.v.type != type) {
        return false;
    }
    return (type == VKF_TYPE_F16 && !has(problem, VKF_USE_CHOSEN_KEYS)) || supported;
}

std::vector<const Variation*> variationsInTurn(const VkfProblem& problem, size_t most) {
    most = wholeSweeps() ? turnCount() : most;
    const size_t first = turnOf(problem);
    std::vector<const Variation*> chosen;
    for (size_t tried = 0; tried < turnCount() && chosen.size() < most; tried++) {
        const Variation& variation = variations[turns[(first + tried) % turnCount()]];
        const bool isSlow = variation.quirks == VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT; // compiles for far longer than others
        const bool isWanted = !isSlow || tried == 0 || most >= turnCount();
        if (isWanted && takes(variation, problem)) {
            chosen.push_back(&variation);
        }
    }
    return chosen;
}

std::vector<uint32_t> inTurn(std::initializer_list<uint32_t> numbers, const VkfProblem& problem) {
    std::vector<uint32_t> chosen(numbers);
    if (!wholeSweeps()) {
        chosen = {chosen[turnOf(problem) % chosen.size()]};
    }
    return chosen;
}

std::vector<uint32_t> inTurn(std::initializer_list<uint32_t> numbers) {
    std::vector<uint32_t> chosen(numbers);
    if (!wholeSweeps()) {
        std::rotate(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(nextTurn % chosen.size()),
                    chosen.end());
        chosen.resize(1);
        nextTurn += chosen.size();
    }
    return chosen;
}

std::vector<uint32_t> usually(uint32_t usual, uint32_t other) {
    return wholeSweeps() ? std::vector{usual, other} : std::vector{nextTurn++ % 6 == 5 ? other : usual};
}

} // namespace vkf::test

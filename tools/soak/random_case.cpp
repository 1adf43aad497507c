// SPDX-License-Identifier: MIT
#include "soak/random_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensors/generator.hpp"
#include "vkflash/problem.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

namespace {

class Dice {
public:
    explicit Dice(uint64_t seed) : generator_(seed) {}

    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(generator_.next() % limit); }
    bool oneIn(uint32_t n) { return below(n) == 0; }
    template <typename T, size_t count> T of(const std::array<T, count>& values) { return values[below(count)]; }

private:
    Generator generator_;
};

constexpr std::array<uint32_t, 10> sizes = {1, 2, 7, 31, 64, 65, 97, 130, 203, 320};
constexpr std::array<uint32_t, 5> fewRows = {1, 1, 2, 5, 16};
constexpr std::array<uint32_t, 10> headDims = {8, 40, 64, 65, 72, 80, 96, 128, 192, 256};
constexpr std::array<uint32_t, 4> blockDims = {32, 64, 128, 256};
constexpr std::array<uint32_t, 4> groups = {1, 2, 4, 5};
constexpr std::array<VkfType, 3> types = {VKF_TYPE_F16, VKF_TYPE_BF16, VKF_TYPE_F32};
constexpr std::array<VkfType, 8> blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,
                                               VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
constexpr std::array<VkfPath, 8> paths = {VKF_PATH_AUTO,   VKF_PATH_AUTO,     VKF_PATH_SCALAR, VKF_PATH_COOPMAT,
                                          VKF_PATH_DECODE, VKF_PATH_STANDARD, VKF_PATH_AUTO,   VKF_PATH_KEY_OUTER};
// Matrices are asked for, too: VKF_PATH_AUTO avoids them where they are slower, or were wrong once.
constexpr std::array<VkfPath, 4> backwardPaths = {VKF_PATH_AUTO, VKF_PATH_COOPMAT, VKF_PATH_COOPMAT, VKF_PATH_SCALAR};
constexpr std::array<float, 5> extremeSoftcaps = {1e-42F, 1e-20F, 1e20F, 1e29F, 3e38F};

void chooseShape(Dice& dice, VkfProblem& p) {
    p.batch = 1 + dice.below(3);
    p.kvHeads = 1 + dice.below(3);
    p.queryHeads = p.kvHeads * dice.of(groups);
    p.queryRows = dice.oneIn(2) ? dice.of(fewRows) : dice.of(sizes);
    p.keys = dice.oneIn(4) ? 1 + dice.below(1500) : dice.of(sizes);
    p.headDim = dice.of(headDims);
    p.valueDim = dice.oneIn(4) ? dice.of(headDims) : p.headDim;
    p.kvSplits = dice.oneIn(3) ? 1 + dice.below(7) : 0;
    p.maxStepOperations = dice.oneIn(4) ? 1 + dice.below(1000000) : 0;
}

// Matrix units need types of one kind, so most problems have one type.
void chooseTypes(Dice& dice, VkfProblem& p) {
    const VkfType type = dice.of(types);
    p.q.type = dice.oneIn(5) ? VKF_TYPE_F32 : type;
    p.k.type = p.v.type = type;
    p.o.type = dice.oneIn(3) ? dice.of(types) : type;
    if (dice.oneIn(6)) {
        p.headDim = p.valueDim = dice.of(blockDims);
        p.k.type = dice.of(blockTypes);
        p.v.type = dice.oneIn(2) ? dice.of(blockTypes) : p.k.type;
        p.maxScratchBytes = dice.oneIn(2) ? uint64_t{1} << 30 : 0; // path coopmat converts them once, or not
    }
}

// Heads are outermost or rows are, with gaps behind rows.
void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    if (!dice.oneIn(3) || vkfBlockElements(tensor.type) != 1)
        return;
    const uint64_t step = dim + dice.below(9);
    const bool rowsOutermost = dice.oneIn(2);
    tensor.rowStride = rowsOutermost ? heads * step : step;
    tensor.headStride = rowsOutermost ? step : rows * step;
    tensor.batchStride = heads * rows * step;
}

VkfBroadcastArray broadcast(Dice& dice, const VkfProblem& p, VkfType type) {
    VkfBroadcastArray array{};
    array.type = type;
    array.rowStride = dice.oneIn(4) ? 0 : p.keys;
    array.headStride = dice.oneIn(2) ? 0 : uint64_t{p.keys} * p.queryRows;
    array.batchStride = dice.oneIn(2) ? 0 : uint64_t{p.keys} * p.queryRows * p.queryHeads;
    return array;
}

void chooseMasks(Dice& dice, VkfProblem& p) {
    enable(p, VKF_USE_CAUSAL, dice.oneIn(3));
    p.alignment = dice.oneIn(3) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(5)) {
        p.use |= VKF_USE_WINDOW;
        p.window.left = static_cast<int64_t>(dice.below(120)) - 1;
        p.window.right =
            has(p, VKF_USE_CAUSAL) ? 0 : static_cast<int64_t>(dice.below(120)) - 1; // causal rows end there
        p.window.firstKeys = dice.oneIn(3) ? dice.below(40) : 0;
    }
    if (dice.oneIn(6)) {
        p.mask = broadcast(dice, p, dice.oneIn(2) ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1);
        enable(p, VKF_USE_MASK);
    }
    enable(p, VKF_USE_DOCUMENT_IDS, dice.oneIn(8));
    enable(p, VKF_USE_POSITIONS, dice.oneIn(8) && !has(p, VKF_USE_DOCUMENT_IDS) && p.window.firstKeys == 0);
    if (has(p, VKF_USE_POSITIONS)) {
        p.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
        p.positions = {dice.below(300), dice.below(5), dice.below(200), dice.below(5)};
    }
    enable(p, VKF_USE_BLOCK_MASK, dice.oneIn(10));
    p.blockMask.blockSize = has(p, VKF_USE_BLOCK_MASK) ? 16U << dice.below(4) : 0;
}

void chooseScoreTerms(Dice& dice, VkfProblem& p) {
    p.scale = dice.oneIn(4) ? 0.01F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    p.softcap = dice.oneIn(6) ? 0.5F * static_cast<float>(1 + dice.below(100)) : 0.0F;
    enable(p, VKF_USE_ALIBI, dice.oneIn(8));
    enable(p, VKF_USE_ALIBI_SLOPES, has(p, VKF_USE_ALIBI) && dice.oneIn(2));
    enable(p, VKF_USE_SINKS, dice.oneIn(6));
    if (dice.oneIn(6)) {
        p.bias = broadcast(dice, p, dice.of(types));
        enable(p, VKF_USE_BIAS);
        enable(p, VKF_USE_BIAS_FACTORS, dice.oneIn(2));
    }
    if (dice.oneIn(8)) {
        p.dropout.probability = 0.01F * static_cast<float>(1 + dice.below(70));
        p.dropout.seed = dice.below(1000) * 0x1234567890123ULL;
        enable(p, VKF_USE_DROPOUT_SEED, dice.oneIn(2));
        if (dice.oneIn(3)) {
            p.dropoutMask = broadcast(dice, p, VKF_TYPE_BOOL8);
            enable(p, VKF_USE_DROPOUT_MASK);
        }
    }
}

void choosePages(Dice& dice, VkfProblem& p) {
    p.paging.pageSize = dice.oneIn(2) ? 1U << dice.below(7) : 1 + dice.below(100);
    p.paging.maxPages = (p.keys + p.paging.pageSize - 1) / p.paging.pageSize;
    p.paging.pages = p.batch * p.paging.maxPages;
    enable(p, VKF_USE_BLOCK_TABLE);
}

// Lists of chosen keys, dense but for dimensions that share a list, where the path and the other features take them.
void chooseLists(Dice dice, bool backward, VkfProblem& p) {
    const bool taken = p.path != VKF_PATH_STANDARD && p.path != VKF_PATH_KEY_OUTER && !backward &&
                       !has(p, VKF_USE_BLOCK_MASK) && !has(p, VKF_USE_PROBABILITIES) && p.keys != 0;
    if (!taken || !dice.oneIn(6))
        return;
    enable(p, VKF_USE_CHOSEN_KEYS);
    p.chosenKeys.count = 1 + dice.below(2 * p.keys);
    uint64_t step = p.chosenKeys.count;
    const auto strideOf = [&](bool differ, uint32_t lists) {
        const uint64_t stride = differ ? step : 0;
        step *= differ ? lists : 1;
        return stride;
    };
    p.chosenKeys.rowStride = strideOf(dice.oneIn(2), p.queryRows);
    p.chosenKeys.headStride = strideOf(dice.oneIn(2), p.kvHeads);
    p.chosenKeys.batchStride = strideOf(!has(p, VKF_USE_CU_SEQLENS) && dice.oneIn(2), p.batch);
}

// Every second block table gets some entries that are no pages.
void removePages(Dice dice, uint32_t pages, std::vector<int32_t>& table) {
    constexpr int32_t largest = std::numeric_limits<int32_t>::max();
    const std::array<int32_t, 4> noPages = {-1, -largest - 1, static_cast<int32_t>(pages), largest};
    const bool some = dice.oneIn(2);
    for (int32_t& entry : table)
        if (some && dice.oneIn(8))
            entry = dice.of(noPages);
}

// Turns the sequences into packed ones of random lengths.
std::vector<int32_t> pack(Dice& dice, VkfProblem& p) {
    std::vector<int32_t> starts = {0};
    int32_t longest = 0;
    for (uint32_t left = 1 + dice.below(6); left > 0; --left) {
        const auto length = dice.oneIn(5) ? 0 : static_cast<int32_t>(1 + dice.below(2 * p.queryRows));
        starts.push_back(starts.back() + length);
        longest = std::max(longest, length);
    }
    p.batch = static_cast<uint32_t>(starts.size() - 1);
    p.queryRows = p.keys = static_cast<uint32_t>(starts.back());
    p.longestRows = p.longestKeys = static_cast<uint32_t>(longest);
    enable(p, VKF_USE_CU_SEQLENS);
    return starts;
}

std::vector<float> uniform(bool wanted, uint32_t count, float least, float most, Dice& dice) {
    std::vector<float> numbers(wanted ? count : 0);
    for (float& x : numbers)
        x = least + (most - least) * static_cast<float>(dice.below(1U << 20)) / static_cast<float>(1U << 20);
    return numbers;
}

// Bits of a BOOL1 mask, or bytes that are 0 or 1.
std::vector<std::byte> randomMask(const VkfProblem& problem, VkfArray array, VkfType type, Dice& dice) {
    std::vector<std::byte> bytes(vkfGetArrayBytes(&problem, array));
    for (std::byte& byte : bytes)
        byte = std::byte{static_cast<unsigned char>(dice.below(type == VKF_TYPE_BOOL1 ? 256 : 2))};
    return bytes;
}

std::vector<std::byte> randomBias(const VkfProblem& problem, uint64_t seed) {
    std::vector<std::byte> bytes = normalBlock(
        problem.bias.type, vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS) / vkfTypeBytes(problem.bias.type), seed);
    bytes.resize(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS));
    return bytes;
}

// One case in `oneIn` has numbers at the ends of their types.
constexpr uint32_t casesPerExtreme = 20;

// The largest finite number of a type, or one whose product with log2(e) passes that of fp32.
double extremeNumber(VkfType type, Dice& dice) {
    const double largest = type == VKF_TYPE_F16 ? 65504.0 : type == VKF_TYPE_BF16 ? 0x1.fep127 : 0x1.fffffep127;
    const double size = dice.oneIn(2) ? largest : 0.7 * largest;
    return dice.oneIn(3) ? size : -size;
}

// Whole rows of one extreme number, as models mask them, and single elements.
void makeBiasExtreme(const VkfProblem& p, std::vector<std::byte>& bias, Dice& dice) {
    const uint64_t elements = bias.size() / vkfTypeBytes(p.bias.type);
    for (uint64_t first = 0; first + p.keys <= elements; first += std::max<uint64_t>(p.keys, 1)) {
        const double number = extremeNumber(p.bias.type, dice);
        const bool whole = dice.oneIn(4);
        for (uint64_t i = first; i < first + p.keys; ++i)
            if (whole || dice.oneIn(30))
                vkfStoreElement(p.bias.type, bias.data(), i, whole ? number : extremeNumber(p.bias.type, dice));
    }
}

// Powers of two that keep within the limits of finite inputs (docs/semantics.md). Scores stay within 2^27, which is
// what matrices promise, and small where a backward pass on matrices rounds q. It also rounds ds.
RandomCase::Growth chooseGrowth(const RandomCase& random, Dice& dice) {
    constexpr int ofScores = 16;
    const VkfProblem& p = random.problem;
    const bool roundsQuery = random.backward && p.q.type == VKF_TYPE_F32 && p.k.type != VKF_TYPE_F32;
    const bool narrow = p.v.type == VKF_TYPE_F16;
    const int most = narrow ? 12 : 100; // 65504 is 16 times 2^12, and normal numbers stay below 16
    const int maxBackward = narrow ? 6 : 60;
    RandomCase::Growth growth;
    growth.q = static_cast<int>(dice.below(ofScores - 3));
    growth.k = std::min(ofScores - growth.q, 12);
    if (roundsQuery)
        growth.q = growth.k = 0;
    growth.v = static_cast<int>(dice.below(static_cast<uint32_t>(random.backward ? maxBackward : most) + 1));
    growth.dout = random.backward ? std::min(maxBackward - growth.v, 12) : 0;
    growth.dlse = random.backward && !narrow ? static_cast<int>(dice.below(40)) : 0;
    return growth;
}

} // namespace

void grow(VkfType type, std::vector<std::byte>& elements, int log2, uint64_t seed) {
    if (vkfBlockElements(type) != 1 || log2 == 0)
        return;
    Dice dice(seed);
    const uint64_t count = elements.size() / vkfTypeBytes(type);
    for (uint64_t first = 0; first < count;) {
        const uint64_t end = std::min<uint64_t>(count, first + 1 + dice.below(200));
        const bool grows = dice.oneIn(4);
        for (; first < end; ++first)
            if (grows)
                vkfStoreElement(type, elements.data(), first,
                                std::ldexp(vkfLoadElement(type, elements.data(), first), log2));
    }
}

RandomCase::RandomCase(uint64_t seed) : problem(make<VkfProblem>()) {
    Dice dice(seed);
    problem.path = dice.of(paths);
    problem.precision = dice.oneIn(8) ? VKF_PRECISION_FP32 : VKF_PRECISION_DEFAULT;
    chooseShape(dice, problem);
    chooseTypes(dice, problem);
    const bool packed = dice.oneIn(6);
    if (packed)
        starts = pack(dice, problem);
    const uint64_t rows = problem.queryRows;
    scatter(dice, problem.q, problem.queryHeads, rows, problem.headDim);
    scatter(dice, problem.o, problem.queryHeads, rows, problem.valueDim);
    const bool paged = !packed && dice.oneIn(8);
    if (paged) {
        choosePages(dice, problem);
    } else {
        scatter(dice, problem.k, problem.kvHeads, problem.keys, problem.headDim);
        scatter(dice, problem.v, problem.kvHeads, problem.keys, problem.valueDim);
    }
    enable(problem, VKF_USE_KEY_LENGTHS, !packed && dice.oneIn(4));
    chooseMasks(dice, problem);
    chooseScoreTerms(dice, problem);
    enable(problem, VKF_USE_LSE, dice.oneIn(2));
    enable(problem, VKF_USE_PROBABILITIES, !packed && dice.oneIn(8));
    backward = dice.oneIn(4);
    enable(problem, VKF_USE_LSE, backward || has(problem, VKF_USE_LSE));
    backwardPath = dice.of(backwardPaths);
    chooseLists(Dice(seed ^ 0x4c495354ULL), backward, problem); // the other choices of a seed stay
    extreme = dice.oneIn(casesPerExtreme);
    if (extreme && problem.softcap > 0.0F)
        problem.softcap = dice.of(extremeSoftcaps);
    if (extreme)
        growth = chooseGrowth(*this, dice);
}

void RandomCase::takeWgmma() {
    const VkfType type = problem.k.type == VKF_TYPE_BF16 ? VKF_TYPE_BF16 : VKF_TYPE_F16;
    problem.path = VKF_PATH_WGMMA;
    problem.precision = VKF_PRECISION_DEFAULT;
    problem.headDim = (problem.headDim + 7) / 8 * 8;
    problem.valueDim = (problem.valueDim + 7) / 8 * 8;
    problem.q = problem.k = problem.v = dense(type);
    problem.o = dense(problem.o.type);
    constexpr VkfUse lacking = VKF_USE_BIAS | VKF_USE_BIAS_FACTORS | VKF_USE_MASK | VKF_USE_DOCUMENT_IDS |
                               VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS | VKF_USE_BLOCK_MASK | VKF_USE_PROBABILITIES |
                               VKF_USE_DROPOUT_SEED | VKF_USE_DROPOUT_MASK | VKF_USE_CHOSEN_KEYS;
    enable(problem, lacking, false);
    problem.bias = problem.mask = problem.dropoutMask = {};
    problem.blockMask = {};
    problem.chosenKeys = {};
    problem.dropout = {};
    problem.positions = {};
}

CaseInputs::CaseInputs(const RandomCase& random, uint64_t seed)
    : problem_(random.problem), starts_(random.starts), tensors_(problem_, seed, 0.5) {
    Dice dice(seed ^ 0x50414bULL);
    const auto wants = [this](VkfUseBits array) { return has(problem_, array); };
    removePages(Dice(seed ^ 0x50414745ULL), problem_.paging.pages, tensors_.blockTable);
    if (wants(VKF_USE_PROBABILITIES))
        probabilities_.assign(size_t{problem_.batch} * problem_.queryHeads * problem_.queryRows * problem_.keys,
                              std::numeric_limits<float>::quiet_NaN());
    sinks_ = uniform(wants(VKF_USE_SINKS), problem_.queryHeads, -6, 6, dice);
    slopes_ = uniform(wants(VKF_USE_ALIBI_SLOPES), problem_.queryHeads, -0.1F, 0.5F, dice);
    factors_ = uniform(wants(VKF_USE_BIAS_FACTORS), problem_.queryHeads, -1, 2, dice);
    if (wants(VKF_USE_BIAS))
        bias_ = randomBias(problem_, seed + 1);
    if (random.extreme) {
        grow(problem_.q.type, tensors_.q, random.growth.q, seed + 2);
        grow(problem_.k.type, tensors_.k, random.growth.k, seed + 3);
        grow(problem_.v.type, tensors_.v, random.growth.v, seed + 4);
        makeBiasExtreme(problem_, bias_, dice);
        for (float& x : factors_) // a product past the largest number would be infinite
            x = std::clamp(x, -1.0F, 1.0F);
        for (float& x : sinks_)
            x = dice.oneIn(2) ? static_cast<float>(extremeNumber(VKF_TYPE_F32, dice)) : x;
        for (float& x : slopes_)
            x *= 16.0F; // what path coopmat promises
    }
    mask_ = randomMask(problem_, VKF_ARRAY_MASK, problem_.mask.type, dice);
    dropoutMask_ = randomMask(problem_, VKF_ARRAY_DROPOUT_MASK, problem_.dropoutMask.type, dice);
    const uint64_t sequences = starts_.empty() ? problem_.batch : 1;
    for (uint64_t i = 0; wants(VKF_USE_DOCUMENT_IDS) && i < sequences * problem_.keys; ++i)
        documents_.push_back(i % problem_.keys == 0 || dice.oneIn(16) ? static_cast<int32_t>(dice.below(1000))
                                                                      : documents_.back());
    dropoutSeed_ = dice.below(1U << 30);
}

host::HostTensors CaseInputs::pointers() {
    host::HostTensors tensors = tensors_.pointers(problem_);
    tensors.probabilities = probabilities_.empty() ? nullptr : probabilities_.data();
    tensors.sinks = sinks_.data();
    tensors.alibiSlopes = slopes_.data();
    tensors.biasFactors = factors_.data();
    tensors.bias = bias_.data();
    tensors.mask = mask_.data();
    tensors.dropoutMask = dropoutMask_.data();
    tensors.dropoutSeed = &dropoutSeed_;
    tensors.documentIds = documents_.data();
    tensors.cuSeqlensQ = tensors.cuSeqlensK = starts_.data();
    return tensors;
}

} // namespace vkf::tools

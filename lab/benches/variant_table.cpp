// SPDX-License-Identifier: MIT
#include "benches/variant_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "cli/error.hpp"
#include "cli/text.hpp"
#include "tensors/generator.hpp"
#include "tensors/random_tensors.hpp"

namespace vkf::tools {

namespace {

constexpr uint32_t squareSide = 256; // rows and keys of the squares of which masks consist
// Count of generated numbers, which repeat. It is a prime, so no row of a bias equals another row.
constexpr uint64_t biasBlock = 1048573;
constexpr uint32_t documentCount = 16;
constexpr uint32_t sequenceCount = 64;

void asIs(ExtraCall&) {}

void setCausal(ExtraCall& call) { call.problem.use |= VKF_USE_CAUSAL; }

void setAlibi(ExtraCall& call) { call.problem.use |= VKF_USE_ALIBI; }

void setSoftcap(ExtraCall& call) { call.problem.softcap = 50; }

// The sinks are about as large as the sum over all keys. With a long row, the check would not notice the absence of
// smaller sinks.
void setSinks(ExtraCall& call) {
    const VkfProblem& problem = call.problem;
    enable(call.problem, VKF_USE_SINKS);
    Generator generator(11);
    for (uint32_t head = 0; head < problem.queryHeads; ++head)
        call.extras.sinks.push_back(static_cast<float>(std::log(problem.keys) + generator.nextNormal()));
}

// Describes an fp16 bias with the same strides for all sequences. Its elements are 0.
void enableBias(ExtraCall& call, uint64_t headStride) {
    VkfProblem& problem = call.problem;
    problem.bias = {VKF_TYPE_F16, 0, 0, headStride, problem.keys};
    enable(problem, VKF_USE_BIAS);
    call.extras.bias.resize(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS));
}

void setBias(ExtraCall& call) {
    enableBias(call, 0);
    repeatBlock(normalBlock(VKF_TYPE_F16, biasBlock, 12), 0, call.extras.bias);
}

// A bias of its own for each head.
void setHeadBias(ExtraCall& call) {
    enableBias(call, uint64_t{call.problem.queryRows} * call.problem.keys);
    repeatBlock(normalBlock(VKF_TYPE_F16, biasBlock, 12), 0, call.extras.bias);
}

// A causal mask as a dense bias of 0 and -infinity.
void setCausalBias(ExtraCall& call) {
    constexpr uint16_t minusInfinity = 0xfc00; // fp16
    const VkfProblem& problem = call.problem;
    enableBias(call, 0);
    std::vector<uint16_t> elements(call.extras.bias.size() / sizeof(uint16_t), minusInfinity);
    for (uint64_t row = 0; row < problem.queryRows; ++row) {
        const uint64_t visible = row + 1 + problem.keys - problem.queryRows;
        std::fill_n(elements.begin() + static_cast<std::ptrdiff_t>(row * problem.keys), visible, uint16_t{0});
        call.pairsOfHead += static_cast<double>(visible);
    }
    std::memcpy(call.extras.bias.data(), elements.data(), elements.size() * sizeof(uint16_t));
}

// ---- Masks -------------------------------------------------------------------------------------------

// Makes one mask for all heads. Its rows begin at multiples of 4 bytes. Returns the bytes of a row.
size_t setMask(ExtraCall& call, VkfType type) {
    const uint64_t rowElements = (uint64_t{call.problem.keys} + 31) / 32 * 32;
    call.problem.mask = {type, 0, 0, 0, rowElements};
    enable(call.problem, VKF_USE_MASK);
    const size_t rowBytes = type == VKF_TYPE_BOOL8 ? rowElements : rowElements / 8;
    call.extras.mask.resize(call.problem.queryRows * rowBytes);
    return rowBytes;
}

// Chooses half of `count` squares at random. Their pairs are visible.
std::vector<bool> openSquares(size_t count) {
    std::vector<bool> open(count);
    std::fill_n(open.begin(), count - count / 2, true);
    Generator generator(13);
    for (size_t i = count; i > 1; --i)
        std::vector<bool>::swap(open[i - 1], open[generator.next() % i]);
    return open;
}

void setSquareMask(ExtraCall& call, VkfType type) {
    const VkfProblem& problem = call.problem;
    const size_t rowBytes = setMask(call, type);
    const size_t squareBytes = type == VKF_TYPE_BOOL8 ? squareSide : squareSide / 8;
    const std::byte open{static_cast<uint8_t>(type == VKF_TYPE_BOOL8 ? 0x01 : 0xff)};
    const uint32_t keySquares = (problem.keys + squareSide - 1) / squareSide;
    const uint32_t rowSquares = (problem.queryRows + squareSide - 1) / squareSide;
    const std::vector<bool> squares = openSquares(size_t{rowSquares} * keySquares);
    for (uint32_t row = 0; row < problem.queryRows; ++row) {
        std::byte* const bytes = call.extras.mask.data() + row * rowBytes;
        if (row % squareSide != 0) {
            std::memcpy(bytes, bytes - rowBytes, rowBytes);
            continue;
        }
        for (uint32_t i = 0; i < keySquares; ++i) {
            if (!squares[size_t{row / squareSide} * keySquares + i])
                continue;
            std::fill_n(bytes + i * squareBytes, std::min(squareBytes, rowBytes - i * squareBytes), open);
            call.pairsOfHead += static_cast<double>(uint64_t{std::min(squareSide, problem.queryRows - row)} *
                                                    std::min(squareSide, problem.keys - i * squareSide));
        }
    }
}

void setByteMask(ExtraCall& call) { setSquareMask(call, VKF_TYPE_BOOL8); }

void setBitMask(ExtraCall& call) { setSquareMask(call, VKF_TYPE_BOOL1); }

// Byte i of the result is bit i of the argument: 0 or 1.
uint64_t spreadBits(uint64_t bits) {
    const uint64_t apart = bits * 0x0101010101010101U & 0x8040201008040201U;
    return (apart + 0x7f7f7f7f7f7f7f7fU) >> 7 & 0x0101010101010101U;
}

void setRandomMask(ExtraCall& call) {
    const size_t rowBytes = setMask(call, VKF_TYPE_BOOL8);
    const uint32_t keys = call.problem.keys;
    Generator generator(14);
    uint64_t bits = 0;
    for (size_t row = 0; row < call.problem.queryRows; ++row)
        for (uint32_t key = 0; key < keys; key += 8) {
            bits = key % 64 == 0 ? generator.next() : bits >> 8;
            const uint64_t eight = bits & (keys - key < 8 ? (1U << (keys - key)) - 1 : 0xffU);
            const uint64_t bytes = spreadBits(eight);
            std::memcpy(call.extras.mask.data() + row * rowBytes + key, &bytes, sizeof(bytes));
            call.pairsOfHead += std::popcount(eight);
        }
}

void setWindow(ExtraCall& call) {
    call.problem.window = {1023, 0, 0};
    call.problem.use |= VKF_USE_WINDOW;
}

void setFirstKeys(ExtraCall& call) {
    call.problem.use |= VKF_USE_CAUSAL;
    call.problem.window = {1023, 0, 4};
    call.problem.use |= VKF_USE_WINDOW;
}

void setDocuments(ExtraCall& call) {
    VkfProblem& problem = call.problem;
    problem.use |= VKF_USE_CAUSAL;
    enable(problem, VKF_USE_DOCUMENT_IDS);
    const auto documentOf = [&](uint64_t key) { return key * documentCount / problem.keys; };
    for (uint32_t sequence = 0; sequence < problem.batch; ++sequence)
        for (uint32_t key = 0; key < problem.keys; ++key)
            call.extras.documents.push_back(static_cast<int32_t>(documentOf(key)));
    uint32_t first = 0;
    for (uint32_t key = 0; key < problem.keys; ++key) {
        if (documentOf(key) != documentOf(first))
            first = key;
        if (uint64_t{key} + problem.queryRows >= problem.keys) // this key is the position of a row
            call.pairsOfHead += key - first + 1;
    }
}

void setDropout(ExtraCall& call) { call.problem.dropout = {.probability = 0.1F, .seed = 17}; }

// ---- Sequences ---------------------------------------------------------------------------------------

// As many sequences as setPacked has. Their length is the average length there.
void setEqualSequences(ExtraCall& call) {
    VkfProblem& problem = call.problem;
    problem.batch = sequenceCount;
    problem.queryRows = problem.keys = std::max(problem.queryRows / 4, 1U);
}

// Packed sequences of random lengths up to half of the rows.
void setPacked(ExtraCall& call) {
    VkfProblem& problem = call.problem;
    const uint32_t most = std::max(problem.queryRows / 2, 1U);
    Generator generator(15);
    call.extras.starts.push_back(0);
    for (uint32_t i = 0; i < sequenceCount; ++i) {
        const auto length = static_cast<uint32_t>(1 + generator.next() % most);
        call.extras.starts.push_back(call.extras.starts.back() + static_cast<int32_t>(length));
        call.pairsOfHead += static_cast<double>(length) * length / sequenceCount;
    }
    enable(problem, VKF_USE_CU_SEQLENS);
    problem.batch = sequenceCount;
    problem.queryRows = problem.keys = static_cast<uint32_t>(call.extras.starts.back());
    problem.longestRows = problem.longestKeys = most;
}

// ---- Decode ------------------------------------------------------------------------------------------

void setLongWindow(ExtraCall& call) {
    call.problem.window = {4095, 0, 0};
    call.problem.use |= VKF_USE_WINDOW;
}

// Drafts after a cache. As causal rows, and as a tree in which draft i follows draft (i - 1) / 2: a mask of the last
// keys.
constexpr uint32_t draftCount = 64;

void setDraftRows(ExtraCall& call) {
    call.problem.queryRows = draftCount;
    call.problem.use |= VKF_USE_CAUSAL;
}

void setDraftTree(ExtraCall& call) {
    VkfProblem& problem = call.problem;
    problem.queryRows = draftCount;
    problem.mask.type = VKF_TYPE_BOOL1;
    problem.mask.rowStride = problem.mask.lastKeys = draftCount;
    enable(problem, VKF_USE_MASK);
    std::array<uint64_t, draftCount> rows{};
    call.pairsOfHead = static_cast<double>(draftCount) * (problem.keys - std::min(draftCount, problem.keys));
    for (uint32_t i = 0; i < draftCount; ++i) {
        rows[i] = (i > 0 ? rows[(i - 1) / 2] : 0) | uint64_t{1} << i;
        call.pairsOfHead += std::popcount(rows[i]);
    }
    call.extras.mask.resize(sizeof rows);
    std::memcpy(call.extras.mask.data(), rows.data(), sizeof rows);
}

void setSplitKeys(ExtraCall& call) { call.problem.splitKeys = 128; }

constexpr Aim information{};
constexpr Aim time(double limit) { return {AimOf::time, limit}; }
constexpr Aim rate(double limit) { return {AimOf::rate, limit}; }

// Each name occurs once. A base stands before the rows that use it.
constexpr std::array table = {
    Variant{"plain", Workload::prefill, asIs, nullptr, information},
    Variant{"causal", Workload::prefill, setCausal, "plain", information},
    Variant{"alibi", Workload::prefill, setAlibi, "plain", time(1.1)},
    Variant{"softcap", Workload::prefill, setSoftcap, "plain", time(1.1)},
    Variant{"sinks", Workload::prefill, setSinks, "plain", time(1.1)},
    Variant{"bias", Workload::prefill, setBias, "plain", time(1.3)},
    Variant{"bias-heads", Workload::prefill, setHeadBias, "plain", information},
    Variant{"bias-causal", Workload::prefill, setCausalBias, "plain", time(0.62)},
    Variant{"mask", Workload::prefill, setByteMask, "plain", time(0.6)},
    Variant{"mask-bits", Workload::prefill, setBitMask, "plain", time(0.6)},
    Variant{"mask-random", Workload::prefill, setRandomMask, "plain", information},
    Variant{"window", Workload::prefill, setWindow, "causal", time(0.2)},
    Variant{"window-first-keys", Workload::prefill, setFirstKeys, "causal", information},
    Variant{"documents", Workload::prefill, setDocuments, "causal", time(0.12)},
    Variant{"dropout", Workload::prefill, setDropout, "plain", information},
    Variant{"sequences", Workload::prefill, setEqualSequences, nullptr, information},
    Variant{"packed", Workload::prefill, setPacked, "sequences", rate(0.85)},
    Variant{"decode", Workload::decode, asIs, nullptr, information},
    Variant{"decode-alibi", Workload::decode, setAlibi, "decode", time(1.05)},
    Variant{"decode-sinks", Workload::decode, setSinks, "decode", time(1.05)},
    Variant{"decode-bias", Workload::decode, setBias, "decode", time(1.1)},
    Variant{"decode-window", Workload::decode, setLongWindow, "decode", time(1.05)},
    Variant{"decode-split-keys", Workload::decode, setSplitKeys, "decode", time(1.15)},
    Variant{"drafts", Workload::decode, setDraftRows, nullptr, information},
    Variant{"draft-tree", Workload::decode, setDraftTree, "drafts", time(1.05)},
};

} // namespace

const Variant& variantNamed(const std::string& name) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Variant& one) { return name == one.name; });
    if (found == table.end())
        failInput("--only {}: takes some of {}", name, namesOf(table));
    return *found;
}

std::vector<Variant> selectVariants(const std::vector<std::string>& names) {
    std::vector<std::string> wanted = names;
    for (size_t i = 0; i < wanted.size(); ++i) // adds the bases, and their bases
        if (const char* base = variantNamed(wanted[i]).base; base != nullptr)
            wanted.emplace_back(base);
    std::vector<Variant> selected;
    for (const Variant& variant : table)
        if (names.empty() || std::find(wanted.begin(), wanted.end(), variant.name) != wanted.end())
            selected.push_back(variant);
    return selected;
}

} // namespace vkf::tools

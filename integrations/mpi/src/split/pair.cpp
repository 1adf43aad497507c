// SPDX-License-Identifier: MIT
#include "split/pair.hpp"

#include <algorithm>

namespace vkf::mpi {
namespace {

constexpr int64_t unlimited = -1;

[[noreturn]] void refuse(const std::string& text) { throw host::Error(VKF_ERROR_UNSUPPORTED, text); }

// The keys that a row sees, relative to its position, as the masks of the call say.
struct Reach {
    int64_t left = unlimited;
    int64_t right = unlimited;
};

Reach reachOf(const VkfProblem& whole) {
    Reach reach;
    if (has(whole, VKF_USE_WINDOW)) {
        reach = {whole.window.left, whole.window.right};
    }
    if (has(whole, VKF_USE_CAUSAL)) {
        reach.right = 0;
    }
    return reach;
}

enum class Sight { none, some, all };

// What rows see of keys. The first row stands `distance` after the first key.
Sight sightOf(const Reach& reach, int64_t distance, uint32_t rows, uint32_t keys) {
    const int64_t lastRow = int64_t{rows} - 1;
    const int64_t lastKey = int64_t{keys} - 1;
    const bool endsRight = reach.right != unlimited && distance + reach.right < lastKey;
    const bool endsLeft = reach.left != unlimited && lastRow + distance - reach.left > 0;
    if ((endsRight && lastRow + distance + reach.right < 0) || (endsLeft && distance - reach.left > lastKey)) {
        return Sight::none;
    }
    return endsRight || endsLeft ? Sight::some : Sight::all;
}

uint32_t longest(const Chunk& chunk) {
    uint32_t most = 0;
    for (const SequenceRange& range : chunk.ranges) {
        most = std::max(most, range.count);
    }
    return most;
}

// How the sequences of a pair see each other.
struct PairSight {
    bool none = true;
    bool all = true;
    bool onDiagonal = true;         // the first row stands at the first key, in each sequence
    std::vector<int32_t> distances; // by sequence, or one for all
};

PairSight look(const VkfProblem& whole, const Lengths& lengths, const Chunk& rows, const Chunk& keys) {
    PairSight pair;
    const Reach reach = reachOf(whole);
    const uint32_t sequences = hasOwnPositions(whole) ? whole.batch : 1;
    for (uint32_t i = 0; i < sequences; ++i) {
        const SequenceRange& row = rows.ranges[rows.ranges.size() == 1 ? 0 : i];
        const SequenceRange& key = keys.ranges[keys.ranges.size() == 1 ? 0 : i];
        const int64_t distance = row.first + firstPosition(whole, lengths, i) - key.first;
        pair.distances.push_back(static_cast<int32_t>(distance));
        if (row.count == 0 || key.count == 0) {
            continue;
        }
        const Sight sight = sightOf(reach, distance, row.count, key.count);
        pair.none = pair.none && sight == Sight::none;
        pair.all = pair.all && sight == Sight::all;
        pair.onDiagonal = pair.onDiagonal && distance == 0;
    }
    return pair;
}

} // namespace

void checkTensor(const VkfTensor& tensor, const char* name) {
    if (vkfTypeBytes(tensor.type) == 0) {
        refuse(std::string(name) + ".type: " + vkfTypeName(tensor.type) +
               " does not travel between ranks; f32, f16 and bf16 do");
    }
    if (tensor.batchStride != 0 || tensor.headStride != 0 || tensor.rowStride != 0) {
        refuse(std::string(name) + ": strides must be 0, because the part of a rank is dense");
    }
}

void checkWhole(const VkfProblem& whole) {
    constexpr VkfUse known = VKF_USE_LSE | VKF_USE_KEY_LENGTHS | VKF_USE_CU_SEQLENS | VKF_USE_CAUSAL | VKF_USE_WINDOW |
                             VKF_USE_ALIBI | VKF_USE_ALIBI_SLOPES;
    for (uint32_t bit = 0; bit < 31; ++bit) {
        const auto use = static_cast<VkfUseBits>(1U << bit);
        if (has(whole, use) && (known & static_cast<VkfUse>(use)) == 0) {
            refuse(std::string(vkfUseString(use)) + " does not work over ranks");
        }
    }
    VkfMessage message{};
    if (const VkfResult result = vkfCheckProblem(&whole, &message); result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
    checkTensor(whole.q, "q");
    checkTensor(whole.k, "k");
    checkTensor(whole.v, "v");
    checkTensor(whole.o, "o");
    if (whole.window.firstKeys != 0) {
        refuse("window.firstKeys does not work over ranks");
    }
    if (whole.dropout.probability != 0) {
        refuse("dropout does not work over ranks");
    }
    // ALiBi counts distances from the end, whatever the alignment of masks is. Positions have one meaning.
    const bool isMasked = has(whole, VKF_USE_CAUSAL) || has(whole, VKF_USE_WINDOW);
    if (isMasked && has(whole, VKF_USE_ALIBI) && whole.alignment != VKF_ALIGNMENT_BOTTOM_RIGHT) {
        refuse("ALiBi over ranks needs VKF_ALIGNMENT_BOTTOM_RIGHT for masks");
    }
}

bool hasOwnPositions(const VkfProblem& whole) {
    return has(whole, VKF_USE_CU_SEQLENS) || has(whole, VKF_USE_KEY_LENGTHS);
}

bool looksAtPositions(const VkfProblem& whole) {
    return has(whole, VKF_USE_CAUSAL) || has(whole, VKF_USE_WINDOW) || has(whole, VKF_USE_ALIBI);
}

int64_t firstPosition(const VkfProblem& whole, const Lengths& lengths, uint32_t sequence) {
    if (whole.alignment == VKF_ALIGNMENT_TOP_LEFT && !has(whole, VKF_USE_ALIBI)) {
        return 0;
    }
    int64_t rows = whole.queryRows;
    int64_t keys = whole.keys;
    if (has(whole, VKF_USE_CU_SEQLENS)) {
        rows = int64_t{lengths.cuSeqlensQ[sequence + 1]} - lengths.cuSeqlensQ[sequence];
        keys = int64_t{lengths.cuSeqlensK[sequence + 1]} - lengths.cuSeqlensK[sequence];
    }
    if (has(whole, VKF_USE_KEY_LENGTHS)) {
        keys = std::clamp<int64_t>(lengths.keyLengths[sequence], 0, keys);
    }
    return keys - rows;
}

void setPositions(VkfProblem& problem, int64_t distance) {
    enable(problem, VKF_USE_POSITIONS);
    problem.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    problem.positions.firstRow = static_cast<uint32_t>(std::max<int64_t>(distance, 0));
    problem.positions.firstKey = static_cast<uint32_t>(std::max<int64_t>(-distance, 0));
}

std::optional<PairCall> pairCall(const VkfProblem& whole, const Lengths& lengths, const Chunk& rows,
                                 const Chunk& keys) {
    const PairSight sight = look(whole, lengths, rows, keys);
    if (rows.rows == 0 || keys.rows == 0 || sight.none) {
        return std::nullopt;
    }
    PairCall pair{whole, {}};
    VkfProblem& problem = pair.problem;
    problem.queryRows = rows.rows;
    problem.keys = keys.rows;
    enable(problem, VKF_USE_LSE);
    if (has(whole, VKF_USE_CU_SEQLENS)) {
        problem.longestRows = longest(rows);
        problem.longestKeys = longest(keys);
    }
    if (sight.all) {
        enable(problem, VKF_USE_CAUSAL | VKF_USE_WINDOW, false);
        problem.window = {};
        problem.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    }
    if (!looksAtPositions(problem)) {
        return pair;
    }
    if (sight.onDiagonal && !has(whole, VKF_USE_ALIBI)) {
        // Needs no positions, which some kernels do not have.
        problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    } else if (hasOwnPositions(whole)) {
        setPositions(problem, 0);
        enable(problem, VKF_USE_ROW_OFFSETS);
        pair.rowOffsets = sight.distances;
    } else {
        setPositions(problem, sight.distances[0]);
    }
    return pair;
}

std::vector<int32_t> lengthsIn(const Chunk& keys, const int32_t* lengths, uint32_t batch) {
    std::vector<int32_t> inside(batch);
    for (uint32_t i = 0; i < batch; ++i) {
        const SequenceRange& range = keys.ranges[keys.ranges.size() == 1 ? 0 : i];
        inside[i] = static_cast<int32_t>(
            std::clamp<int64_t>(int64_t{lengths[i]} - range.first, 0, static_cast<int64_t>(range.count)));
    }
    return inside;
}

std::vector<int32_t> offsetsIn(const Chunk& chunk) {
    std::vector<int32_t> offsets = {0};
    for (const SequenceRange& range : chunk.ranges) {
        offsets.push_back(offsets.back() + static_cast<int32_t>(range.count));
    }
    return offsets;
}

} // namespace vkf::mpi

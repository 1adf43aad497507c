// SPDX-License-Identifier: MIT
#include "split/pair.hpp"

#include <algorithm>
#include <array>
#include <string>

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

bool isMasked(const VkfProblem& whole) { return has(whole, VKF_USE_CAUSAL) || has(whole, VKF_USE_WINDOW); }

// Position of the first row of a chunk, relative to the first key of another chunk.
int64_t distance(const VkfProblem& whole, const SequenceRange& rows, const SequenceRange& keys) {
    const int64_t shift = whole.alignment == VKF_ALIGNMENT_BOTTOM_RIGHT && !has(whole, VKF_USE_CU_SEQLENS)
                              ? int64_t{whole.keys} - int64_t{whole.queryRows}
                              : 0;
    return int64_t{rows.first} + shift - int64_t{keys.first};
}

// Makes the masks of the pair from those of the whole call. Returns false if no row sees a key.
bool setMasks(VkfProblem& pair, const Reach& reach, int64_t first) {
    const int64_t lastRow = int64_t{pair.queryRows} - 1;
    const int64_t lastKey = int64_t{pair.keys} - 1;
    const bool endsRight = reach.right != unlimited && first + reach.right < lastKey;
    const bool endsLeft = reach.left != unlimited && lastRow + first - reach.left > 0;
    if ((endsRight && lastRow + first + reach.right < 0) || (endsLeft && first - reach.left > lastKey)) {
        return false;
    }
    if (!endsRight && !endsLeft) {
        return true;
    }
    const int64_t left = endsLeft ? reach.left - first : unlimited;
    const int64_t right = endsRight ? first + reach.right : unlimited;
    if ((endsLeft && left < 0) || (endsRight && right < 0)) {
        refuse("a mask whose diagonal begins within a chunk needs positions; take head exchange, or other lengths");
    }
    pair.alignment = VKF_ALIGNMENT_TOP_LEFT;
    if (right == 0 && !endsLeft) {
        enable(pair, VKF_USE_CAUSAL);
    } else {
        enable(pair, VKF_USE_WINDOW);
        pair.window.left = left;
        pair.window.right = right;
    }
    return true;
}

// Packed sequences have as many rows as keys. Both are cut in the same way, so that the numbers of the chunks decide.
bool setPackedMasks(VkfProblem& pair, const Chunk& rows, const Chunk& keys) {
    bool all = true;
    bool any = false;
    bool same = true;
    for (size_t i = 0; i < rows.ranges.size(); ++i) {
        const SequenceRange& row = rows.ranges[i];
        const SequenceRange& key = keys.ranges[i];
        if (row.count == 0 || key.count == 0) {
            continue;
        }
        same = same && row.first == key.first;
        all = all && row.first > key.first;
        any = any || row.first + row.count > key.first;
    }
    if (!all && same && any) {
        enable(pair, VKF_USE_CAUSAL);
        pair.alignment = VKF_ALIGNMENT_TOP_LEFT;
    }
    return any;
}

uint32_t longest(const Chunk& chunk) {
    uint32_t most = 0;
    for (const SequenceRange& range : chunk.ranges) {
        most = std::max(most, range.count);
    }
    return most;
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
}

std::string ringRefusal(const VkfProblem& whole) {
    if (has(whole, VKF_USE_ALIBI) || has(whole, VKF_USE_ALIBI_SLOPES)) {
        return "ALiBi needs head exchange";
    }
    if (has(whole, VKF_USE_CU_SEQLENS) && has(whole, VKF_USE_WINDOW)) {
        return "windows of packed sequences need head exchange";
    }
    if (has(whole, VKF_USE_CU_SEQLENS) && has(whole, VKF_USE_CAUSAL) && whole.queryRows != whole.keys) {
        return "causal masks of packed sequences with more keys than rows need head exchange";
    }
    if (has(whole, VKF_USE_KEY_LENGTHS) && isMasked(whole) && whole.alignment == VKF_ALIGNMENT_BOTTOM_RIGHT) {
        return "masks that align with key lengths need head exchange, or VKF_ALIGNMENT_TOP_LEFT";
    }
    return "";
}

void checkRing(const VkfProblem& whole, const Lengths& lengths) {
    if (const std::string refusal = ringRefusal(whole); !refusal.empty()) {
        refuse(refusal);
    }
    // The packed sequences of a causal call have as many rows as keys in each sequence.
    if (has(whole, VKF_USE_CU_SEQLENS) && has(whole, VKF_USE_CAUSAL) &&
        !std::equal(lengths.cuSeqlensQ, lengths.cuSeqlensQ + whole.batch + 1, lengths.cuSeqlensK)) {
        refuse("causal masks of packed sequences with more keys than rows need head exchange");
    }
}

std::optional<VkfProblem> pairProblem(const VkfProblem& whole, const Chunk& rows, const Chunk& keys) {
    if (rows.rows == 0 || keys.rows == 0) {
        return std::nullopt;
    }
    VkfProblem pair = whole;
    pair.queryRows = rows.rows;
    pair.keys = keys.rows;
    enable(pair, VKF_USE_LSE);
    enable(pair, VKF_USE_CAUSAL | VKF_USE_WINDOW, false);
    pair.window = {};
    pair.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (has(whole, VKF_USE_CU_SEQLENS)) {
        pair.longestRows = longest(rows);
        pair.longestKeys = longest(keys);
        if (has(whole, VKF_USE_CAUSAL) && !setPackedMasks(pair, rows, keys)) {
            return std::nullopt;
        }
    } else if (!setMasks(pair, reachOf(whole), distance(whole, rows.ranges[0], keys.ranges[0]))) {
        return std::nullopt;
    }
    return pair;
}

std::vector<int32_t> lengthsIn(const Chunk& keys, const int32_t* lengths, uint32_t batch) {
    std::vector<int32_t> inside(batch);
    for (uint32_t i = 0; i < batch; ++i) {
        const SequenceRange& range = keys.ranges[keys.ranges.size() == 1 ? 0 : i];
        inside[i] = std::clamp(lengths[i] - static_cast<int32_t>(range.first), 0, static_cast<int32_t>(range.count));
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

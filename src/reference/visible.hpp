// SPDX-License-Identifier: MIT
//
// Which keys a query row sees. Causal masks, windows and lengths all come down to one range, of which block
// masks and boolean ones leave the open parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include <vkflash/problem.h>

namespace vkf::reference {

struct KeyRange {
    int64_t begin;
    int64_t end; // one past the last

    bool empty() const { return begin >= end; }
};

inline KeyRange intersection(KeyRange a, KeyRange b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// The block mask of one head: rows of blocks of rowWords words, a bit a block, 1 = open. No words, no mask.
struct BlockMask {
    const uint32_t* words;
    int64_t block; // rows and keys of a block
    int64_t rowWords;

    bool open(int64_t row, int64_t key) const {
        const int64_t column = key / block;
        return (words[row / block * rowWords + column / 32] >> (column % 32) & 1U) != 0;
    }
};

// The boolean mask of one head, true = keep. No bytes, no mask.
struct BooleanMask {
    const unsigned char* bytes;
    uint64_t bits;  // of an element
    uint64_t first; // element of row 0
    uint64_t rowStride;

    bool keeps(int64_t row, int64_t key) const {
        const uint64_t bit = (first + static_cast<uint64_t>(row) * rowStride + static_cast<uint64_t>(key)) * bits;
        return (bytes[bit / 8] >> (bit % 8) & ((1U << bits) - 1)) != 0;
    }
};

// The documents of one sequence's keys. No ids, no mask.
struct Documents {
    const int32_t* ids;
    int64_t offset; // row i stands at key i + offset

    bool keeps(int64_t row, int64_t key) const { return row + offset >= 0 && ids[row + offset] == ids[key]; }
};

// The mask of one sequence and head. Row i stands at key i + offset and sees those from `left` before it to
// `right` after it.
struct Mask {
    int64_t rows; // the sequence's own
    int64_t keys; // alike
    int64_t offset;
    int64_t left;
    int64_t right;
    BlockMask blocks;
    BooleanMask booleans;
    Documents documents;
    int64_t firstKeys; // seen beside the window
    bool causal;       // no key after a row's own, first ones included

    // How many first keys the row sees beside its window.
    int64_t firstKeysOf(int64_t row) const {
        const int64_t most = causal ? std::clamp<int64_t>(row + offset + 1, 0, keys) : keys;
        return std::min(most, firstKeys);
    }
    // Whether row and key are open to each other, if the key is in the row's range.
    bool open(int64_t row, int64_t key) const {
        return (blocks.words == nullptr || blocks.open(row, key)) &&
               (booleans.bytes == nullptr || booleans.keeps(row, key)) &&
               (documents.ids == nullptr || documents.keeps(row, key)) &&
               (key < firstKeysOf(row) || (key >= row + offset - left && key <= row + offset + right));
    }
    bool askedByKey() const { return booleans.bytes != nullptr || documents.ids != nullptr || firstKeys != 0; }
    bool hasHoles() const { return blocks.words != nullptr || askedByKey(); }
    // The first key after this one that may be open where this one is closed, or the other way round.
    int64_t nextEdge(int64_t key) const { return askedByKey() ? key + 1 : (key / blocks.block + 1) * blocks.block; }
};

// Farther than any key, and small enough to add to any row without overflow.
inline constexpr int64_t unlimited = int64_t{1} << 40;

// Of a sequence of so many rows; keyLength is its entry in keyLengths, or problem.keys.
inline Mask maskOf(const VkfProblem& problem, int64_t rows, int64_t keyLength) {
    const auto reach = [](int64_t limit) { return limit < 0 ? unlimited : std::min(limit, unlimited); };
    Mask mask{};
    mask.rows = rows;
    mask.keys = std::clamp<int64_t>(keyLength, 0, problem.keys);
    mask.offset = problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : mask.keys - rows;
    mask.left = problem.window.enabled != 0 ? reach(problem.window.left) : unlimited;
    mask.right = problem.window.enabled != 0 ? reach(problem.window.right) : unlimited;
    if (problem.causal != 0) {
        mask.right = 0;
    }
    mask.firstKeys = problem.window.enabled != 0 ? problem.window.firstKeys : 0;
    mask.causal = problem.causal != 0;
    return mask;
}

inline KeyRange visibleKeys(const Mask& mask, int64_t row) {
    const int64_t diagonal = row + mask.offset;
    const KeyRange window = intersection({diagonal - mask.left, diagonal + mask.right + 1}, {0, mask.keys});
    const int64_t first = mask.firstKeysOf(row);
    return first > 0 ? KeyRange{0, std::max(first, window.end)} : window; // with what lies between, which is not open
}

// The first part of a range of keys that is open to the row without a gap; empty if all are closed.
inline KeyRange firstOpen(const Mask& mask, int64_t row, KeyRange keys) {
    if (!mask.hasHoles()) {
        return keys;
    }
    const auto edge = [&](int64_t key) { return std::min(mask.nextEdge(key), keys.end); };
    int64_t begin = keys.begin;
    while (begin < keys.end && !mask.open(row, begin)) {
        begin = edge(begin);
    }
    int64_t end = begin;
    while (end < keys.end && mask.open(row, end)) {
        end = edge(end);
    }
    return {begin, end};
}

// Calls visit(KeyRange) for each part of a range of keys that is open to the row, in their order.
template <typename Visit> void forEachOpen(const Mask& mask, int64_t row, KeyRange keys, const Visit& visit) {
    for (KeyRange open = firstOpen(mask, row, keys); !open.empty(); open = firstOpen(mask, row, {open.end, keys.end})) {
        visit(open);
    }
}

} // namespace vkf::reference

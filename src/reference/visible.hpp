// SPDX-License-Identifier: MIT
//
// The keys that a query row sees. Causal masks, windows and lengths give one range of keys. Block masks and per-key
// masks drop keys inside that range. With first keys, the range includes the keys between them and the window, which
// are not visible.
#pragma once

#include <algorithm>
#include <cstdint>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

#include "problem/masks/positions.hpp"

namespace vkf::reference {

struct KeyRange {
    int64_t begin;
    int64_t end; // one past the last

    bool empty() const { return begin >= end; }
};

inline KeyRange intersection(KeyRange a, KeyRange b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// The block mask of one head. A row of blocks has rowWords words, with one bit for each block; 1 = open. Without words
// there is no mask.
struct BlockMask {
    const uint32_t* words;
    int64_t block; // rows and keys of a block
    int64_t rowWords;

    bool open(int64_t row, int64_t key) const {
        const int64_t column = key / block;
        return (words[row / block * rowWords + column / 32] >> (column % 32) & 1U) != 0;
    }
};

// The boolean mask of one head; true = keep. Without bytes there is no mask.
struct BooleanMask {
    const unsigned char* bytes;
    uint64_t bits;  // of an element
    uint64_t first; // element of row 0
    uint64_t rowStride;
    int64_t firstKey; // of column 0; earlier keys are not masked

    bool keeps(int64_t row, int64_t key) const {
        if (key < firstKey) {
            return true;
        }
        const uint64_t column = static_cast<uint64_t>(key - firstKey);
        const uint64_t bit = (first + static_cast<uint64_t>(row) * rowStride + column) * bits;
        return (bytes[bit / 8] >> (bit % 8) & ((1U << bits) - 1)) != 0;
    }
};

// The documents of one sequence's keys. Without ids there is no mask.
struct Documents {
    const int32_t* ids;
    int64_t offset; // row i stands at key i + offset

    bool keeps(int64_t row, int64_t key) const { return row + offset >= 0 && ids[row + offset] == ids[key]; }
};

// The mask of the caller's own, of one head. Without functions there is no mask.
struct OwnMask {
    const VkfReferenceFunctions* functions;
    VkfPosition ofHead; // row and key are 0
    int64_t offset;     // row i stands at key i + offset

    VkfPosition at(int64_t row, int64_t key) const {
        VkfPosition position = ofHead;
        position.row = static_cast<int32_t>(row + offset);
        position.key = static_cast<int32_t>(key);
        return position;
    }
    bool keeps(int64_t row, int64_t key) const {
        const VkfPosition position = at(row, key);
        return functions->keep(&position, functions->user) != 0;
    }
};

// The lists of chosen keys of one head, each in ascending order. Without entries there is no mask.
struct ChosenKeys {
    const int32_t* entries;
    uint64_t count;     // of a list
    uint64_t firstList; // of row 0
    uint64_t rowLists;  // from the list of a row to that of the next one: 1, or 0 if all rows share one

    // The first key at or after this one in the list of a row.
    int64_t next(int64_t row, int64_t key) const {
        const int32_t* const begin = entries + (firstList + static_cast<uint64_t>(row) * rowLists) * count;
        const int32_t* const found = std::lower_bound(begin, begin + count, key);
        return found == begin + count ? int64_t{INT32_MAX} : *found;
    }
};

// The entries of the block table of one sequence. A key whose entry is no page is absent: no row sees it. Without
// entries there is no mask.
struct Pages {
    const int32_t* entries;
    int64_t pageSize;
    int64_t pages;

    bool keeps(int64_t key) const {
        const int32_t entry = entries[key / pageSize];
        return entry >= 0 && entry < pages;
    }
};

// All masks of one sequence and head. Row i stands at i rowStride + offset, key j at j keyStride. The row's window
// reaches from `left` before its position to `right` after it.
struct Mask {
    int64_t rows; // of the sequence
    int64_t keys; // of the sequence
    int64_t offset;
    int64_t rowStride;
    int64_t keyStride;
    int64_t left;
    int64_t right;
    BlockMask blocks;
    BooleanMask booleans;
    Documents documents;
    OwnMask own;
    ChosenKeys chosen;
    Pages pages;
    int64_t firstKeys; // seen in addition to the window
    bool causal;       // a row sees no key after its own, not even first keys

    int64_t rowPosition(int64_t row) const { return row * rowStride + offset; }
    int64_t keyPosition(int64_t key) const { return key * keyStride; }
    // The first key at or after a position.
    int64_t firstKeyFrom(int64_t position) const { return VKF_FIRST_FROM(position, keyStride); }
    // How many first keys the row sees in addition to its window.
    int64_t firstKeysOf(int64_t row) const {
        const int64_t most = causal ? std::clamp<int64_t>(firstKeyFrom(rowPosition(row) + 1), 0, keys) : keys;
        return std::min(most, firstKeys);
    }
    // Whether the row sees a key that is in its range (visibleKeys).
    bool open(int64_t row, int64_t key) const {
        return (blocks.words == nullptr || blocks.open(row, key)) &&
               (booleans.bytes == nullptr || booleans.keeps(row, key)) &&
               (documents.ids == nullptr || documents.keeps(row, key)) &&
               (own.functions == nullptr || own.keeps(row, key)) &&
               (chosen.entries == nullptr || chosen.next(row, key) == key) &&
               (pages.entries == nullptr || pages.keeps(key)) &&
               (key < firstKeysOf(row) ||
                (keyPosition(key) >= rowPosition(row) - left && keyPosition(key) <= rowPosition(row) + right));
    }
    bool hasPerKeyMask() const {
        return booleans.bytes != nullptr || documents.ids != nullptr || own.functions != nullptr || firstKeys != 0 ||
               chosen.entries != nullptr || pages.entries != nullptr;
    }
    bool hasHoles() const { return blocks.words != nullptr || hasPerKeyMask(); }
    // The first key after this one whose visibility may differ from this one.
    int64_t nextEdge(int64_t key) const { return hasPerKeyMask() ? key + 1 : (key / blocks.block + 1) * blocks.block; }
};

// Farther than any key, and small enough to add to any row without overflow.
inline constexpr int64_t unlimited = int64_t{1} << 40;

// Returns the masks of a sequence of `rows` rows. keyLength is its entry in keyLengths, or its number of keys.
// rowOffset is its entry in rowOffsets, if there are any.
inline Mask maskOf(const VkfProblem& problem, int64_t rows, int64_t keyLength, int64_t rowOffset) {
    const auto reach = [](int64_t limit) { return limit < 0 ? unlimited : std::min(limit, unlimited); };
    Mask mask{};
    mask.rows = rows;
    mask.keys = std::clamp<int64_t>(keyLength, 0, problem.keys);
    mask.offset = rowOffsetOf(problem, rows, mask.keys, rowOffset);
    mask.rowStride = rowStrideOf(problem);
    mask.keyStride = keyStrideOf(problem);
    mask.left = has(problem, VKF_USE_WINDOW) ? reach(problem.window.left) : unlimited;
    mask.right = has(problem, VKF_USE_WINDOW) ? reach(problem.window.right) : unlimited;
    if (has(problem, VKF_USE_CAUSAL)) {
        mask.right = 0;
    }
    mask.firstKeys = has(problem, VKF_USE_WINDOW) ? problem.window.firstKeys : 0;
    mask.causal = has(problem, VKF_USE_CAUSAL);
    return mask;
}

inline KeyRange visibleKeys(const Mask& mask, int64_t row) {
    const int64_t diagonal = mask.rowPosition(row);
    const KeyRange window = intersection(
        {mask.firstKeyFrom(diagonal - mask.left), mask.firstKeyFrom(diagonal + mask.right + 1)}, {0, mask.keys});
    const int64_t first = mask.firstKeysOf(row);
    return first > 0 ? KeyRange{0, std::max(first, window.end)} : window; // with the keys between, which are not open
}

// Returns the first keys of a range that the row sees without a gap; empty if it sees none.
inline KeyRange firstOpen(const Mask& mask, int64_t row, KeyRange keys) {
    if (!mask.hasHoles()) {
        return keys;
    }
    const auto edge = [&](int64_t key) { return std::min(mask.nextEdge(key), keys.end); };
    int64_t begin = keys.begin;
    while (begin < keys.end && !mask.open(row, begin)) {
        begin = edge(begin);
        if (mask.chosen.entries != nullptr) {
            begin = std::min(mask.chosen.next(row, begin), keys.end);
        }
    }
    int64_t end = begin;
    while (end < keys.end && mask.open(row, end)) {
        end = edge(end);
    }
    return {begin, end};
}

// Calls visit(KeyRange) for each run of keys that the row sees without a gap, within a range of keys and in their
// order.
template <typename Visit> void forEachOpen(const Mask& mask, int64_t row, KeyRange keys, const Visit& visit) {
    for (KeyRange open = firstOpen(mask, row, keys); !open.empty(); open = firstOpen(mask, row, {open.end, keys.end})) {
        visit(open);
    }
}

} // namespace vkf::reference

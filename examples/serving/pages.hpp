// SPDX-License-Identifier: MIT
//
// The pages of the cache: a free list, and a count of the sequences that use each page. A block table is a list of
// pages. A page whose rows several sequences share stands in the block table of each of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

constexpr uint32_t pageSize = 16; // rows
constexpr uint32_t pages = 36;    // of the whole cache
constexpr uint32_t maxPages = 10; // of one sequence

using BlockTable = std::vector<int32_t>;

constexpr uint32_t pagesFor(uint32_t rows) { return (rows + pageSize - 1) / pageSize; }

class PagePool {
public:
    PagePool() : users_(pages), free_(pages) { std::iota(free_.begin(), free_.end(), 0); }

    uint32_t freePages() const { return static_cast<uint32_t>(free_.size()); }
    uint32_t mostUsed() const { return mostUsed_; }

    // Lets `table` refer to the pages of `prefix`, and adds free pages until it has room for `rows` rows.
    void fill(BlockTable& table, const BlockTable& prefix, uint32_t rows) {
        table = prefix;
        for (const int32_t page : prefix) {
            users_[static_cast<uint32_t>(page)]++;
        }
        while (table.size() < pagesFor(rows)) {
            if (free_.empty()) {
                throw std::runtime_error("no page is free");
            }
            users_[static_cast<uint32_t>(free_.back())] = 1;
            table.push_back(free_.back());
            free_.pop_back();
        }
        mostUsed_ = std::max(mostUsed_, pages - freePages());
    }

    // Gives the pages back. A page that others still use stays in use.
    void release(BlockTable& table) {
        for (const int32_t page : table) {
            if (--users_[static_cast<uint32_t>(page)] == 0) {
                free_.push_back(page);
            }
        }
        table.clear();
    }

private:
    std::vector<uint32_t> users_;
    std::vector<int32_t> free_;
    uint32_t mostUsed_ = 0;
};

// SPDX-License-Identifier: MIT
//
// The index arithmetic of the kernels of the backward pass on path wgmma that own keys
// (shaders/wgmma_backward/item.hpp), compiled for the host: work items, the rows that see a key, and the walk over
// tiles of rows. Kernels that own rows have the arithmetic of the forward pass (wgmma_item_test.cpp). No device is
// needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/dice.hpp"
#include "wgmma_backward/item.hpp"

namespace {

namespace wgmma = vkf::wgmma;
using vkf::shared::Address;
using vkf::test::Dice;

// A call, with the memory that its kernels read.
struct Call {
    uint32_t sequences = 1;
    uint32_t kvHeads = 1;
    uint32_t group = 1; // query heads of a KV head
    uint32_t tileKeys = 128;
    uint32_t tileRows = 64;
    vkf::shared::AttentionParams params{};
    vkf::shared::WgmmaConstants constants{};
    vkf::shared::BackwardTable table{};
    std::vector<int32_t> lengths{};

    wgmma::Call arguments() {
        params.heads = kvHeads * group | group << 16;
        table.kv_heads = kvHeads;
        const auto address = reinterpret_cast<Address>(&table);
        params.extra_slot_low = static_cast<int32_t>(address);
        params.extra_slot_high = static_cast<int32_t>(address >> 32);
        params.key_lengths = reinterpret_cast<Address>(lengths.data());
        constants.key_lengths = lengths.empty() ? 0 : 1;
        constants.extra_slot = VKF_EXTRA_SLOT_HAS_TABLE;
        constants.packed_heads = constants.interleaved_heads = constants.key_splits = 1;
        return {params, constants};
    }
    uint32_t items() const { return (params.keys + tileKeys - 1) / tileKeys * kvHeads * sequences; }
};

Call callOf(uint32_t rows, uint32_t keys) {
    Call one;
    one.params.query_rows = rows;
    one.params.keys = keys;
    return one;
}

// left < 0, right < 0: unlimited.
Call* setWindow(Call* one, int32_t left, int32_t right, bool topLeft = false) {
    one->constants.window = 1;
    one->constants.window_left = left < 0 ? VKF_UNLIMITED_LEFT : left;
    one->constants.window_right = right < 0 ? VKF_UNLIMITED_RIGHT : right;
    one->constants.top_left = topLeft ? 1 : 0;
    return one;
}

// Follows the walks of all items. check() returns the first mistake as text, or an empty text.
class Walked {
public:
    explicit Walked(Call one) : call_(std::move(one)), arguments_(call_.arguments()) {}

    std::string check() {
        const auto& params = call_.params;
        heads_ = call_.kvHeads * call_.group;
        visits_.assign(uint64_t{call_.sequences} * heads_ * params.query_rows * params.keys, 0);
        owners_.assign(uint64_t{call_.sequences} * call_.kvHeads * params.keys, 0);
        for (uint32_t number = 0; number < call_.items(); number++) {
            checkItem(wgmma::keyItemOf(arguments_, call_.tileKeys, number));
        }
        expect(std::count(owners_.begin(), owners_.end(), 1) == static_cast<ptrdiff_t>(owners_.size()),
               "keys without an item or with two");
        checkVisits();
        return wrong_;
    }

private:
    void expect(bool holds, const char* mistake) {
        if (!holds && wrong_.empty()) {
            wrong_ = mistake;
        }
    }

    uint32_t keysOf(uint32_t sequence) const {
        return call_.lengths.empty() ? call_.params.keys
                                     : static_cast<uint32_t>(std::clamp(call_.lengths[sequence], 0,
                                                                        static_cast<int32_t>(call_.params.keys)));
    }

    bool isVisible(uint32_t sequence, int64_t row, int64_t key) const {
        const int64_t keys = keysOf(sequence);
        const int64_t at = row + (call_.constants.top_left != 0 ? 0 : keys - int64_t{call_.params.query_rows});
        const bool inWindow = call_.constants.window == 0 ||
                              (key >= at - call_.constants.window_left && key <= at + call_.constants.window_right);
        return key < keys && inWindow;
    }

    void checkItem(const wgmma::KeyItem& own) {
        const uint32_t sequence = own.item.batch;
        expect(own.item.head == own.item.kv_head * call_.group && own.heads == call_.group, "an item has wrong heads");
        expect(own.item.keys == keysOf(sequence), "an item has a wrong number of keys");
        for (uint32_t key = own.key_begin; key < std::min(own.key_begin + call_.tileKeys, own.stored_keys); key++) {
            owners_[(uint64_t{sequence} * call_.kvHeads + own.item.kv_head) * call_.params.keys + key]++;
        }
        const wgmma::RowWalk walk = wgmma::rowWalkOf(arguments_, own, call_.tileKeys, call_.tileRows);
        expect(wgmma::tilesOf(walk) == wgmma::fullTiles(walk) + wgmma::partialTiles(walk), "tiles are lost");
        const uint32_t steps = wgmma::tilesOf(walk) * walk.heads;
        wgmma::RowCursor cursor = wgmma::firstOf(walk);
        bool partial = false;
        for (uint32_t step = 0; step < steps; step++) {
            expect(!partial || cursor.partial, "a full tile comes behind a partial one");
            expect(cursor.partial == (step >= wgmma::fullTiles(walk) * walk.heads),
                   "consumers take a tile of the other kind");
            partial = cursor.partial;
            visit(own, cursor);
            wgmma::advance(walk, cursor);
        }
    }

    void visit(const wgmma::KeyItem& own, const wgmma::RowCursor& cursor) {
        const uint32_t sequence = own.item.batch;
        const uint32_t end = std::min((cursor.tile + 1) * call_.tileRows, call_.params.query_rows);
        uint64_t visible = 0;
        uint64_t pairs = 0;
        for (uint32_t row = cursor.tile * call_.tileRows; row < end; row++) {
            for (uint32_t key = own.key_begin; key < std::min(own.key_begin + call_.tileKeys, own.item.keys); key++) {
                const auto at = static_cast<int32_t>(key);
                const wgmma::Range rows = wgmma::rowsThatSee(arguments_, own.item, at, at);
                const bool seen = static_cast<int32_t>(row) >= rows.begin && static_cast<int32_t>(row) < rows.end;
                expect(seen == isVisible(sequence, row, key), "rowsThatSee is wrong");
                pairs++;
                visible += seen ? 1 : 0;
                if (seen) {
                    visits_[pairNumber(sequence, own.item.head + cursor.head, row, key)]++;
                }
            }
        }
        expect(visible != 0, "the walk has an empty tile");
        expect(cursor.partial || visible == pairs, "a full tile has an invisible pair");
    }

    uint64_t pairNumber(uint32_t sequence, uint32_t head, uint32_t row, uint32_t key) const {
        return ((uint64_t{sequence} * heads_ + head) * call_.params.query_rows + row) * call_.params.keys + key;
    }

    void checkVisits() {
        for (uint32_t sequence = 0; sequence < call_.sequences; sequence++) {
            for (uint32_t head = 0; head < heads_; head++) {
                for (uint32_t row = 0; row < call_.params.query_rows; row++) {
                    for (uint32_t key = 0; key < call_.params.keys; key++) {
                        expect(visits_[pairNumber(sequence, head, row, key)] == (isVisible(sequence, row, key) ? 1 : 0),
                               "a visible pair lies in no tile of the walks, or in two");
                    }
                }
            }
        }
    }

    Call call_;
    wgmma::Call arguments_;
    uint32_t heads_ = 0;
    std::vector<uint8_t> visits_; // of each pair of a row and a key
    std::vector<uint8_t> owners_; // items of each key
    std::string wrong_;
};

constexpr const char* right = "no mistake";

// The first mistake of a walk.
std::string mistakeOf(const Call& one) {
    const std::string mistake = Walked(one).check();
    return mistake.empty() ? right : mistake;
}

} // namespace

TEST_CASE("owners of keys visit each visible pair once", "[planning]") {
    CHECK(mistakeOf(callOf(200, 300)) == right);
    CHECK(mistakeOf(callOf(64, 128)) == right);
    CHECK(mistakeOf(callOf(0, 10)) == right);
    CHECK(mistakeOf(callOf(1, 1)) == right);
    for (const bool topLeft : {false, true}) {
        for (const auto& [rows, keys] : {std::pair{300U, 300U}, {70U, 500U}, {500U, 70U}}) {
            Call causal = callOf(rows, keys);
            causal.group = 2;
            CHECK(mistakeOf(*setWindow(&causal, -1, 0, topLeft)) == right);
            CHECK(mistakeOf(*setWindow(&causal, 40, 0, topLeft)) == right);
            CHECK(mistakeOf(*setWindow(&causal, 0, 0, topLeft)) == right);
            CHECK(mistakeOf(*setWindow(&causal, 150, 33, topLeft)) == right);
            CHECK(mistakeOf(*setWindow(&causal, 3, -1, topLeft)) == right);
        }
    }
}

// The sequences of random lengths, some of them empty.
TEST_CASE("items of packed sequences own each row and each key once", "[planning]") {
    Dice dice(7);
    for (uint32_t i = 0; i < 100; i++) {
        Call one = callOf(0, 0);
        one.constants.packed_sequences = 1;
        one.constants.window = i % 2;
        one.kvHeads = 1 + dice.below(2);
        one.group = 1 + dice.below(2);
        one.table.call.sequences = 1 + dice.below(7);
        std::vector<int32_t> rowStarts = {0};
        std::vector<int32_t> keyStarts = {0};
        for (uint32_t sequence = 0; sequence < one.table.call.sequences; sequence++) {
            rowStarts.push_back(rowStarts.back() + static_cast<int32_t>(dice.oneIn(3) ? 0 : dice.below(400)));
            keyStarts.push_back(keyStarts.back() + static_cast<int32_t>(dice.oneIn(3) ? 0 : dice.below(400)));
        }
        one.params.query_rows = static_cast<uint32_t>(rowStarts.back());
        one.params.keys = static_cast<uint32_t>(keyStarts.back());
        one.table.call.row_starts = reinterpret_cast<Address>(rowStarts.data());
        one.table.call.key_starts = reinterpret_cast<Address>(keyStarts.data());
        one.table.call.longest_rows = one.table.call.longest_keys = 1000;
        const wgmma::Call call = one.arguments();
        const uint32_t heads = one.kvHeads * one.group;
        std::vector<uint8_t> rows(uint64_t{heads} * one.params.query_rows);
        std::vector<uint8_t> keys(uint64_t{one.kvHeads} * one.params.keys);
        const uint32_t tileRows = dice.of<2>({128, 192});
        for (uint32_t number = 0; number < wgmma::tilesOfAll(call, one.params.query_rows, tileRows) * heads; number++) {
            const wgmma::Item item = wgmma::rowItemOf(call, tileRows, number);
            for (uint32_t row = item.row_begin; row < std::min(item.row_begin + tileRows, item.rows); row++) {
                rows[uint64_t{item.head} * one.params.query_rows + item.first_row + row]++;
            }
        }
        for (uint32_t number = 0; number < wgmma::tilesOfAll(call, one.params.keys, 128) * one.kvHeads; number++) {
            const wgmma::KeyItem own = wgmma::keyItemOf(call, 128, number);
            for (uint32_t key = own.key_begin; key < std::min(own.key_begin + 128, own.stored_keys); key++) {
                keys[uint64_t{own.item.kv_head} * one.params.keys + own.item.first_key + key]++;
            }
        }
        CHECK(std::count(rows.begin(), rows.end(), 1) == static_cast<ptrdiff_t>(rows.size()));
        CHECK(std::count(keys.begin(), keys.end(), 1) == static_cast<ptrdiff_t>(keys.size()));
    }
}

// Rows of an item of the forward pass.
TEST_CASE("items of rows are those of the forward pass", "[planning]") {
    for (const bool window : {false, true}) {
        Call one = callOf(1000, 300);
        one.sequences = 3;
        one.kvHeads = 2;
        one.group = 2;
        one.constants.window = window ? 1 : 0;
        const wgmma::Call call = one.arguments();
        for (uint32_t number = 0; number < 6 * 4 * 3; number++) {
            const wgmma::Item item = wgmma::rowItemOf(call, 192, number);
            const wgmma::Item forward = wgmma::itemOf(call, 192, number);
            CHECK(item.batch == forward.batch);
            CHECK(item.head == forward.head);
            CHECK(item.kv_head == forward.kv_head);
            CHECK(item.row_begin == forward.row_begin);
            CHECK(item.offset == forward.offset);
            CHECK(item.partial_result == forward.partial_result);
        }
    }
}

TEST_CASE("owners of keys visit each visible pair of random calls once", "[planning]") {
    Dice dice(54);
    for (uint32_t i = 0; i < 200; i++) {
        Call one = callOf(dice.below(220), 1 + dice.below(280));
        one.sequences = 1 + dice.below(3);
        one.kvHeads = 1 + dice.below(2);
        one.group = 1 + dice.below(3);
        one.tileRows = dice.of<3>({16, 32, 64});
        one.tileKeys = dice.of<2>({128, 192});
        if (dice.oneIn(2)) {
            for (uint32_t sequence = 0; sequence < one.sequences; sequence++) {
                one.lengths.push_back(static_cast<int32_t>(dice.below(400)) - 50);
            }
        }
        if (!dice.oneIn(3)) {
            setWindow(&one, static_cast<int32_t>(dice.below(200)) - 1, static_cast<int32_t>(dice.below(100)) - 1,
                      dice.oneIn(2));
        }
        INFO("call " << i << ": " << one.params.query_rows << " rows, " << one.params.keys << " keys");
        CHECK(mistakeOf(one) == right);
    }
}

// SPDX-License-Identifier: MIT
//
// The index arithmetic of the kernels of path wgmma (shaders/wgmma/item.hpp), compiled for the host: work items,
// visible keys, the walk over tiles, key splits, addresses and pages. The launches are those of plans for a described
// H100. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "calls/addresses.hpp"
#include "pipelines/launches.hpp"
#include "reference/visible.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/dice.hpp"
#include "support/plans.hpp"
#include "wgmma/item.hpp"
#include "wgmma/tile.hpp"

namespace {

namespace reference = vkf::reference;
namespace wgmma = vkf::wgmma;
using vkf::shared::Address;
using vkf::test::Data;
using vkf::test::Dice;

constexpr std::array tensorBases = {Address{1} << 40, Address{2} << 40, Address{3} << 40, Address{4} << 40};

// A problem with the contents of keyLengths, cuSeqlensQ, cuSeqlensK and blockTable.
struct Case {
    VkfProblem problem;
    Data data;
    std::vector<int32_t> blockTable{};

    bool packed() const { return vkf::has(problem, VKF_USE_CU_SEQLENS); }
    bool paged() const { return vkf::has(problem, VKF_USE_BLOCK_TABLE); }
    bool packedKeys() const { return packed() && !paged(); }
    int32_t firstRow(uint32_t sequence) const { return packed() ? data.cuSeqlensQ[sequence] : 0; }
    int32_t firstKey(uint32_t sequence) const { return packedKeys() ? data.cuSeqlensK[sequence] : 0; }
    reference::Pages pages(uint32_t sequence) const {
        const VkfPaging& paging = problem.paging;
        return paged()
                   ? reference::Pages{&blockTable[size_t{sequence} * paging.maxPages], paging.pageSize, paging.pages}
                   : reference::Pages{};
    }
    reference::Mask mask(uint32_t sequence) const {
        const int64_t rows = packed() ? data.cuSeqlensQ[sequence + 1] - firstRow(sequence) : int64_t{problem.queryRows};
        const int64_t keys = packedKeys() ? data.cuSeqlensK[sequence + 1] - firstKey(sequence) : int64_t{problem.keys};
        const bool lengths = vkf::has(problem, VKF_USE_KEY_LENGTHS);
        return reference::maskOf(problem, rows, lengths ? std::min<int64_t>(data.keyLengths[sequence], keys) : keys, 0);
    }
};

bool isVisible(const reference::Mask& mask, int64_t row, int64_t key) {
    const reference::KeyRange range = reference::visibleKeys(mask, row);
    return key >= range.begin && key < range.end && mask.open(row, key);
}

// The launches of one plan. check() returns the first mistake as text, or an empty text.
class Launched {
public:
    explicit Launched(const Case& one) : case_(one), plan_(vkf::test::planOf(vkf::test::hopperCaps(), one.problem)) {
        const auto isAttention = [](const vkf::Phase& phase) {
            return phase.variant.kernel == vkf::Kernel::attentionWgmma;
        };
        const auto phase = std::find_if(plan_.phases.begin(), plan_.phases.end(), isAttention);
        REQUIRE(phase != plan_.phases.end());
        REQUIRE(phase->rounds == 1);
        phase_ = &*phase;
        constants_ = vkf::wgmmaConstants(phase->variant.constants);
        listSequences();
        addresses_.keyLengths = reinterpret_cast<Address>(one.data.keyLengths.data());
        addresses_.table.block_table = reinterpret_cast<Address>(one.blockTable.data());
        addresses_.table.row_starts = reinterpret_cast<Address>(one.data.cuSeqlensQ.data());
        addresses_.table.key_starts = reinterpret_cast<Address>(one.data.cuSeqlensK.data());
        addresses_.table.tile_sequences = reinterpret_cast<Address>(tileSequences_.data());
        addresses_.table.sequences = one.problem.batch;
        addresses_.table.tile_count = plan_.tileSequences.count;
        addresses_.table.longest_rows = vkf::longestRowsOf(one.problem);
        addresses_.table.longest_keys = vkf::longestKeysOf(one.problem);
        addresses_.tableAddress = reinterpret_cast<Address>(&addresses_.table);
        for (size_t i = 0; i < tensorBases.size(); i++) {
            addresses_.at(phase->operands[i]) = tensorBases[i];
        }
        params_ = std::bit_cast<vkf::shared::AttentionParams>(vkf::paramsOf(*phase, addresses_));
    }

    const vkf::shared::WgmmaConstants& constants() const { return constants_; }
    uint32_t steps() const { return phase_->steps(); }
    bool foundAbsentKeys() const { return foundAbsentKeys_; }

    std::string check() {
        const VkfProblem& p = case_.problem;
        const uint64_t sequences = case_.packed() ? 1 : p.batch;
        owners_.assign(sequences * constants_.key_splits * p.queryHeads * p.queryRows, 0);
        visited_.assign(sequences * p.queryHeads * p.queryRows * p.keys, false);
        for (uint32_t first = 0; first < phase_->items; first += phase_->itemsPerStep) {
            params_.first_item = first;
            const uint32_t workgroups = std::min(phase_->itemsPerStep, phase_->items - first);
            for (uint32_t workgroup = 0; workgroup < workgroups && wrong_.empty(); workgroup++) {
                checkItem(params_.first_item + workgroup);
            }
        }
        expect(std::count(owners_.begin(), owners_.end(), 1) == static_cast<ptrdiff_t>(owners_.size()),
               "rows without an item or with two");
        expect(std::count(visited_.begin(), visited_.end(), true) == visiblePairs_,
               "a visible pair lies in no tile of the walks");
        return wrong_;
    }

private:
    void expect(bool holds, const char* mistake) {
        if (!holds && wrong_.empty()) {
            wrong_ = mistake;
        }
    }

    // As list_sequences.comp writes it.
    void listSequences() {
        const vkf::TileSequences& tiles = plan_.tileSequences;
        tileSequences_.resize(tiles.count);
        for (uint32_t sequence = 0; sequence < case_.problem.batch && tiles.count != 0; sequence++) {
            const auto row = static_cast<uint32_t>(case_.firstRow(sequence));
            const uint32_t begin = VKF_FIRST_SEQUENCE_TILE(row, tiles.packedHeads, tiles.tileRows, sequence);
            std::fill(tileSequences_.begin() + (sequence == 0 ? 0 : begin), tileSequences_.end(), sequence);
        }
    }

    void visit(const wgmma::Item& item, uint64_t head, uint64_t row, uint64_t key) {
        const uint64_t firstHead = case_.packed() ? 0 : uint64_t{item.batch} * case_.problem.queryHeads;
        const uint64_t headRow = (firstHead + head) * case_.problem.queryRows + item.first_row + row;
        std::vector<bool>::reference visited = visited_[headRow * case_.problem.keys + key];
        expect(!visited, "a visible pair lies in two tiles of the walks");
        visited = true;
    }

    // In a sequence or in a page.
    Address elementAddress(VkfTensorRole role, uint32_t number, uint64_t head, uint64_t row,
                           bool inPage = false) const {
        const VkfTensorLayout layout = vkf::layoutOf(case_.problem, role);
        const uint64_t batch = case_.packed() && !inPage ? 0 : number;
        const uint64_t element = batch * layout.batchStride + head * layout.headStride + row * layout.rowStride;
        return tensorBases[static_cast<size_t>(role)] + element * vkfTypeBytes(layout.type);
    }

    void checkItem(uint32_t number) {
        const wgmma::Call call{params_, constants_};
        wgmma::Item item = itemOf(call, plan_.tile.rows, number);
        if (isIdle(call, item)) {
            return;
        }
        const reference::Mask mask = case_.mask(item.batch);
        expect(item.rows == mask.rows && item.keys == mask.keys, "wrong rows or keys of the sequence");
        const uint32_t end = std::min(item.row_begin + plan_.tile.rows, packedRows(call, item));
        expect(item.row_begin < end, "an item has no rows");
        const auto firstKey = static_cast<uint64_t>(case_.firstKey(item.batch));
        if (case_.paged()) {
            checkPages(call, item);
            item.some_absent = findsAbsentKey(call, item);
            foundAbsentKeys_ = foundAbsentKeys_ || item.some_absent;
        } else {
            expect(keyHeadAddress(call, params_.k, VKF_K, item) ==
                       elementAddress(VKF_TENSOR_K, item.batch, item.kv_head, firstKey),
                   "wrong address of k");
        }
        for (uint32_t packedRow = item.row_begin; packedRow < end && wrong_.empty(); packedRow++) {
            checkRow(call, item, mask, packedRow);
        }
        const wgmma::Walk walk = walkOf(call, item, plan_.tile.rows, plan_.tile.keys);
        expect(walk.step_end <= tilesOf(walk), "a share passes the end of the walk");
        for (uint32_t position = walk.step; position < walk.step_end && wrong_.empty(); position++) {
            checkTile(call, item, mask, tileAt(walk, position) * plan_.tile.keys, position < fullTiles(walk));
        }
    }

    // The keys of a sequence lie where the block table says. Absent ones count as row of the last page.
    void checkPages(const wgmma::Call call, const wgmma::Item& item) {
        const VkfPaging& paging = case_.problem.paging;
        const reference::Pages pages = case_.pages(item.batch);
        const Address table = tableOf(call, item);
        for (uint32_t key = 0; key < item.keys && wrong_.empty(); key++) {
            const wgmma::KeyPlace place = placeOf(call, table, key);
            expect(isPage(call, place.entry) == pages.keeps(key), "a key is absent, or the other way round");
            const uint32_t page = std::min(place.entry, paging.pages - 1);
            for (const VkfTensorRole role : {VKF_TENSOR_K, VKF_TENSOR_V}) {
                const auto tensor = static_cast<uint32_t>(role);
                expect(keyHeadAddress(call, tensorBases.at(tensor), tensor, item) +
                               Address{wordsTo(call, tensor, place)} * 16 ==
                           elementAddress(role, page, item.kv_head, key % paging.pageSize, true),
                       "wrong address of a key in pages");
            }
        }
    }

    // As `threads` threads find it together.
    bool findsAbsentKey(const wgmma::Call call, const wgmma::Item& item, uint32_t threads) const {
        bool found = false;
        for (uint32_t thread = 0; thread < threads; thread++) {
            found = found || wgmma::findsAbsentKey(call, item, plan_.tile.rows, thread, threads);
        }
        return found;
    }

    bool findsAbsentKey(const wgmma::Call call, const wgmma::Item& item) {
        const bool found = findsAbsentKey(call, item, plan_.tile.workgroupSize);
        expect(found == findsAbsentKey(call, item, 3), "few threads, of many entries each, find something else");
        const reference::Mask mask = case_.mask(item.batch);
        const reference::Pages pages = case_.pages(item.batch);
        const uint32_t end = std::min(item.row_begin + plan_.tile.rows, packedRows(call, item));
        bool sees = false;
        bool any = false;
        for (uint32_t key = 0; key < item.keys; key++) {
            any = any || !pages.keeps(key);
            for (uint32_t row = item.row_begin; row < end && !sees; row++) {
                sees = !pages.keeps(key) && ::isVisible(mask, queryRow(call, row), key);
            }
        }
        expect(found || !sees, "a workgroup does not find the absent key that its rows would see");
        expect(!found || any, "a workgroup finds an absent key where there is none");
        return found;
    }

    void checkRow(const wgmma::Call call, const wgmma::Item& item, const reference::Mask& mask, uint32_t packedRow) {
        const VkfProblem& p = case_.problem;
        const uint32_t row = queryRow(call, packedRow);
        const uint32_t head = item.head + headOfRow(call, packedRow);
        expect(item.kv_head == head / (p.queryHeads / p.kvHeads), "a row has the keys of another head");
        const uint64_t inTensor = static_cast<uint64_t>(case_.firstRow(item.batch)) + row;
        const uint64_t partialResult = (case_.packed() ? 0 : uint64_t{item.batch} * constants_.key_splits) + item.split;
        const Address number = rowNumber(call, item, head, row);
        expect(number == (partialResult * p.queryHeads + head) * p.queryRows + inTensor, "wrong number of a row");
        owners_.at(number)++;
        const auto address = [&](uint32_t tensor, uint32_t batch) {
            return headAddress(call, tensorBases.at(tensor), tensor, batch, head, item.first_row) +
                   Address{row} * params_.row_stride[tensor];
        };
        expect(address(VKF_Q, item.batch) == elementAddress(VKF_TENSOR_Q, item.batch, head, inTensor),
               "wrong address of q");
        const Address o = constants_.key_splits == 1
                              ? elementAddress(VKF_TENSOR_O, item.batch, head, inTensor)
                              : tensorBases[VKF_O] + number * constants_.value_dim * sizeof(float);
        expect(address(VKF_O, item.partial_result) == o, "wrong address of o");
        const wgmma::VisibleKeys visible = visibleKeys(call, item, row);
        for (int32_t key = 0; key < static_cast<int32_t>(item.keys + plan_.tile.keys); key++) {
            const bool expected = ::isVisible(mask, row, key);
            expect(isVisible(visible, key) == expected, "a row sees other keys than the reference");
            visiblePairs_ += expected && item.split == 0 ? 1 : 0;
        }
    }

    void checkTile(const wgmma::Call call, const wgmma::Item& item, const reference::Mask& mask, uint32_t firstKey,
                   bool full) {
        expect(firstKey < item.keys, "a tile lies beyond the keys");
        const uint32_t end = std::min(item.row_begin + plan_.tile.rows, packedRows(call, item));
        uint32_t pairs = 0;
        for (uint32_t packedRow = item.row_begin; packedRow < end; packedRow++) {
            const uint32_t row = queryRow(call, packedRow);
            for (uint32_t key = firstKey; key < firstKey + plan_.tile.keys; key++) {
                if (::isVisible(mask, row, key)) {
                    pairs++;
                    visit(item, item.head + headOfRow(call, packedRow), row, key);
                }
            }
        }
        const bool allVisible = pairs == (end - item.row_begin) * plan_.tile.keys;
        expect(pairs != 0, "the walk has an empty tile");
        expect(!full || allVisible, "a full tile has an invisible pair");
        expect(!full || !item.some_absent, "a tile counts as full although keys are absent");
        // First keys and a window may fill a tile together. The walk takes it as partial.
        expect(full || !allVisible || item.some_absent || constants_.first_keys != 0,
               "a full tile is taken as partial");
    }

    const Case& case_;
    vkf::AttentionPlan plan_;
    const vkf::Phase* phase_ = nullptr;
    vkf::shared::WgmmaConstants constants_{};
    std::vector<uint32_t> tileSequences_;
    vkf::Addresses addresses_;
    vkf::shared::AttentionParams params_{};
    std::vector<uint8_t> owners_; // items of each row of each partial result
    std::vector<bool> visited_;   // pairs of a row and a visible key that lie in a tile of a walk
    ptrdiff_t visiblePairs_ = 0;
    bool foundAbsentKeys_ = false;
    std::string wrong_;
};

Case caseOf(const vkf::test::Shape& shape) {
    Case one{vkf::test::problemOf(shape), {}};
    one.problem.path = VKF_PATH_WGMMA;
    one.problem.kvSplits = 1;
    return one;
}

// These return their argument, for the next change.
Case* setWindow(Case* one, int64_t left, int64_t right, uint32_t firstKeys = 0) {
    vkf::enable(one->problem, VKF_USE_WINDOW);
    one->problem.window.left = left;
    one->problem.window.right = right;
    one->problem.window.firstKeys = firstKeys;
    return one;
}
Case* setLengths(Case* one, const std::vector<int32_t>& lengths) {
    vkf::enable(one->problem, VKF_USE_KEY_LENGTHS);
    one->data.keyLengths = lengths;
    return one;
}
Case* setCausal(Case* one, VkfAlignment alignment = VKF_ALIGNMENT_BOTTOM_RIGHT) {
    vkf::enable(one->problem, VKF_USE_CAUSAL);
    one->problem.alignment = alignment;
    return one;
}
// Pages of each size in any order. One entry of `absentOf` is no page; 0 = all are pages.
Case* setPages(Case* one, uint32_t pageKeys, uint32_t absentOf) {
    VkfProblem& p = one->problem;
    p.longestKeys = 0; // keys are not packed
    vkf::test::setPages(p, pageKeys, 3);
    const std::array<uint32_t, 3> noPages = {0xffffffffU, p.paging.pages, 0x80000000U};
    Dice dice(pageKeys);
    for (uint32_t i = 0; i < p.batch * p.paging.maxPages; i++) {
        const bool absent = absentOf != 0 && dice.oneIn(absentOf);
        one->blockTable.push_back(static_cast<int32_t>(absent ? dice.of(noPages) : dice.below(p.paging.pages)));
    }
    return one;
}
Case* setPacked(Case* one) {
    vkf::test::setPacked(one->problem, one->data, {0, 130, 1, 0, 70, 0}, {40, 150, 0, 0, 129, 0});
    return one;
}

struct Change {
    uint32_t splits;
    void (*change)(Case*);
};

const std::vector<int32_t> lengths = {1, 257, -7, 9999};
const std::vector<int32_t> packedLengths = {-1, 100, 5, 0, 999, 3};

// Changes of up to four sequences.
const Change changes[] = {
    {1, [](Case*) {}},
    {1, [](Case* c) { c->problem.keys = 0; }},
    {1, [](Case* c) { setCausal(c); }},
    {1, [](Case* c) { setCausal(c, VKF_ALIGNMENT_TOP_LEFT); }},
    {1, [](Case* c) { setWindow(c, 33, 20); }},
    {1, [](Case* c) { setWindow(c, 0, 0); }},
    {1, [](Case* c) { setWindow(c, -1, 63); }},
    {1, [](Case* c) { vkf::enable(setWindow(c, 33, 20)->problem, VKF_USE_SINKS); }},
    {1, [](Case* c) { setWindow(c, 10, 5, 70); }},
    {1, [](Case* c) { setWindow(c, 20, 0, 1000); }},
    {1, [](Case* c) { setCausal(setWindow(c, 20, 0, 130)); }},
    {1, [](Case* c) { setCausal(setWindow(c, 8, -1, 4), VKF_ALIGNMENT_TOP_LEFT); }},
    {1, [](Case* c) { setLengths(c, lengths)->problem.keys = 256; }},
    {1, [](Case* c) { setCausal(setLengths(c, lengths))->problem.maxStepOperations = 1; }},
    {3, [](Case*) {}},
    {2, [](Case* c) { setWindow(c, 90, 60, 66); }},
    {7, [](Case* c) { setCausal(c); }},
    {1, [](Case* c) { setPacked(c); }},
    {1, [](Case* c) { setCausal(setPacked(c)); }},
    {2, [](Case* c) { setWindow(setLengths(setPacked(c), packedLengths), 30, 0, 5); }},
    {1, [](Case* c) { setPages(c, 16, 0); }},
    {3, [](Case* c) { setCausal(setPages(setLengths(c, lengths), 20, 0)); }},
    {2, [](Case* c) { setWindow(setPages(c, 1, 40), 33, 20, 9); }},
    {1, [](Case* c) { setPages(c, 1000, 2); }},
    {1, [](Case* c) { setPages(c, 1, 0)->blockTable[25] = -1; }},
    {1, [](Case* c) { setCausal(setPages(c, 7, 9)); }},
    {2, [](Case* c) { setCausal(setPages(setPacked(setLengths(c, packedLengths)), 16, 5)); }},
};

Case randomCase(Dice& dice) {
    const uint32_t kvHeads = 1 + dice.below(3);
    Case one = caseOf({1 + dice.below(3), kvHeads * (1 + dice.below(4)), kvHeads, 1 + dice.below(200), dice.below(300),
                       dice.of<3>({64, 128, 256}), 0, dice.oneIn(2) ? VKF_TYPE_F16 : VKF_TYPE_BF16});
    if (dice.oneIn(3)) {
        std::vector<int32_t> rows(1 + dice.below(6));
        std::vector<int32_t> keys(rows.size());
        for (size_t i = 0; i < rows.size(); i++) {
            rows[i] = dice.oneIn(3) ? 0 : static_cast<int32_t>(dice.below(120));
            keys[i] = dice.oneIn(3) ? 0 : static_cast<int32_t>(dice.below(120));
        }
        rows[0]++; // an output without rows has no phase
        vkf::test::setPacked(one.problem, one.data, rows, keys);
    }
    if (dice.oneIn(2)) {
        setCausal(&one);
    }
    if (dice.oneIn(2)) {
        const int64_t left = int64_t{dice.below(150)} - 1;
        const int64_t right = vkf::has(one.problem, VKF_USE_CAUSAL) ? 0 : int64_t{dice.below(100)} - 1;
        setWindow(&one, left, right, dice.of<4>({0, 3, 64, 140}));
    }
    if (dice.oneIn(3)) {
        std::vector<int32_t> drawn(one.problem.batch);
        for (int32_t& length : drawn) {
            length = static_cast<int32_t>(dice.below(400)) - 50;
        }
        setLengths(&one, drawn);
    }
    if (dice.oneIn(3)) {
        setPages(&one, 1 + dice.below(70), dice.of<3>({0, 6, 50}));
    }
    one.problem.alignment = dice.oneIn(2) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    one.problem.kvSplits = dice.of<4>({1, 1, 2, 5});
    one.problem.maxStepOperations = dice.oneIn(3) ? 1 + dice.below(100000000) : 0;
    return one;
}

} // namespace

TEST_CASE("work items and walks of path wgmma visit each visible pair once", "[planning]") {
    std::set<uint32_t> interleaved;
    std::set<uint32_t> packedHeads;
    std::set<uint32_t> slots;
    uint32_t absent = 0;
    for (const Change& one : changes) {
        for (const vkf::test::Shape& shape : {vkf::test::Shape{4, 4, 2, 130, 270, 64, 0, VKF_TYPE_F16},
                                              vkf::test::Shape{3, 8, 8, 200, 150, 128, 0, VKF_TYPE_BF16},
                                              vkf::test::Shape{3, 3, 1, 100, 260, 256, 0, VKF_TYPE_F16}}) {
            Case changed = caseOf(shape);
            changed.problem.kvSplits = one.splits;
            one.change(&changed);
            INFO(vkf::test::describe(changed.problem));
            Launched launched(changed);
            const std::string mistake = launched.check();
            INFO(mistake);
            CHECK(mistake.empty());
            CHECK((changed.problem.maxStepOperations == 0 || launched.steps() > 1));
            interleaved.insert(launched.constants().interleaved_heads);
            packedHeads.insert(launched.constants().packed_heads);
            slots.insert(launched.constants().extra_slot);
            absent += launched.foundAbsentKeys() ? 1 : 0;
        }
    }
    CHECK(absent >= 10);
    // All 8 groups of heads take turns, or 12 of 24.
    CHECK((interleaved.count(1) == 1 && interleaved.count(8) == 1 && interleaved.count(12) == 1));
    CHECK(packedHeads == std::set<uint32_t>{1, 2, 3});
    CHECK(slots == std::set<uint32_t>{VKF_EXTRA_SLOT_HAS_WINDOW, VKF_EXTRA_SLOT_HAS_ADDRESS, VKF_EXTRA_SLOT_HAS_TABLE});
}

TEST_CASE("work items and walks of random problems on path wgmma visit each visible pair once", "[planning]") {
    Dice dice(29);
    for (uint32_t i = 0; i < 100; i++) {
        const Case one = randomCase(dice);
        INFO("problem " << i << ": " << vkf::test::describe(one.problem));
        const std::string mistake = Launched(one).check();
        INFO(mistake);
        CHECK(mistake.empty());
    }
}

namespace {

template <typename K> void checkLookUps() {
    INFO(K::DIM << " columns");
    using Share = wgmma::Share<K>;
    std::set<uint32_t> keys;
    for (uint32_t thread = 0; thread < wgmma::WARPGROUP; thread++) {
        keys.insert(wgmma::LookUps<K>::keyOf(thread));
        for (uint32_t i = 0; i < Share::WORDS; i++) {
            const uint32_t lane = wgmma::LookUps<K>::laneOf(thread, i);
            CHECK(lane < 32);
            CHECK(wgmma::LookUps<K>::keyOf(thread / 32 * 32 + lane) ==
                  wgmma::shareOf<K>(thread).key + i * Share::KEY_STEP);
        }
    }
    CHECK(keys.size() == K::KEYS);
    CHECK(*keys.rbegin() == K::KEYS - 1);
}

} // namespace

TEST_CASE("each word of a tile in pages has its key looked up in its own warp", "[planning]") {
    checkLookUps<wgmma::Kernel<64, false, false>>();
    checkLookUps<wgmma::Kernel<128, false, false>>();
    checkLookUps<wgmma::Kernel<256, false, false>>();
}

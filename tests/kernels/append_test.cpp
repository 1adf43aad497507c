// SPDX-License-Identifier: MIT
//
// vkfCmdAppend and vkfCmdAdvance against the reference. Compares every byte of the cache, also the bytes that nobody
// may write.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <vkflash/reference.h>
#include <vkflash/vkflash.hpp>

#include "kernels/append_runs.hpp"
#include "shared/append_params.h"
#include "support/device.hpp"
#include "support/lacking.hpp"

namespace {

using vkf::test::AppendInputs;
using vkf::test::appendOf;
using vkf::test::AppendResults;
using vkf::test::Bytes;
using vkf::test::bytesOf;
using vkf::test::check;
using vkf::test::describe;
using vkf::test::Filled;
using vkf::test::fittedAppend;
using vkf::test::QueryPlace;
using vkf::test::randomAppend;
using vkf::test::randomInputs;
using vkf::test::runDevice;
using vkf::test::runReference;
using vkf::test::storedTypes;
using vkf::test::testDevice;

// Elements from low to high make a block of scale 1, or -1 in q4_0, q5_0 and iq4_nl if high is the first.
struct BlockRange {
    VkfType type;
    int low, high;
};
constexpr BlockRange blockRanges[] = {{VKF_TYPE_Q8_0, -127, 127}, {VKF_TYPE_Q4_0, -8, 8},
                                      {VKF_TYPE_Q4_1, -4, 11},    {VKF_TYPE_Q5_0, -16, 16},
                                      {VKF_TYPE_Q5_1, -4, 27},    {VKF_TYPE_IQ4_NL, -127, 127}};

enum class BlockKind {
    ties,
    normal,
    distant,
    zeros,
    equal,
    belowNormal,
    notFinite,
    widest,
    denormals,
    tiny,
    minScale,
    fiveToSix,
    oneHuge
};
constexpr size_t blockKinds = 13;

std::array<float, 32> randomBlock(BlockKind kind, const BlockRange& range, std::mt19937_64& random) {
    std::normal_distribution<float> normal;
    const int exponent = static_cast<int>(random() % 160) - 80;
    const int largest = 1 + static_cast<int>(random() % 300);
    std::uniform_int_distribution<int> whole(-largest, largest);
    std::uniform_int_distribution<int> halves(2 * range.low, 2 * range.high);
    const float same = std::ldexp(normal(random), exponent);
    const int tinyExponent = static_cast<int>(random() % 60) - 149;
    const int denormalBits = static_cast<int>(random() % 24);
    std::uniform_real_distribution<float> fiveToSix(5.0F, 6.0F);
    const auto element = [&]() -> float {
        switch (kind) {
        case BlockKind::ties: // halves of a step
            return std::ldexp(static_cast<float>(halves(random)), exponent - 1);
        case BlockKind::normal:
            return std::ldexp(normal(random), exponent);
        case BlockKind::distant: // from zero: x - m is rounded
            return std::ldexp(normal(random) + 40.0F, exponent);
        case BlockKind::zeros:
            return random() % 2 != 0 ? 0.0F : -0.0F;
        case BlockKind::equal:
            return same;
        case BlockKind::denormals: // of any size, the smallest one too
            return std::ldexp(
                static_cast<float>(static_cast<int>(random() % (2U << denormalBits)) - (1 << denormalBits)), -149);
        case BlockKind::tiny: // some elements are below the normal numbers, some differences, some scales
            return std::ldexp(normal(random), tinyExponent);
        case BlockKind::minScale: // see below
            return std::ldexp(static_cast<float>(halves(random)), -127);
        case BlockKind::fiveToSix:
            return fiveToSix(random);
        case BlockKind::oneHuge:
            return normal(random);
        case BlockKind::belowNormal: // some scales are, but no difference of elements
            return std::ldexp(static_cast<float>(whole(random)), -126);
        default:
            return normal(random);
        }
    };
    std::array<float, 32> block{};
    std::ranges::generate(block, element);
    float& first = block[random() % 16];
    float& second = block[16 + random() % 16];
    if (kind == BlockKind::ties) {
        const bool lowFirst = random() % 2 != 0;
        first = std::ldexp(static_cast<float>(lowFirst ? range.low : range.high), exponent);
        second = std::ldexp(static_cast<float>(lowFirst ? range.high : range.low), exponent);
    } else if (kind == BlockKind::notFinite) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        constexpr float choices[] = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
        first = choices[random() % std::size(choices)];
    } else if (kind == BlockKind::minScale) { // a few steps around 2^-126, from which on codes are not those of 0
        first = std::ldexp(static_cast<float>(range.low), -126);
        second = std::ldexp(static_cast<float>(range.high), -126);
        for (int64_t steps = static_cast<int64_t>(random() % 5) - 2; steps != 0; steps -= steps > 0 ? 1 : -1) {
            first = std::nextafter(first, steps > 0 ? -1.0F : 0.0F);
            second = std::nextafter(second, steps > 0 ? 1.0F : 0.0F);
        }
    } else if (kind == BlockKind::oneHuge) { // the scale is over fp16
        first = std::ldexp(1.0F + std::abs(normal(random)), 22 + static_cast<int>(random() % 100));
    } else if (kind == BlockKind::widest) { // max x - min x may overflow
        first = std::ldexp(normal(random), 127);
        second = random() % 2 != 0 ? std::numeric_limits<float>::max() : std::numeric_limits<float>::lowest();
    }
    return block;
}

} // namespace

TEST_CASE("random appends write the bytes of the reference, and no other, the same on a second run", "[append]") {
    for (uint32_t seed = 0; seed < 90; seed++) {
        std::mt19937_64 random(seed);
        VkfAppendProblem p = randomAppend(seed, random);
        if (seed % 2 != 0 && vkf::has(p, VKF_USE_QUERIES)) {
            p.rotatedQ.type = storedTypes[random() % 3];
        }
        p = fittedAppend(p);
        INFO("seed " << seed << ": " << describe(p));
        const AppendInputs inputs = randomInputs(p, random);
        const AppendResults results = runDevice(p, inputs);
        check(p, inputs, results);
        CHECK((runDevice(p, inputs) == results));
        if (p.q.type == p.rotatedQ.type) {
            CHECK((runDevice(p, inputs, QueryPlace::inPlace).rotatedQ == results.rotatedQ));
        }
    }
}

TEST_CASE("rotation by hand: a quarter turn swaps a pair, the rest of the head passes", "[append]") {
    for (const VkfRotaryPairs pairs : {VKF_ROTARY_HALVES, VKF_ROTARY_INTERLEAVED}) {
        VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 1, .rows = 1, .keys = 4, .headDim = 6});
        p.rotary.pairs = pairs;
        p.rotary.dim = 4;
        p.rotary.tableRows = 3;
        vkf::enable(p, VKF_USE_ROTARY_TABLES);
        AppendInputs inputs;
        inputs.newK = inputs.newV = bytesOf(std::vector<float>{1, 2, 3, 4, 5, 6});
        inputs.lengths = {2};
        inputs.cos = {7, 7, 7, 7, 0, 1}; // at position 2 pair 0 turns by a quarter, pair 1 not at all
        inputs.sin = {7, 7, 7, 7, 1, 0};
        const std::vector<float> rotated =
            pairs == VKF_ROTARY_HALVES ? std::vector<float>{-3, 2, 1, 4, 5, 6} : std::vector<float>{-2, 1, 3, 4, 5, 6};
        for (const AppendResults& results : {runReference(p, inputs, std::byte{0xff}), runDevice(p, inputs)}) {
            std::vector<float> k(4 * 6);
            std::vector<float> v(4 * 6);
            std::memcpy(k.data(), results.k.data(), results.k.size());
            std::memcpy(v.data(), results.v.data(), results.v.size());
            CHECK(std::vector<float>(k.begin() + 12, k.begin() + 18) == rotated);
            CHECK(std::vector<float>(v.begin() + 12, v.begin() + 18) == std::vector<float>{1, 2, 3, 4, 5, 6});
            CHECK(results.newLengths == std::vector<int32_t>{3});
        }
    }
}

TEST_CASE("angles are as exact at position sixteen million as at the first", "[append]") {
    VkfAppendProblem p = appendOf({.batch = 4, .kvHeads = 1, .rows = 3, .keys = 1U << 24, .headDim = 128});
    p.paging = {1U << 10, 1U << 14, 1}; // the one page has no row of these sequences
    vkf::enable(p, VKF_USE_BLOCK_TABLE);
    p.rotary.pairs = VKF_ROTARY_HALVES;
    p.queryHeads = 2;
    vkf::enable(p, VKF_USE_QUERIES);
    for (const float base : {10000.0F, 1.5F, 1e7F}) {
        p.rotary.base = base;
        std::mt19937_64 random(5);
        AppendInputs inputs = randomInputs(p, random);
        inputs.lengths = {0, 4095, 1000003, (1 << 24) - 2};
        std::fill(inputs.blockTable.begin(), inputs.blockTable.end(), -1);
        INFO("base " << base);
        check(p, inputs, runDevice(p, inputs));
    }
}

TEST_CASE("any fp32 becomes the fp16, bf16 or fp32 of the reference, and any fp16 and bf16 too", "[append]") {
    std::mt19937_64 random(9);
    for (const VkfType from : storedTypes) {
        for (const VkfType to : storedTypes) {
            if (vkf::test::leavesOut(testDevice(), {from, to})) {
                continue;
            }
            VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 1, .rows = 256, .keys = 256, .headDim = 256});
            p.newK.type = p.newV.type = from;
            p.k.type = p.v.type = to;
            AppendInputs inputs;
            inputs.lengths = {0};
            inputs.newK.resize(bytesOf(vkf::layoutOf(p, VKF_APPEND_NEW_K)));
            for (uint32_t i = 0; i < 256 * 256; i++) { // all patterns of 16 bits, but one NaN for all
                const uint32_t bits = from == VKF_TYPE_F32 ? static_cast<uint32_t>(random()) : i;
                std::memcpy(inputs.newK.data() + i * vkfTypeBytes(from), &bits, vkfTypeBytes(from));
                const double x = vkfLoadElement(from, inputs.newK.data(), i);
                vkfStoreElement(from, inputs.newK.data(), i, std::isnan(x) ? std::nan("") : x);
            }
            inputs.newV = inputs.newK;
            INFO(vkfTypeName(from) << " to " << vkfTypeName(to));
            check(p, inputs, runDevice(p, inputs));
        }
    }
}

TEST_CASE("blocks of every kind are those of the reference quantizer, bit for bit", "[append]") {
    vkf::test::needStorage16(testDevice(), "an append to block types");
    std::mt19937_64 random(3);
    for (const BlockRange& range : blockRanges) {
        VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 2, .rows = 512, .keys = 512, .headDim = 96});
        p.k.type = p.v.type = range.type;
        AppendInputs inputs;
        inputs.lengths = {0};
        std::vector<float> values(bytesOf(vkf::layoutOf(p, VKF_APPEND_NEW_K)) / sizeof(float));
        for (size_t block = 0; block < values.size() / 32; block++) {
            const auto kind = static_cast<BlockKind>(block % blockKinds);
            std::ranges::copy(randomBlock(kind, range, random), values.begin() + static_cast<ptrdiff_t>(block * 32));
        }
        p.newV.type = VKF_TYPE_BF16;
        inputs.newK = bytesOf(values);
        inputs.newV.resize(values.size() * vkfTypeBytes(p.newV.type));
        for (size_t i = 0; i < values.size(); i++) {
            vkfStoreElement(p.newV.type, inputs.newV.data(), i, static_cast<double>(values[i]));
        }
        INFO(vkfTypeName(range.type));
        check(p, inputs, runDevice(p, inputs));
    }
}

TEST_CASE("codes lie in a block where its format says", "[append]") {
    vkf::test::needStorage16(testDevice(), "an append to block types");
    for (const VkfType type : {VKF_TYPE_Q4_0, VKF_TYPE_Q4_1, VKF_TYPE_Q5_0, VKF_TYPE_Q5_1}) {
        VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 1, .rows = 1, .keys = 1, .headDim = 32});
        p.k.type = p.v.type = type;
        const bool hasMinimum = type == VKF_TYPE_Q4_1 || type == VKF_TYPE_Q5_1;
        const bool hasFifthBits = type == VKF_TYPE_Q5_0 || type == VKF_TYPE_Q5_1;
        const uint32_t codes = hasFifthBits ? 32 : 16;
        const int lowest = hasMinimum ? -4 : -static_cast<int>(codes) / 2;
        std::vector<float> values;
        std::vector<uint8_t> nibbles(16);
        uint32_t fifthBits = 0;
        for (uint32_t e = 0; e < 32; e++) { // every code, and no two elements of a byte have the same one
            const uint32_t code = (7 * e + 3) % codes ^ e / 16;
            values.push_back(static_cast<float>(static_cast<int>(code) + lowest));
            nibbles[e % 16] = static_cast<uint8_t>(nibbles[e % 16] | (code & 15U) << (e < 16 ? 0 : 4));
            fifthBits |= code >> 4 << e;
        }
        Bytes expected = bytesOf(std::vector<uint16_t>{0x3c00}); // 1
        const auto add = [&](const Bytes& bytes) { expected.insert(expected.end(), bytes.begin(), bytes.end()); };
        if (hasMinimum) {
            add(bytesOf(std::vector<uint16_t>{0xc400})); // -4
        }
        if (hasFifthBits) {
            add(bytesOf(std::vector<uint32_t>{fifthBits}));
        }
        add(bytesOf(nibbles));
        AppendInputs inputs;
        inputs.lengths = {0};
        inputs.newK = inputs.newV = bytesOf(values);
        const AppendResults results = runDevice(p, inputs);
        INFO(vkfTypeName(type));
        CHECK((results.k == expected));
        CHECK((results.v == expected));
    }
}

TEST_CASE("codes of iq4_nl count through their numbers, and lie where those of q4_0 lie", "[append]") {
    vkf::test::needStorage16(testDevice(), "an append to block types");
    constexpr std::array numbers = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 1, .rows = 1, .keys = 1, .headDim = 32});
    p.k.type = p.v.type = VKF_TYPE_IQ4_NL;
    std::vector<float> values;
    std::vector<uint8_t> nibbles(16);
    for (uint32_t e = 0; e < 32; e++) {
        const uint32_t code = (7 * e + 3) % 16 ^ e / 16;
        values.push_back(2.0F * static_cast<float>(numbers[code]));
        nibbles[e % 16] = static_cast<uint8_t>(nibbles[e % 16] | code << (e < 16 ? 0 : 4));
    }
    Bytes expected = bytesOf(std::vector<uint16_t>{0x4000}); // 2
    const Bytes codes = bytesOf(nibbles);
    expected.insert(expected.end(), codes.begin(), codes.end());
    AppendInputs inputs;
    inputs.lengths = {0};
    inputs.newK = inputs.newV = bytesOf(values);
    const AppendResults results = runDevice(p, inputs);
    CHECK((results.k == expected));
    CHECK((results.v == expected));
}

TEST_CASE("an append may have more workgroups than a dispatch's first dimension takes", "[append]") {
    constexpr uint32_t rows = 2 * VKF_APPEND_GROUPS * 128 + 77; // 128 rows of one element in a workgroup
    const VkfAppendProblem p = appendOf({.batch = 1, .kvHeads = 1, .rows = rows, .keys = rows - 1, .headDim = 1});
    std::vector<float> numbers(rows);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    AppendInputs inputs;
    inputs.lengths = {0};
    inputs.newK = inputs.newV = bytesOf(numbers);
    const AppendResults results = runDevice(p, inputs);
    numbers.pop_back();
    CHECK((results.k == bytesOf(numbers))); // in parentheses, or a failure would print them
    CHECK((results.v == bytesOf(numbers)));
    CHECK(results.guardsIntact);
}

TEST_CASE("advancing adds the rows to each length and stops at the cache's end", "[append]") {
    VkfAppendProblem p = appendOf({.batch = 150, .kvHeads = 1, .rows = 3, .keys = 10, .headDim = 1});
    std::vector<int32_t> lengths;
    std::vector<int32_t> expected;
    for (uint32_t b = 0; b < p.batch; b++) {
        lengths.push_back(static_cast<int32_t>(b % 16) - 2);
        expected.push_back(std::min(std::max(lengths[b], 0) + 3, 10));
    }
    const Filled memory(bytesOf(lengths));
    vkf::Append append;
    REQUIRE(vkfCreateAppend(testDevice().context(), &p, append.put(), nullptr) == VKF_SUCCESS);
    const VkfBinding binding = memory.binding();
    testDevice().submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdAdvance(commandBuffer, append.get(), &binding, nullptr) == VKF_SUCCESS);
    });
    bool guardsIntact = true;
    memory.read(lengths, guardsIntact);
    CHECK(lengths == expected);
    CHECK(guardsIntact);
}

TEST_CASE("errors of an append are named", "[append]") {
    vkf::test::skipWithoutDevice();
    VkfMessage message{};
    const auto refusal = [&](auto change) {
        VkfAppendProblem problem = appendOf({.batch = 2, .kvHeads = 2, .rows = 3, .keys = 20, .headDim = 64});
        change(problem);
        CHECK(vkfCheckAppend(&problem, &message) != VKF_SUCCESS);
        return std::string(message.text);
    };
    CHECK(refusal([](VkfAppendProblem& p) { p.rows = 0; }) == "rows is 0; it must be 1 to 1073676288");
    CHECK(refusal([](VkfAppendProblem& p) { p.kvHeads = 0; }) == "kvHeads is 0; it must be 1 to 65535");
    CHECK(refusal([](VkfAppendProblem& p) { p.headDim = 1025; }) == "headDim is 1025; it must be 1 to 1024");
    CHECK(refusal([](VkfAppendProblem& p) { p.queryHeads = 4; }) ==
          "queryHeads is not zero, but use lacks VKF_USE_QUERIES");
    CHECK(refusal([](VkfAppendProblem& p) { vkf::enable(p, VKF_USE_QUERIES); }) ==
          "use has VKF_USE_QUERIES, but queryHeads is zero");
    CHECK(refusal([](VkfAppendProblem& p) {
              vkf::enable(p, VKF_USE_QUERIES);
              p.queryHeads = 4;
          }) == "use has VKF_USE_QUERIES, but rotary.pairs is 0");
    CHECK(refusal([](VkfAppendProblem& p) { p.rotary.tableRows = 4; }) ==
          "rotary.tableRows is not zero, but use lacks VKF_USE_ROTARY_TABLES");
    CHECK(refusal([](VkfAppendProblem& p) { vkf::enable(p, VKF_USE_ROTARY_TABLES); }) ==
          "use has VKF_USE_ROTARY_TABLES, but rotary.tableRows is zero");
    CHECK(refusal([](VkfAppendProblem& p) { vkf::enable(p, VKF_USE_LSE); }) ==
          "use has VKF_USE_LSE, which an append does not have");
    CHECK(refusal([](VkfAppendProblem& p) { vkf::enable(p, 1U << 31); }) ==
          "use has bits 0x80000000, which this version does not know");
    CHECK(refusal([](VkfAppendProblem& p) { p.rotary.reserved[3] = 1; }) == "a reserved field of rotary is not zero");
    CHECK(refusal([](VkfAppendProblem& p) { p.k.reserved2[1] = 1; }) == "a reserved field of k is not zero");
    CHECK(refusal([](VkfAppendProblem& p) { p.rotatedQ.rowStride = 64; }) ==
          "rotatedQ is not zero, but use lacks VKF_USE_QUERIES");
    CHECK(refusal([](VkfAppendProblem& p) { p.rotary.pairs = static_cast<VkfRotaryPairs>(3); }) ==
          "rotary.pairs is 3; it must be 0 to 2");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.rotary = {VKF_ROTARY_HALVES, 66, 0.0F, 0};
          }) == "rotary.dim is 66; it must be even and at most headDim, 64");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.rotary = {VKF_ROTARY_HALVES, 0, 1.0F, 0};
          }) == "rotary.base is 1; it must be finite and over 1");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.paging = {0, 4, 1};
              vkf::enable(p, VKF_USE_BLOCK_TABLE);
          }) == "paging.pageSize is 0; it must be at least 1");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.paging = {4, 4, 1};
              vkf::enable(p, VKF_USE_BLOCK_TABLE);
          }) == "paging.maxPages is 4; times pageSize, 4, it must be at least keys, 20");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.paging = {4, 1U << 30, 1};
              vkf::enable(p, VKF_USE_BLOCK_TABLE);
          }) == "paging.maxPages 1073741824 is over the limit of 1073676288");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.paging = {4, 5, 0};
              vkf::enable(p, VKF_USE_BLOCK_TABLE);
          }) == "paging.pages is 0; it must be at least 1 if there are keys");
    CHECK(refusal([](VkfAppendProblem& p) { p.paging.pages = 5; }) ==
          "paging is not zero, but use lacks VKF_USE_BLOCK_TABLE");
    CHECK(refusal([](VkfAppendProblem& p) { p.k.type = VKF_TYPE_BOOL8; }) ==
          "type of k is 9 (bool8); this version takes f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, e4m3, "
          "e5m2");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.k.type = VKF_TYPE_F8_E4M3;
              p.headDim = 24;
          }) == "dim of k is 24; with type e4m3 it must be a multiple of 16");
    CHECK(refusal([](VkfAppendProblem& p) { p.k.scales = 1; }) ==
          "k.scales is not zero, but use lacks VKF_USE_KV_SCALES");
    CHECK(refusal([](VkfAppendProblem& p) { vkf::enable(p, VKF_USE_KV_SCALES); }) ==
          "use has VKF_USE_KV_SCALES, but k.scales and v.scales are 0");
    CHECK(refusal([](VkfAppendProblem& p) {
              vkf::enable(p, VKF_USE_KV_SCALES);
              p.v.scales = 1;
          }) == "scales of v is 1; only types e4m3 and e5m2 have scales");
    CHECK(refusal([](VkfAppendProblem& p) { p.newK.scales = 1; }) == "scales of newK is 1; only k and v have scales");
    CHECK(refusal([](VkfAppendProblem& p) { p.newK.type = VKF_TYPE_Q8_0; }) ==
          "type of newK is 4 (q8_0); this version takes f32, f16, bf16");
    CHECK(refusal([](VkfAppendProblem& p) { p.v.rowStride = 16; }) == "the strides of v make elements overlap");
    CHECK(refusal([](VkfAppendProblem& p) {
              p.k.type = VKF_TYPE_Q8_0;
              p.headDim = 48;
          }) == "dim of k is 48; with type q8_0 it must be a multiple of 32");

    const VkfAppendProblem problem = appendOf({.batch = 2, .kvHeads = 2, .rows = 3, .keys = 20, .headDim = 64});
    vkf::Append append;
    REQUIRE(vkfCreateAppend(testDevice().context(), &problem, append.put(), nullptr) == VKF_SUCCESS);
    auto bindings = vkf::make<VkfAppendBindings>();
    bindings.newK.address = bindings.newV.address = bindings.k.address = bindings.v.address = 4096;
    bindings.lengths.address = bindings.newLengths.address = 8192;
    testDevice().submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdAppend(commandBuffer, append.get(), &bindings, &message) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(std::string(message.text).starts_with("newLengths must not have the address of lengths"));
        bindings.newLengths.address = 12288;
        bindings.v.size = 2 * 2 * 20 * 64 * sizeof(float) - 1;
        CHECK(vkfCmdAppend(commandBuffer, append.get(), &bindings, &message) == VKF_ERROR_BINDING_TOO_SMALL);
    });
}

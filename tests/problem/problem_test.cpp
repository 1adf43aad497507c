// SPDX-License-Identifier: MIT
//
// The refusals of vkfCheckProblem with their texts. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "problem/problem.hpp"
#include "support/call.hpp"
#include "support/masks.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::problemOf;

struct Refusal {
    const char* name;
    void (*spoil)(VkfProblem&);
    VkfResult result;
    const char* words;
};

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

const Refusal refusals[] = {
    {"a NaN scale", [](VkfProblem& p) { p.scale = notANumber; }, VKF_ERROR_INVALID_ARGUMENT, "; it must be finite"},
    {"an infinite scale", [](VkfProblem& p) { p.scale = INFINITY; }, VKF_ERROR_INVALID_ARGUMENT,
     "scale is inf; it must be finite"},
    {"a NaN softcap", [](VkfProblem& p) { p.softcap = notANumber; }, VKF_ERROR_INVALID_ARGUMENT, "softcap"},
    {"a negative softcap", [](VkfProblem& p) { p.softcap = -1; }, VKF_ERROR_INVALID_ARGUMENT, "softcap is -1"},
    {"no head dimension", [](VkfProblem& p) { p.headDim = 0; }, VKF_ERROR_INVALID_ARGUMENT,
     "headDim is 0; it must be at least 1"},
    {"a head dimension over the limit", [](VkfProblem& p) { p.headDim = 600; }, VKF_ERROR_UNSUPPORTED,
     "headDim 600 is over the limit of 576 on path decode, which takes the widest heads"},
    {"a value dimension over the limit", [](VkfProblem& p) { p.valueDim = 513; }, VKF_ERROR_UNSUPPORTED,
     "valueDim 513 is over the limit of 512 on path decode"},
    {"a head dimension over the limit for v of the same", [](VkfProblem& p) { p.headDim = 576; }, VKF_ERROR_UNSUPPORTED,
     "valueDim 576 is over the limit of 512 on path decode"},
    {"a head dimension over the limit of the path",
     [](VkfProblem& p) {
         p.headDim = 300;
         p.path = VKF_PATH_COOPMAT;
     },
     VKF_ERROR_UNSUPPORTED, "headDim 300 is over the limit of 256 on path coopmat"},
    {"a value dimension over the limit of the path",
     [](VkfProblem& p) {
         p.valueDim = 512;
         p.path = VKF_PATH_STANDARD;
     },
     VKF_ERROR_UNSUPPORTED, "valueDim 512 is over the limit of 256 on path standard"},
    {"wide heads with a block mask, which path decode has not",
     [](VkfProblem& p) {
         p.headDim = 300;
         p.blockMask.blockSize = 64;
         vkf::enable(p, VKF_USE_BLOCK_MASK);
     },
     VKF_ERROR_UNSUPPORTED, "headDim 300 is over the limit of 256 on path scalar"},
    {"no sequences", [](VkfProblem& p) { p.batch = 0; }, VKF_ERROR_INVALID_ARGUMENT,
     "batch is 0; it must be at least 1"},
    {"a window that is not switched on", [](VkfProblem& p) { p.window.left = 5; }, VKF_ERROR_INVALID_ARGUMENT,
     "window is not zero, but use lacks VKF_USE_WINDOW"},
    {"first keys without a window", [](VkfProblem& p) { p.window.firstKeys = 5; }, VKF_ERROR_INVALID_ARGUMENT,
     "window is not zero, but use lacks VKF_USE_WINDOW"},
    {"heads that do not divide", [](VkfProblem& p) { p.queryHeads = 5; }, VKF_ERROR_INVALID_ARGUMENT,
     "queryHeads 5 is not a multiple of kvHeads 2"},
    {"no KV heads", [](VkfProblem& p) { p.kvHeads = 0; }, VKF_ERROR_INVALID_ARGUMENT,
     "kvHeads is 0; it must divide queryHeads"},
    {"too many heads", [](VkfProblem& p) { p.queryHeads = 70000; }, VKF_ERROR_UNSUPPORTED,
     "queryHeads 70000 is over the limit of 65535"},
    {"too many keys", [](VkfProblem& p) { p.keys = UINT32_MAX; }, VKF_ERROR_UNSUPPORTED, "keys 4294967295"},
    {"a window below -1",
     [](VkfProblem& p) {
         p.use |= VKF_USE_WINDOW;
         p.window.left = -2;
     },
     VKF_ERROR_INVALID_ARGUMENT, "window.left is -2; it must be -1 (unlimited) or more"},
    {"a causal mask beside a window that reaches to the right",
     [](VkfProblem& p) {
         p.use |= VKF_USE_CAUSAL;
         p.use |= VKF_USE_WINDOW;
         p.window.right = 3;
     },
     VKF_ERROR_INVALID_ARGUMENT, "window.right is 3; with VKF_USE_CAUSAL it must be 0 or -1"},
    {"an unknown path", [](VkfProblem& p) { p.path = static_cast<VkfPath>(77); }, VKF_ERROR_INVALID_ARGUMENT,
     "path is 77"},
    {"an unknown type", [](VkfProblem& p) { p.k.type = static_cast<VkfType>(99); }, VKF_ERROR_INVALID_ARGUMENT,
     "type of k is 99"},
    {"a block type of o", [](VkfProblem& p) { p.o.type = VKF_TYPE_Q8_0; }, VKF_ERROR_UNSUPPORTED,
     "type of o is 4 (q8_0); this version takes f32, f16, bf16"},
    {"a type of masks", [](VkfProblem& p) { p.k.type = VKF_TYPE_BOOL8; }, VKF_ERROR_UNSUPPORTED,
     "type of k is 9 (bool8); this version takes f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, e4m3, e5m2"},
    {"an fp8 type of q", [](VkfProblem& p) { p.q.type = VKF_TYPE_F8_E5M2; }, VKF_ERROR_UNSUPPORTED,
     "type of q is 12 (e5m2); this version takes f32, f16, bf16"},
    {"an fp8 row that is not whole words",
     [](VkfProblem& p) {
         p.k.type = VKF_TYPE_F8_E4M3;
         p.k.rowStride = 72;
     },
     VKF_ERROR_INVALID_ARGUMENT, "rowStride of k is 72; with type e4m3 it must be a multiple of 16"},
    {"scales without their bit",
     [](VkfProblem& p) {
         p.v.type = VKF_TYPE_F8_E4M3;
         p.v.scales = 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "v.scales is not zero, but use lacks VKF_USE_KV_SCALES"},
    {"the bit of scales without scales", [](VkfProblem& p) { vkf::enable(p, VKF_USE_KV_SCALES); },
     VKF_ERROR_INVALID_ARGUMENT, "use has VKF_USE_KV_SCALES, but k.scales and v.scales are 0"},
    {"scales of another type",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_KV_SCALES);
         p.k.type = VKF_TYPE_Q8_0;
         p.k.scales = 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "scales of k is 1; only types e4m3 and e5m2 have scales"},
    {"scales of q",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_KV_SCALES);
         p.k.type = VKF_TYPE_F8_E4M3;
         p.k.scales = p.q.scales = 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "scales of q is 1; only k and v have scales"},
    {"scales of some heads",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_KV_SCALES);
         p.queryHeads = p.kvHeads = 4;
         p.k.type = VKF_TYPE_F8_E4M3;
         p.k.scales = 3;
     },
     VKF_ERROR_INVALID_ARGUMENT, "scales of k is 3; it must be 0, 1 or kvHeads, 4"},
    {"blocks cut by the head dimension",
     [](VkfProblem& p) {
         p.valueDim = 40;
         p.v.type = VKF_TYPE_Q5_1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "dim of v is 40; with type q5_1 it must be a multiple of 32"},
    {"blocks cut by a stride",
     [](VkfProblem& p) {
         p.k.type = VKF_TYPE_Q4_0;
         p.k.rowStride = 80;
     },
     VKF_ERROR_INVALID_ARGUMENT, "rowStride of k is 80; with type q4_0 it must be a multiple of 32"},
    {"a block type on path standard",
     [](VkfProblem& p) {
         p.path = VKF_PATH_STANDARD;
         p.v.type = VKF_TYPE_Q8_0;
     },
     VKF_ERROR_UNSUPPORTED, "k or v of a block type on paths standard and key_outer is not"},
    {"a reserved field", [](VkfProblem& p) { p.reserved = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "a reserved field of problem is not zero"},
    {"a reserved field of the window", [](VkfProblem& p) { p.window.reserved2[1] = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "a reserved field of window is not zero"},
    {"a reserved field of dropout", [](VkfProblem& p) { p.dropout.reserved = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "a reserved field of dropout is not zero"},
    {"a reserved field of the bias",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias.reserved2 = 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "a reserved field of bias is not zero"},
    {"a bias of more heads than there are",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias.heads = p.queryHeads + 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "bias.heads is"},
    {"a mask of more sequences than there are",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_MASK);
         p.mask.type = VKF_TYPE_BOOL1;
         p.mask.sequences = p.batch + 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "it must be at most batch, which is"},
    {"a reserved field of a tensor", [](VkfProblem& p) { p.q.reserved2[0] = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "reserved field of q"},
    {"an o with overlapping rows",
     [](VkfProblem& p) {
         p.o.rowStride = 63;
         p.o.headStride = 10000;
         p.o.batchStride = 100000;
     },
     VKF_ERROR_INVALID_ARGUMENT, "strides of o make elements overlap"},
    {"an o whose heads share memory", [](VkfProblem& p) { p.o.rowStride = 64; }, VKF_ERROR_INVALID_ARGUMENT, "overlap"},
    {"strides past the address space", [](VkfProblem& p) { p.k.rowStride = UINT64_MAX / 2; },
     VKF_ERROR_INVALID_ARGUMENT, "strides of k reach past"},
    {"a struct that is far too large", [](VkfProblem& p) { p.structSize += 4104; }, VKF_ERROR_STRUCT_SIZE,
     "structSize"},
    {"a struct of size 0", [](VkfProblem& p) { p.structSize = 0; }, VKF_ERROR_STRUCT_SIZE, "structSize"},
    {"type of the bias",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias.type = VKF_TYPE_BOOL8;
     },
     VKF_ERROR_UNSUPPORTED, "type of bias is 9 (bool8); this version takes f32, f16, bf16"},
    {"type of the mask", [](VkfProblem& p) { vkf::enable(p, VKF_USE_MASK); }, VKF_ERROR_UNSUPPORTED,
     "type of mask is 0 (f32); this version takes bool8, bool1"},
    {"mask on path standard",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_MASK);
         p.mask.type = VKF_TYPE_BOOL1;
         p.path = VKF_PATH_STANDARD;
     },
     VKF_ERROR_UNSUPPORTED, "mask on path standard is not in this version"},
    {"bias past 2^56 elements",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias.rowStride = UINT64_MAX;
     },
     VKF_ERROR_INVALID_ARGUMENT, "bias.rowStride is 18446744073709551615; times 8 it must be at most 2^56 elements"},
    {"slopes without ALiBi", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ALIBI_SLOPES); }, VKF_ERROR_INVALID_ARGUMENT,
     "use has VKF_USE_ALIBI_SLOPES without VKF_USE_ALIBI"},
    {"packed sequences on path key_outer",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_CU_SEQLENS);
         p.path = VKF_PATH_KEY_OUTER;
     },
     VKF_ERROR_UNSUPPORTED, "packed (variable-length) sequences on paths standard and key_outer is not"},
    {"packed sequences with a block mask",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_CU_SEQLENS);
         p.blockMask.blockSize = 64;
         vkf::enable(p, VKF_USE_BLOCK_MASK);
     },
     VKF_ERROR_UNSUPPORTED, "packed (variable-length) sequences with a blockMask is not"},
    {"longestRows alone", [](VkfProblem& p) { p.longestRows = 3; }, VKF_ERROR_INVALID_ARGUMENT,
     "longestRows is 3; without VKF_USE_CU_SEQLENS it must be 0"},
    {"a sequence longer than all",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_CU_SEQLENS);
         p.longestKeys = p.keys + 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "longestKeys is 9; it must be at most keys, 8"},
    {"documents on path standard",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_DOCUMENT_IDS);
         p.path = VKF_PATH_STANDARD;
     },
     VKF_ERROR_UNSUPPORTED, "documents on path standard is not in this version"},
    {"probabilityRows without probabilities",
     [](VkfProblem& p) {
         p.probabilityRowCount = 3;
         vkf::enable(p, VKF_USE_PROBABILITY_ROWS);
     },
     VKF_ERROR_INVALID_ARGUMENT, "use has VKF_USE_PROBABILITY_ROWS without VKF_USE_PROBABILITIES"},
    {"probabilityRows over the limit",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_PROBABILITIES);
         p.probabilityRowCount = 0x40000000;
         vkf::enable(p, VKF_USE_PROBABILITY_ROWS);
     },
     VKF_ERROR_UNSUPPORTED, "probabilityRowCount 1073741824 is over the limit of 1073676288"},
    {"probabilities that no memory holds",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_PROBABILITIES);
         p.batch = 1 << 10;
         p.queryHeads = p.kvHeads;
         p.queryRows = 1 << 24;
         p.keys = 1 << 29;
     },
     VKF_ERROR_UNSUPPORTED, "the probabilities of all heads are over 2^62 bytes"},
    {"factors of a bias that is not there", [](VkfProblem& p) { vkf::enable(p, VKF_USE_BIAS_FACTORS); },
     VKF_ERROR_INVALID_ARGUMENT, "use has VKF_USE_BIAS_FACTORS without VKF_USE_BIAS"},
    {"a count of chosen rows without the array", [](VkfProblem& p) { p.probabilityRowCount = 3; },
     VKF_ERROR_INVALID_ARGUMENT, "probabilityRowCount is not zero, but use lacks VKF_USE_PROBABILITY_ROWS"},
    {"chosen rows without a count",
     [](VkfProblem& p) { vkf::enable(p, VKF_USE_PROBABILITIES | VKF_USE_PROBABILITY_ROWS); },
     VKF_ERROR_INVALID_ARGUMENT, "probabilityRowCount is 0; with VKF_USE_PROBABILITY_ROWS it must be at least 1"},
    {"a bias without its bit", [](VkfProblem& p) { p.bias.rowStride = 8; }, VKF_ERROR_INVALID_ARGUMENT,
     "bias is not zero, but use lacks VKF_USE_BIAS"},
    {"a mask without its bit", [](VkfProblem& p) { p.mask.type = VKF_TYPE_BOOL8; }, VKF_ERROR_INVALID_ARGUMENT,
     "mask is not zero, but use lacks VKF_USE_MASK"},
    {"a dropout mask without its bit", [](VkfProblem& p) { p.dropoutMask.headStride = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "dropoutMask is not zero, but use lacks VKF_USE_DROPOUT_MASK"},
    {"pages without their bit", [](VkfProblem& p) { p.paging.pageSize = 4; }, VKF_ERROR_INVALID_ARGUMENT,
     "paging is not zero, but use lacks VKF_USE_BLOCK_TABLE"},
    {"a block mask without its bit", [](VkfProblem& p) { p.blockMask.blockSize = 64; }, VKF_ERROR_INVALID_ARGUMENT,
     "blockMask is not zero, but use lacks VKF_USE_BLOCK_MASK"},
    {"a block mask without blocks", [](VkfProblem& p) { vkf::enable(p, VKF_USE_BLOCK_MASK); },
     VKF_ERROR_INVALID_ARGUMENT, "blockMask.blockSize is 0; it must be a multiple of 16"},
    {"an array of appends", [](VkfProblem& p) { vkf::enable(p, VKF_USE_NEW_LENGTHS); }, VKF_ERROR_INVALID_ARGUMENT,
     "use has VKF_USE_NEW_LENGTHS, which attention does not have"},
    {"an array that a later version may have", [](VkfProblem& p) { vkf::enable(p, 1U << 31); }, VKF_ERROR_UNSUPPORTED,
     "use has bits 0x80000000, which this version does not know"},
    {"pages without rows", [](VkfProblem& p) { vkf::enable(p, VKF_USE_BLOCK_TABLE); }, VKF_ERROR_INVALID_ARGUMENT,
     "paging.pageSize is 0; it must be at least 1"},
    {"pages of too many rows",
     [](VkfProblem& p) {
         p.paging = {0x40000000, 100, 100};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_UNSUPPORTED, "paging.pageSize 1073741824 is over the limit of 1073676288"},
    {"a block table that is too short",
     [](VkfProblem& p) {
         p.paging = {4, 1, 100};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_INVALID_ARGUMENT, "paging.maxPages is 1; times pageSize, 4, it must be at least keys, 8"},
    {"more pages than a block table can name",
     [](VkfProblem& p) {
         p.paging = {4, 4, 0x80000000};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_UNSUPPORTED, "paging.pages 2147483648 is over the limit of 2147483647"},
    {"a cache without pages",
     [](VkfProblem& p) {
         p.paging = {4, 4, 0};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_INVALID_ARGUMENT, "paging.pages is 0; it must be at least 1 if there are keys"},
    {"paging on path key_outer",
     [](VkfProblem& p) {
         p.path = VKF_PATH_KEY_OUTER;
         p.paging = {4, 4, 4};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_UNSUPPORTED, "paging on paths standard and key_outer is not"},
    {"paging with a block mask",
     [](VkfProblem& p) {
         p.blockMask.blockSize = 16;
         vkf::enable(p, VKF_USE_BLOCK_MASK);
         p.paging = {4, 4, 4};
         vkf::enable(p, VKF_USE_BLOCK_TABLE);
     },
     VKF_ERROR_UNSUPPORTED, "paging with a blockMask is not"},
    {"a negative dropout", [](VkfProblem& p) { p.dropout.probability = -0.1F; }, VKF_ERROR_INVALID_ARGUMENT,
     "dropout.probability is -0.1; it must be in [0, 1)"},
    {"a dropout that is not a number", [](VkfProblem& p) { p.dropout.probability = NAN; }, VKF_ERROR_INVALID_ARGUMENT,
     "dropout.probability is "},
    {"a dropout mask of numbers",
     [](VkfProblem& p) {
         p.dropoutMask = {VKF_TYPE_F16, 0, 0, 0, 0};
         vkf::enable(p, VKF_USE_DROPOUT_MASK);
     },
     VKF_ERROR_UNSUPPORTED, "type of dropoutMask is 1 (f16); this version takes bool8, bool1"},
    {"a dropout mask too far apart",
     [](VkfProblem& p) {
         p.dropoutMask = {VKF_TYPE_BOOL1, 0, 0, 0, UINT64_MAX};
         vkf::enable(p, VKF_USE_DROPOUT_MASK);
     },
     VKF_ERROR_INVALID_ARGUMENT,
     "dropoutMask.rowStride is 18446744073709551615; times 8 it must be at most 2^56 elements"},
    {"a dropout of 1", [](VkfProblem& p) { p.dropout.probability = 1; }, VKF_ERROR_INVALID_ARGUMENT,
     "dropout.probability is 1"},
    {"a block mask on path decode",
     [](VkfProblem& p) {
         p.path = VKF_PATH_DECODE;
         p.blockMask.blockSize = 64;
         vkf::enable(p, VKF_USE_BLOCK_MASK);
     },
     VKF_ERROR_UNSUPPORTED, "blockMask on path decode"},
    {"several key splits of the unfused path",
     [](VkfProblem& p) {
         p.path = VKF_PATH_STANDARD;
         p.kvSplits = 4;
     },
     VKF_ERROR_UNSUPPORTED, "kvSplits over 1 on paths standard and key_outer is not"},
    {"first keys on path standard",
     [](VkfProblem& p) {
         p.use |= VKF_USE_WINDOW;
         p.window.firstKeys = 4;
         p.path = VKF_PATH_STANDARD;
     },
     VKF_ERROR_UNSUPPORTED, "window.firstKeys on path standard is not in this version"},
    {"too many key splits",
     [](VkfProblem& p) {
         p.path = VKF_PATH_COOPMAT;
         p.kvSplits = 1025;
     },
     VKF_ERROR_UNSUPPORTED, "kvSplits 1025 is over the limit of 1024"},
    {"splits of a number and of a length",
     [](VkfProblem& p) {
         p.kvSplits = 2;
         p.splitKeys = 64;
     },
     VKF_ERROR_INVALID_ARGUMENT, "splitKeys is 64; with kvSplits, 2, it must be 0"},
    {"splits of some keys on path wgmma",
     [](VkfProblem& p) {
         p.path = VKF_PATH_WGMMA;
         p.splitKeys = 64;
     },
     VKF_ERROR_UNSUPPORTED, "splitKeys on paths standard, key_outer and wgmma is not in this version"},
    {"a bias of the last keys",
     [](VkfProblem& p) {
         p.bias.lastKeys = 3;
         vkf::enable(p, VKF_USE_BIAS);
     },
     VKF_ERROR_UNSUPPORTED, "bias.lastKeys 3 is over the limit of 0"},
    {"positions without their bit", [](VkfProblem& p) { p.positions.keyStride = 2; }, VKF_ERROR_INVALID_ARGUMENT,
     "positions is not zero, but use lacks VKF_USE_POSITIONS"},
    {"offsets of rows without positions", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ROW_OFFSETS); },
     VKF_ERROR_INVALID_ARGUMENT, "use has VKF_USE_ROW_OFFSETS without VKF_USE_POSITIONS"},
    {"positions with an alignment",
     [](VkfProblem& p) {
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
         vkf::enable(p, VKF_USE_POSITIONS);
     },
     VKF_ERROR_INVALID_ARGUMENT, "alignment is top-left; with VKF_USE_POSITIONS it must be 0"},
    {"a position beside offsets",
     [](VkfProblem& p) {
         p.positions.firstKey = 3;
         vkf::enable(p, VKF_USE_POSITIONS | VKF_USE_ROW_OFFSETS);
     },
     VKF_ERROR_INVALID_ARGUMENT, "positions.firstKey is 3; with VKF_USE_ROW_OFFSETS it must be 0"},
    {"rows too far apart",
     [](VkfProblem& p) {
         p.positions.rowStride = 8193;
         vkf::enable(p, VKF_USE_POSITIONS);
     },
     VKF_ERROR_UNSUPPORTED, "positions.rowStride 8193 is over the limit of 8192"},
    {"keys too far away",
     [](VkfProblem& p) {
         p.positions.firstKey = 0x1ffffff9;
         vkf::enable(p, VKF_USE_POSITIONS);
     },
     VKF_ERROR_UNSUPPORTED, "positions.firstKey + keys * positions.keyStride is 536870913, over the limit of 2^29"},
    {"positions with documents", [](VkfProblem& p) { vkf::enable(p, VKF_USE_POSITIONS | VKF_USE_DOCUMENT_IDS); },
     VKF_ERROR_UNSUPPORTED, "positions with documents is not in this version"},
    {"positions with first keys",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_POSITIONS | VKF_USE_WINDOW);
         p.window.firstKeys = 2;
     },
     VKF_ERROR_UNSUPPORTED, "positions with window.firstKeys is not in this version"},
    {"positions on path wgmma",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_POSITIONS);
         p.path = VKF_PATH_WGMMA;
     },
     VKF_ERROR_UNSUPPORTED, "positions on path wgmma is not in this version"},
    {"a reserved field of positions",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_POSITIONS);
         p.positions.reserved2[1] = 1;
     },
     VKF_ERROR_INVALID_ARGUMENT, "a reserved field of positions is not zero"},
    {"several key splits with keys outside",
     [](VkfProblem& p) {
         p.path = VKF_PATH_KEY_OUTER;
         p.kvSplits = 2;
     },
     VKF_ERROR_UNSUPPORTED, "kvSplits over 1 on paths standard and key_outer is not"},
};

} // namespace

TEST_CASE("each bad problem is refused with its field and limit named", "[problem]") {
    for (const Refusal& refusal : refusals) {
        DYNAMIC_SECTION(refusal.name) {
            VkfProblem problem = problemOf({2, 4, 2, 8, 8, 64});
            REQUIRE(vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS);
            refusal.spoil(problem);
            VkfMessage message{};
            CHECK(vkfCheckProblem(&problem, &message) == refusal.result);
            CHECK_THAT(std::string(message.text), ContainsSubstring(refusal.words));
            CHECK(vkfCheckProblem(&problem, nullptr) == refusal.result);
        }
    }
}

TEST_CASE("a null problem is refused", "[problem]") {
    VkfMessage message{};
    CHECK(vkfCheckProblem(nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("problem is null"));
}

TEST_CASE("no heads, no rows and no keys are problems with an empty output or empty rows", "[problem]") {
    for (const auto& shape :
         {vkf::test::Shape{1, 0, 1, 1, 1, 8}, vkf::test::Shape{1, 1, 1, 0, 1, 8}, vkf::test::Shape{1, 1, 1, 1, 0, 8}}) {
        const VkfProblem problem = problemOf(shape);
        CHECK(vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS);
    }
}

TEST_CASE("strides may reach as far as 64 bits can count the bytes", "[problem]") {
    VkfProblem problem = problemOf({1, 2, 2, 1, 1, 1});
    problem.k.rowStride = 1;
    problem.k.headStride = (uint64_t{1} << 62) - 2;
    REQUIRE(vkfCheckProblem(&problem, nullptr) == VKF_SUCCESS);
    CHECK(vkf::layoutOf(problem, VKF_TENSOR_K).elements == UINT64_MAX / sizeof(float));
    problem.k.headStride++;
    VkfMessage message{};
    CHECK(vkfCheckProblem(&problem, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("strides of k reach past 2^62 - 1 elements"));
}

TEST_CASE("any number in an enumeration is refused or harmless", "[problem]") {
    for (const int value : {-1, 100, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        // Copies the bytes like a C caller. A compiler could reason about a conversion.
        const auto refused = [value](auto VkfProblem::*member) {
            VkfProblem problem = problemOf({1, 1, 1, 1, 1, 8});
            static_assert(sizeof(problem.*member) == sizeof value);
            std::memcpy(&(problem.*member), &value, sizeof value);
            return vkfCheckProblem(&problem, nullptr) == VKF_ERROR_INVALID_ARGUMENT;
        };
        CHECK(refused(&VkfProblem::path));
        CHECK(refused(&VkfProblem::alignment));
        CHECK(refused(&VkfProblem::precision));
        VkfProblem problem = problemOf({1, 1, 1, 1, 1, 8});
        std::memcpy(&problem.v.type, &value, sizeof value);
        CHECK(vkfCheckProblem(&problem, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(vkfTypeBytes(problem.v.type) == 0);
        CHECK(std::string(vkfTypeName(problem.v.type)) == "unknown type");
        VkfTensorRole role{};
        std::memcpy(&role, &value, sizeof value);
        CHECK(vkf::layoutOf(problem, role).elements == 0);
    }
}

TEST_CASE("defaults are filled in where a field is zero", "[problem]") {
    const VkfProblem problem = problemOf({2, 4, 2, 8, 16, 64});
    vkf::CheckedProblem checked{};
    REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
    CHECK(checked.fields.scale == 0.125F);
    CHECK(checked.fields.valueDim == 64);
    const VkfTensorLayout k = vkf::layoutOf(problem, VKF_TENSOR_K);
    CHECK(k.rowStride == 64);
    CHECK(k.headStride == 16 * 64);
    CHECK(k.batchStride == 2 * 16 * 64);
    CHECK(k.elements == 2 * 2 * 16 * 64);
}

TEST_CASE("k and v in pages have the layout of pages", "[problem]") {
    VkfProblem problem = problemOf({2, 4, 2, 8, 16, 64, 32});
    problem.paging = {8, 2, 5};
    vkf::enable(problem, VKF_USE_BLOCK_TABLE);
    const VkfTensorLayout v = vkf::layoutOf(problem, VKF_TENSOR_V);
    CHECK(v.batch == 5);
    CHECK(v.rows == 8);
    CHECK(v.headStride == 8 * 32);
    CHECK(v.batchStride == 2 * 8 * 32);
    CHECK(v.elements == 5 * 2 * 8 * 32);
    CHECK(vkf::layoutOf(problem, VKF_TENSOR_Q).batch == 2);
    problem.keys = 0;
    CHECK(vkf::layoutOf(problem, VKF_TENSOR_V).elements == 0);
}

TEST_CASE("the count of visible pairs is that of the contract", "[problem]") {
    for (const uint32_t rows : {1U, 5U, 12U}) {
        for (const uint32_t keys : {0U, 1U, 4U, 20U}) {
            for (const int64_t left : {-1, 0, 2, 50}) {
                for (const int64_t right : {-1, 0, 3, 50}) {
                    for (const VkfAlignment alignment : {VKF_ALIGNMENT_BOTTOM_RIGHT, VKF_ALIGNMENT_TOP_LEFT}) {
                        VkfProblem problem = problemOf({1, 1, 1, rows, keys, 8});
                        problem.use |= VKF_USE_WINDOW;
                        problem.window.left = left;
                        problem.window.right = right;
                        problem.alignment = alignment;
                        double expected = 0;
                        for (uint32_t i = 0; i < rows; i++) {
                            for (uint32_t j = 0; j < keys; j++) {
                                expected += vkf::test::isVisible(problem, keys, i, j) ? 1 : 0;
                            }
                        }
                        vkf::CheckedProblem checked{};
                        REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
                        INFO(vkf::test::describe(problem));
                        CHECK(vkf::visiblePairs(checked) == expected);
                    }
                }
            }
        }
    }
}

// The closed form takes fractions of keys, so it is only near the count.
TEST_CASE("the count of visible pairs is near that of the contract for positions", "[problem]") {
    for (const VkfPositions& at :
         {VkfPositions{0, 1, 40, 1}, {90, 1, 0, 1}, {3, 4, 1, 4}, {50, 1, 0, 3}, {0, 5, 7, 1}}) {
        for (const int64_t left : {-1, 30}) {
            VkfProblem problem = problemOf({1, 1, 1, 60, 80, 8});
            problem.use |= VKF_USE_WINDOW | VKF_USE_POSITIONS;
            problem.window.left = left;
            problem.window.right = 0;
            problem.positions = at;
            double expected = 0;
            for (uint32_t i = 0; i < problem.queryRows; i++) {
                for (uint32_t j = 0; j < problem.keys; j++) {
                    expected += vkf::test::isVisible(problem, problem.keys, i, j) ? 1 : 0;
                }
            }
            vkf::CheckedProblem checked{};
            REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
            INFO(vkf::test::describe(problem));
            CHECK(std::abs(vkf::visiblePairs(checked) - expected) <= problem.queryRows);
        }
    }
}

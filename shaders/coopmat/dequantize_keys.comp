// SPDX-License-Identifier: MIT
//
// Converts k and v of block types to the 16-bit type of the matrices, before attention on path coopmat. The attention
// kernel converts each element again for each tile of rows that reads it. Where many tiles of rows read the same keys,
// it is faster to convert once.
//
// The results are two dense arrays [batch, kvHeads, keys, dim] in scratch memory, without pages. Their elements have
// the bits that the attention kernel gives them (matrix/loaded_words.glsl).
//
// A workgroup converts TILE_KEYS keys of one KV head. All loads of an invocation are in flight at once, and
// neighbouring invocations load neighbouring pieces. Two kinds of keys are neither read nor written:
//   - keys past the end of the sequence
//   - keys in a tile that no query row sees. The attention kernel reads no other tile, because TILE_KEYS is a multiple
//     of the keys of its tiles.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS DequantizeKeysParams
#include "common/params.glsl"

layout(constant_id = VKF_ID_DEQUANTIZED_KEYS) const uint TILE_KEYS = 64;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;

const uint TILE_ROWS = VKF_ALL_ROWS; // for masks/mask.glsl: all packed rows of a sequence are one tile
const bool MATRICES_ARE_BF16 = VKF_MATRIX_TYPE(TYPE_Q, TYPE_K, TYPE_V) == VKF_STORED_BF16;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "cache/paging.glsl"
#include "matrix/loaded_words.glsl"

// Pieces of a row. A piece of an fp8 type is half of what other kernels load, and makes one word, so that neighbouring
// invocations store neighbouring words.
const uint K_PIECES = VKF_IS_FP8(TYPE_K) ? HEAD_DIM / 8 : K_LOADS;
const uint V_PIECES = VKF_IS_FP8(TYPE_V) ? VALUE_DIM / 8 : V_LOADS;
const uint K_FETCHES = (TILE_KEYS * K_PIECES + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE; // loads of an invocation
const uint V_FETCHES = (TILE_KEYS * V_PIECES + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

Item item;
uint key_begin; // first key of the workgroup
uint thread;

uvec4 fetched_k[K_FETCHES]; // pieces of blocks
uvec4 fetched_v[V_FETCHES];

void beginItem() {
    uint number = params.first_item + gl_WorkGroupID.x;
    uint tiles = VKF_TILES(params.keys, TILE_KEYS);
    uint kv_heads = QUERY_HEADS / KV_HEAD_QUERY_HEADS;
    key_begin = number % tiles * TILE_KEYS;
    item.kv_head = number / tiles % kv_heads;
    item.batch = number / tiles / kv_heads;
    item.row_begin = 0;
    item.first_key = 0;
    item.keys = keysOf(item.batch);
    item.offset = offsetOf(item);
}

// Whether some query row may see a key of the workgroup.
bool isSeen() {
    ivec2 any = tileMask(item).any;
    ivec2 unseen = unseenKeys(item);
    int begin = int(key_begin);
    int end = min(begin + int(TILE_KEYS), int(item.keys));
    return begin < any.y && end > any.x && (begin < unseen.x || end > unseen.y);
}

// Piece number `index` of the workgroup. Past the last key, the function reads the last key again, so that no load
// leaves the tensor and loads need no branches.
uvec4 fetchPiece(const uvec2 head, const uint tensor, const uint type, const uint loads, const uint index) {
    uint key = min(key_begin + min(index / loads, TILE_KEYS - 1), item.keys - 1);
    uvec2 row = keyAddress(head, tensor, pageOf(item.batch, key), key);
    if (VKF_IS_FP8(type)) {
        return uvec4(Word2(add64(row, uvec2(index % loads * 8, 0))).value, 0u, 0u);
    }
    return WHOLE_WORDS ? loadPiece(row, index % loads, type) : gatherPiece(row, index % loads, type);
}

// Stores the words that a piece makes. `dequantized` is the address of the item's head.
void storePiece(const uvec2 dequantized, const uint tensor, const uint type, const uint loads, const uint index,
                const uvec4 piece) {
    uint key = key_begin + index / loads;
    if (index < TILE_KEYS * loads && key < item.keys) {
        uvec2 row = rowAddress(dequantized, tensor, key);
        if (VKF_IS_FP8(type)) {
            Word4(add64(row, uvec2(index % loads * 16, 0))).value = pieceWord(piece, 0, type);
            return;
        }
        UNROLL for (uint word = 0; word < VKF_WORD_QUADS(type) / 2; word++) {
            uint column = wordOfLoad(index % loads, word, type);
            Word4(add64(row, uvec2(column * 16, 0))).value = pieceWord(piece, word, type);
        }
    }
}

void main() {
    thread = gl_LocalInvocationIndex;
    beginItem();
    if (!isSeen()) {
        return;
    }
    uvec2 k_head = keyHeadAddress(params.k, VKF_K, item);
    uvec2 v_head = keyHeadAddress(params.v, VKF_V, item);
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        fetched_k[i] = fetchPiece(k_head, VKF_K, TYPE_K, K_PIECES, i * WORKGROUP_SIZE + thread);
    }
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        fetched_v[i] = fetchPiece(v_head, VKF_V, TYPE_V, V_PIECES, i * WORKGROUP_SIZE + thread);
    }
    uvec2 dequantized_k = headAddress(params.dequantized_k, VKF_DEQUANTIZED_K, item.batch, item.kv_head);
    uvec2 dequantized_v = headAddress(params.dequantized_v, VKF_DEQUANTIZED_V, item.batch, item.kv_head);
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        storePiece(dequantized_k, VKF_DEQUANTIZED_K, TYPE_K, K_PIECES, i * WORKGROUP_SIZE + thread, fetched_k[i]);
    }
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        storePiece(dequantized_v, VKF_DEQUANTIZED_V, TYPE_V, V_PIECES, i * WORKGROUP_SIZE + thread, fetched_v[i]);
    }
}

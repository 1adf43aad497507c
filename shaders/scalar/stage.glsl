// SPDX-License-Identifier: MIT
//
// Moves q, k and v from device memory to shared memory. Shared memory holds fp32, whatever the storage type.
//
// A piece moves in two steps. A fetch loads it into registers, with all loads in flight at once. A placement writes the
// registers to shared memory. A kernel fetches the next piece, multiplies the present one, and places the next piece
// when all readers are done.
//
// Only a complete piece is fetched: all its words exist, and its rows can be loaded four elements at a time. Any other
// piece is loaded when it is placed. Rows and columns that do not exist become zeros. Their bytes are never read.
//
// Needs: scalar/scalar_tile.glsl, common/address.glsl, common/element.glsl, common/item.glsl; VKF_STAGED_KEY if the
// kernel stages keys in another order.
// Provides: kv_stage, fetched, Rows, rowsOf, isComplete, pieceAddress, fetchWord, fetchKeyWord, loadWord, Q_FETCHES,
// K_FETCHES, V_FETCHES, VALUE_WORDS, STAGED_WORDS; fetchK, placeK, fetchV, placeV of scalar/stage_keys.glsl.
#ifndef VKF_STAGE_GLSL
#define VKF_STAGE_GLSL

#include "cache/block_types.glsl"
#include "cache/paging.glsl"

const uint STAGED_WORDS = VKF_STAGED_ROW_WORDS(CHUNK_DIM4);
#ifndef VKF_STAGES_NO_V
const uint VALUE_WORDS = (VALUE_DIM + 3) / 4; // words of a row of v; columns of the tile past them are not staged
#endif

// Words of a piece that an invocation fetches.
const uint Q_FETCHES = (TILE_ROWS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#ifdef VKF_STAGES_NO_V
const uint KV_FETCHES = K_FETCHES;
shared vec4 kv_stage[VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4)];
#else
const uint V_FETCHES = (CHUNK_KEYS * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#define KV_FETCHES VKF_MAX_WORDS(K_FETCHES, V_FETCHES)
shared vec4 kv_stage[VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))];
#endif

// The row of the stage that holds key `key` of the tile.
#ifndef VKF_STAGED_KEY
#define VKF_STAGED_KEY(key) (key)
#endif

vec4 fetched[Q_FETCHES + KV_FETCHES]; // q, then k or v

// One head of a tensor, of one sequence.
struct Rows {
    uvec2 address; // of row 0; with pages, of row 0 of page 0
    uint row_stride;
    uint count; // rows that exist
    // Four elements can be loaded at once, everywhere. For types other than block types: also, a tile of rows spans
    // under 4 GiB.
    bool vectors;
    uint tensor;
    uint batch;
};

bool hasPages(const uint tensor) {
    return PAGED && (tensor == VKF_K || tensor == VKF_V);
}

// The item's head of a tensor: the KV head for VKF_K and VKF_V, else the query head.
Rows rowsOf(const uvec2 base, const uint tensor, const uint type, const uint dim, const Item item, const uint count) {
    uvec2 address = tensor == VKF_K || tensor == VKF_V
                        ? keyHeadAddress(base, tensor, item)
                        : headAddress(base, tensor, item.batch, item.head, item.first_row);
    uint row_stride = params.row_stride[tensor];
    bool spans = row_stride <= 0xffffffffu / VKF_MAX_WORDS(TILE_ROWS, TILE_KEYS) - 4 * VKF_MAX_DIM;
    uint strides = row_stride | (hasPages(tensor) ? params.batch_stride[tensor] << STRIDE_SHIFT : 0);
    bool vectors = VKF_IS_BLOCK_TYPE(type) || (spans && dim % 4 == 0 && isAligned4(address, strides, type));
    return Rows(address, row_stride, count, vectors, tensor, item.batch);
}

// Address of a row, which must exist.
uvec2 addressOfRow(const Rows source, uint row) {
    uvec2 address = source.address;
    if (hasPages(source.tensor)) {
        address = add64(address, strideOffset(pageOf(source.batch, row), params.batch_stride[source.tensor]));
        row %= PAGE;
    }
    return add64(address, multiply64(row, source.row_stride));
}

// Whether a piece is complete: `rows` rows from first_row on, `words` words of four elements from first_word on.
bool isComplete(const Rows source, const uint first_row, const uint rows, const uint first_word, const uint words,
             const uint dim) {
    return source.vectors && first_row + rows <= source.count && (first_word + words) * 4 <= dim;
}

uvec2 pieceAddress(const Rows source, const uint type, const uint first_row, const uint first_word) {
    uvec2 row = add64(source.address, multiply64(first_row, source.row_stride));
    return add64(row, uvec2(first_word * 4 * elementBytes(type), 0));
}

// A word of four elements. The row must allow loads of four elements at once.
vec4 rowWord(const uvec2 row_address, const uint type, const uint word) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return loadBlockQuad(row_address, word, type);
    }
    return loadAligned4(add64(row_address, uvec2(word * 4 * elementBytes(type), 0)), type);
}

// The word at (row, word) of a complete piece.
vec4 fetchWord(const uvec2 piece, const uint row_stride, const uint type, const uint row, const uint word) {
    return loadAligned4(add64(piece, uvec2(row * row_stride + word * 4 * elementBytes(type), 0)), type);
}

// The word at (row, word) of a complete piece of k or v. Its rows may lie in pages and may have a block type.
vec4 fetchKeyWord(const Rows source, const uvec2 piece, const uint type, const uint first_row, const uint first_word,
                  const uint row, const uint word) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return loadBlockQuad(addressOfRow(source, first_row + row), first_word + word, type);
    }
    if (PAGED) {
        uvec2 address = addressOfRow(source, first_row + row);
        return loadAligned4(add64(address, uvec2((first_word + word) * 4 * elementBytes(type), 0)), type);
    }
    return fetchWord(piece, source.row_stride, type, row, word);
}

// The word at (row, word) of a head; zeros if the row or the columns do not exist.
vec4 loadWord(const Rows source, const uint type, const uint dim, const uint row, const uint word) {
    if (row >= source.count || word * 4 >= dim) {
        return vec4(0.0);
    }
    uvec2 address = addressOfRow(source, row);
    return source.vectors ? rowWord(address, type, word) : loadRow4(address, word * 4, dim, type);
}

#include "scalar/stage_keys.glsl"

#endif

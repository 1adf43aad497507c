// SPDX-License-Identifier: MIT
//
// The rows of one head of q, k, v or another tensor of a call in device memory, and their words of four elements.
#ifndef VKF_CACHE_TENSOR_ROWS_GLSL
#define VKF_CACHE_TENSOR_ROWS_GLSL

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

#include "common/chosen_keys.glsl"

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

// Address of a row, which must exist. With lists of chosen keys, a row of k or v is counted in the list.
uvec2 addressOfRow(const Rows source, uint row) {
    uvec2 address = source.address;
    if (HAS_CHOSEN_KEYS && (source.tensor == VKF_K || source.tensor == VKF_V)) {
        row = keyOfEntry(listEntry(row, list_end));
    }
    if (hasPages(source.tensor)) {
        uint entry = pageOf(source.batch, row);
        goToPage(address, source.tensor, entry, row);
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
    if (PAGED || HAS_CHOSEN_KEYS) {
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

#endif

// SPDX-License-Identifier: MIT
//
// Where the rows of a tile of k or v lie in device memory.
//
// Needs: matrix/half_rows.glsl, common/params.glsl, TILE_KEYS. Provides: tileRowAddress.
#ifndef VKF_TILE_ROWS_GLSL
#define VKF_TILE_ROWS_GLSL

// Address of a row of a tile of k or v. Where no tile lies in several pages, one page lookup serves the tile.
uvec2 tileRowAddress(const HalfRows rows, const uint tensor, const uint key_begin, const uint row) {
    if (PAGED && PAGE % TILE_KEYS != 0) {
        uint key = key_begin + row;
        return keyAddress(rows.address, tensor, pageOf(rows.batch, key), key);
    }
    uvec2 first = keyAddress(rows.address, tensor, pageOf(rows.batch, key_begin), key_begin);
    return add64(first, uvec2(row * rows.row_stride, 0));
}

#endif

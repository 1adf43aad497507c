// SPDX-License-Identifier: MIT
//
// What infinity and NaN in visited rows and keys add to sums. In partial tiles they became 0 (visited_stage.glsl).
// matrix/special_values.glsl does the same for o.
//
//     dv   A special dout adds itself to the keys that its row sees.
//     dq   A special k adds NaN to the rows that see its key: its score is infinite or NaN, so that p is 0 or NaN.
//     dk   A special q adds nothing: its row has NaN in all ds, or gives and takes nothing.
//
// llvmpipe runs the body of a loop once more behind its end, without invocations, and loads what all of them would load
// from one address. All do if a row has one column: then the last row is loaded twice.
//
// Needs: backward_coopmat/globals.glsl, backward/walk.glsl, scalar/row_state.glsl, masks/*, scores/dropout.glsl.
// Provides: specialValues, specialHeads.
#ifndef VKF_SPECIAL_SUMS_GLSL
#define VKF_SPECIAL_SUMS_GLSL

// Whether the row sees the key. The item has the row's head.
bool seesKey(const Item of_row, const uint row, const uint key) {
    if (!isVisible(visibleKeys(of_row, row), key)) {
        return false;
    }
    if (HAS_BLOCK_MASK) {
        Item blocks_of_row = of_row;
        blocks_of_row.row_begin = row;
        beginBlocks(blocks_of_row);
        if (!isOpen(openBlocks(row, key), key, key)) {
            return false;
        }
    }
    return isUnmasked(rowMasks(of_row, of_row.head, row), key) &&
           loadRowState(VKF_BACKWARD_TABLE.row_state, of_row, row).x != PLUS_INFINITY;
}

// What special values of dout add to four columns of dv of a key, which must be one of the sequence.
vec4 specialValues(const uint key, const uint column) {
    Item of_row = item;
    vec4 sum = vec4(0.0);
    KEEP_LOOP for (uint head = 0; head < KV_HEAD_QUERY_HEADS; head++) {
        of_row.head = of_row.kv_head * KV_HEAD_QUERY_HEADS + head;
        HalfRows rows = visited_values;
        rows.address = add64(first_values, strideOffset(head, params.head_stride[VKF_DOUT]));
        KEEP_LOOP for (uint row = seeing_rows.x; row < seeing_rows.y; row++) {
            uint loaded = VALUE_DIM > 1 ? row : min(row, rows.count - 1);
            vec4 x = loadRow4(halfRowAddress(rows, loaded), column, VALUE_DIM, TYPE_DOUT);
            bvec4 special = greaterThanEqual(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
            if (any(special) && seesKey(of_row, row, key) &&
                (!HAS_DROPOUT || staysIn(rowDropout(of_row, of_row.head, row), key))) {
                sum += mix(vec4(0.0), x, special);
            }
        }
    }
    return sum;
}

// What special values of k add to four columns of dq of a row.
vec4 specialHeads(const uint row, const uint column) {
    Item of_row = item;
    ivec2 visible = visibleKeys(of_row, row);
    vec4 sum = vec4(0.0);
    KEEP_LOOP for (int key = visible.x; key < visible.y; key++) {
        uint loaded = HEAD_DIM > 1 ? uint(key) : min(uint(key), visited_heads.count - 1);
        vec4 x = loadRow4(halfRowAddress(visited_heads, loaded), column, HEAD_DIM, TYPE_K);
        bvec4 special = greaterThanEqual(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
        if (any(special) && seesKey(of_row, row, uint(key))) {
            sum += mix(vec4(0.0), vec4(uintBitsToFloat(0x7fc00000u)), special);
        }
    }
    return sum;
}

#endif

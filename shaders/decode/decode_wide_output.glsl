// SPDX-License-Identifier: MIT
//
#ifndef VKF_DECODE_WIDE_OUTPUT_GLSL
#define VKF_DECODE_WIDE_OUTPUT_GLSL

// Divides o by l and stores lse.
void finishRows() {
    for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
        l += subgroupShuffleXor(l, distance);
    }
    barrier(); // the readers of the factors are done
    uint packed_row = item.row_begin + row;
    float factor = l == 0.0 ? 0.0 : 1.0 / l;
    if (HAS_SINKS && ENDS_ROWS) {
        vec3 ended = withSink(queryHead(item, packed_row), m, l);
        factor = l == 0.0 ? 0.0 : ended.z / ended.y;
        m = ended.x;
        l = ended.y;
    }
    placeFactor(scaledByDropout(factor));
    if (HAS_LSE && pair == 0 && packed_row < packedRows(item)) {
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        storeLse(of_row, queryRow(packed_row), m, l);
    }
    barrier();
    scaleOutput();
}

// Matrices first, ... of each subgroup: staged by all of them, then stored, four columns at a time.
void storeMatrices(const uint first) {
    UNROLL for (uint i = 0; i < STAGED_TILES; i++) {
        if (first + i < VALUE_TILES) {
            coopMatStore(o_tile[first + i], stage, (subgroup * STAGED_TILES + i) * MATRIX_FOURS, MATRIX_COLUMNS / 4,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
    const uint fours = MATRIX_COLUMNS / 4;
    bool special = special_values != 0u;
    KEEP_LOOP for (uint i = thread; i < SUBGROUPS * STAGED_TILES * MATRIX_FOURS; i += WORKGROUP_SIZE) {
        uint matrix = i / MATRIX_FOURS; // of those staged
        uint tile = first + matrix % STAGED_TILES;
        uint packed_row = item.row_begin + i / fours % MATRIX_ROWS;
        uint column = (matrix / STAGED_TILES * VALUE_TILES + tile) * MATRIX_COLUMNS + i % fours * 4;
        if (tile >= VALUE_TILES || packed_row >= packedRows(item) || column >= VALUE_DIM) {
            continue;
        }
        vec4 o = uintBitsToFloat(stage[i]);
        if (special) {
            Item of_row = item;
            of_row.head = queryHead(item, packed_row);
            o += specialValues(of_row, v_head, queryRow(packed_row), column);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.partial_result, queryHead(item, packed_row), item.first_row);
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), column, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
}

// Matrices are named by constants: indexed by a variable they would live in memory. A tile of keys has room for half of
// them at least.
void storeOutput() {
    storeMatrices(0);
    if (VALUE_TILES > STAGED_TILES) {
        barrier(); // the readers of the stage are done
        storeMatrices(STAGED_TILES);
    }
    if (VALUE_TILES > 2 * STAGED_TILES) {
        barrier();
        storeMatrices(2 * STAGED_TILES);
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// o and lse of a subgroup's rows, matrix by matrix through the subgroup's part of shared memory, where
// every element has a known row and column.
#ifndef VKF_MATRIX_OUTPUT_GLSL
#define VKF_MATRIX_OUTPUT_GLSL

// What the values that became zeros on their way to the matrix unit add to four columns of a row: infinity
// or NaN, whatever their probability.
vec4 specialValues(uint row, uint column) {
    ivec2 visible = visibleKeys(item, row);
    vec4 sum = vec4(0.0);
    [[dont_unroll]] for (int key = visible.x; key < visible.y; key++) {
        uvec2 address = add64(v.address, multiply64(uint(key), v.row_stride));
        vec4 x = loadRow4(address, column, VALUE_DIM, TYPE_V);
        bvec4 special = equal(floatBitsToUint(x) & 0x7f800000u, uvec4(0x7f800000u));
        sum += mix(vec4(0.0), x, special);
    }
    return sum;
}

// The staged matrix, columns from `column` on of the rows from `row_begin` on.
void storeMatrix(uint begin, uvec2 head, bool aligned4, uint row_begin, uint column) {
    const uint words = MATRIX_DEPTH / 4;
    [[dont_unroll]] for (uint place = lane; place < MATRIX_ROWS * words; place += LANES) {
        uint row = row_begin + place / words;
        uint word_column = column + place % words * 4;
        if (row < params.query_rows && word_column < VALUE_DIM) {
            vec4 x = uintBitsToFloat(stage[begin + place]);
            if (special_values != 0u) {
                x += specialValues(row, word_column);
            }
            storeRow4(rowAddress(head, VKF_O, row), word_column, VALUE_DIM, TYPE_O, aligned4, x);
        }
    }
}

void storeLseOfRows() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        uint row = first_row + i / SLOTS * MATRIX_ROWS + place.x + slotRow(i % SLOTS);
        if ((lane & COLUMN_LANES) == 0 && row < params.query_rows) {
            storeLse(item, row, m_row[i], l_row[i]);
        }
    }
}

// Divides o by l. A row without visible keys has l = 0 and o = 0.
void normalize() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        ResultMatrix factors;
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            float l = l_row[r * SLOTS + e / SLOT_ELEMENTS];
            factors[e] = l == 0.0 ? 0.0 : 1.0 / l;
        }
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

void writeResults() {
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        l_row[i] = sumOverColumns(l_row[i]);
    }
    normalize();
    if (HAS_LSE) {
        storeLseOfRows();
    }
    uvec2 head = headAddress(params.o, VKF_O, item.part, item.head);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_O], TYPE_O);
    uint begin = subgroup * STAGE_WORDS;
    // One copy of the code that stores: the loop over matrices stays a loop, and picks its matrix by
    // comparing numbers, because matrices indexed by a variable would live in memory.
    [[dont_unroll]] for (uint i = 0; i < ROW_TILES * VALUE_TILES; i++) {
        UNROLL for (uint j = 0; j < ROW_TILES * VALUE_TILES; j++) {
            if (j == i) {
                coopMatStore(o_tile[j], stage, begin, MATRIX_DEPTH / 4, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeMatrix(begin, head, aligned4, first_row + i / VALUE_TILES * MATRIX_ROWS, i % VALUE_TILES * MATRIX_DEPTH);
        subgroupBarrier();
    }
}

#endif

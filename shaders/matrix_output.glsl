// SPDX-License-Identifier: MIT
//
// o and lse of a subgroup's rows, some matrices at a time through the subgroup's part of shared memory,
// where every element has a known row and column.
#ifndef VKF_MATRIX_OUTPUT_GLSL
#define VKF_MATRIX_OUTPUT_GLSL

// What the values that became zeros on their way to the matrix unit add to four columns of a row: infinity
// or NaN, whatever their probability.
vec4 specialValues(uint row, uint column) {
    ivec2 visible = visibleKeys(item, row);
    vec4 sum = vec4(0.0);
    [[dont_unroll]] for (int key = visible.x; key < visible.y; key++) {
        vec4 x = loadRow4(halfRowAddress(v, uint(key)), column, VALUE_DIM, TYPE_V);
        bvec4 special = equal(floatBitsToUint(x) & 0x7f800000u, uvec4(0x7f800000u));
        sum += mix(vec4(0.0), x, special);
    }
    return sum;
}

// Matrices that a subgroup stages at once; there is room for VKF_MATRIX_STAGE_WORDS.
const uint STAGED_MATRICES = 2;
const uint MATRICES = ROW_TILES * VALUE_TILES;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // of fp32

// Stores what is staged of the matrices from `first` on; rows and columns that do not exist are left out.
void storeStaged(uint begin, uvec2 head, bool aligned4, bool special, uint first) {
    UNROLL for (uint i = 0; i < STAGED_MATRICES * MATRIX_WORDS / LANES; i++) {
        uint place = i * LANES + lane;
        uint matrix = first + place / MATRIX_WORDS;
        uint row = first_row + matrix / VALUE_TILES * MATRIX_ROWS + place % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
        uint column = matrix % VALUE_TILES * MATRIX_COLUMNS + place % (MATRIX_COLUMNS / 4) * 4;
        if (matrix < MATRICES && row < params.query_rows && column < VALUE_DIM) {
            vec4 x = uintBitsToFloat(stage[begin + place]);
            if (special) {
                x += specialValues(row, column);
            }
            storeRow4(rowAddress(head, VKF_O, row), column, VALUE_DIM, TYPE_O, aligned4, x);
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
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            float l = l_row[r * SLOTS + slot];
            row_factor[slot] = l == 0.0 ? 0.0 : 1.0 / l;
        }
        makeFactors();
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
    bool special = special_values != 0u;
    // One copy of the code that stores: the loop over matrices stays a loop, and picks its matrices by
    // comparing numbers, because matrices indexed by a variable would live in memory. So would they in a
    // function that the driver's compiler does not inline.
    [[dont_unroll]] for (uint first = 0; first < MATRICES; first += STAGED_MATRICES) {
        UNROLL for (uint i = 0; i < MATRICES; i++) {
            if (i / STAGED_MATRICES == first / STAGED_MATRICES) {
                coopMatStore(o_tile[i], stage, begin + i % STAGED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeStaged(begin, head, aligned4, special, first);
        subgroupBarrier();
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_coopmat.comp): finishes and stores o and lse of a subgroup's rows.
#ifndef VKF_COOPMAT_OUTPUT_GLSL
#define VKF_COOPMAT_OUTPUT_GLSL

FinishedRow finished_row[ROW_TILES * FRAGMENT_ROWS];

// Line 15: stores lse. For each row one lane does it.
void storeLseOfRows() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < ROW_TILES * FRAGMENT_ROWS; i++) {
        uint row = first_row + place.x + laneRow(i);
        if ((lane & COLUMN_LANES) == 0 && row < packedRows(item)) {
            Item of_row = item;
            of_row.head = queryHead(item, row);
            storeLse(of_row, queryRow(row), m_row[i], l_row[i], finished_row[i]);
        }
    }
}

// Address of a packed row of o; `head` is the head of packed row 0.
uvec2 outputRow(const uvec2 head, const uint packed_row) {
    uvec2 row = rowAddress(head, VKF_O, queryRow(packed_row));
    return PACKED_HEADS == 1 ? row : add64(row, strideOffset(packed_row % PACKED_HEADS, params.head_stride[VKF_O]));
}

// The alignment of the rows of o: a low bit that is 0 here is 0 in the address of every row.
uint outputAlignment(const uvec2 head) {
    uint between_heads = PACKED_HEADS == 1 ? 0 : params.head_stride[VKF_O] << STRIDE_SHIFT;
    return head.x | params.row_stride[VKF_O] | between_heads;
}

// Lines 12 and 13: divides o by l, and computes lse. A row without visible keys has l = 0 and o = 0.
void normalize() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint i = r * FRAGMENT_ROWS + fragment_row;
            uint row = first_row + r * MATRIX_STEP + place.x + fragmentRow(fragment_row);
            finished_row[i] = finishRow(queryHead(item, row), m_row[i], l_row[i]);
            float l = finished_row[i].l;
            row_factor[fragment_row] = scaledByDropout(inverseOfSum(l));
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

// Whether an element of o is fp16 and past the largest one. One maximum for each element costs a quarter of what it
// costs to clamp each element.
bool exceedsF16() {
    vec2 largest = vec2(0.0);
    UNROLL for (uint i = 0; i < (TYPE_O == VKF_STORED_F16 ? ROW_TILES * VALUE_TILES : 0); i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            largest[e % 2] = max(largest[e % 2], abs(o_tile[i][e]));
        }
    }
    return subgroupAny(max(largest.x, largest.y) > VKF_LARGEST_F16);
}

// Matrices that a subgroup stages at once. VKF_MATRIX_STAGE_WORDS is large enough for them.
const uint STAGED_MATRICES = 2;
const uint MATRICES = ROW_TILES * VALUE_TILES;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32

#endif

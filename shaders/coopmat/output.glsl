// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_coopmat.comp): finishes and stores o and lse of a subgroup's rows. Some
// matrices of o at a time pass through the subgroup's part of shared memory, where every element has a known row and
// column. There are two ways:
//   - As words, where rows of o are whole words of 16 bytes: o is converted to its own type before it is staged. This
//     way has the least code, and code that runs once waits for its own instructions.
//   - As elements, elsewhere: o is staged as fp32, then converted and stored element by element.
#ifndef VKF_COOPMAT_OUTPUT_GLSL
#define VKF_COOPMAT_OUTPUT_GLSL

FinishedRow finished_row[ROW_MATRICES * FRAGMENT_ROWS];

// Line 15: stores lse. For each row one lane does it.
void storeLseOfRows() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint i = 0; i < ROW_MATRICES * FRAGMENT_ROWS; i++) {
        uint row = first_row + position.x + laneRow(i);
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
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint i = r * FRAGMENT_ROWS + fragment_row;
            uint row = first_row + r * MATRIX_STRIDE + position.x + fragmentRow(fragment_row);
            finished_row[i] = finishRow(queryHead(item, row), m_row[i], l_row[i]);
            float l = finished_row[i].l;
            row_factor[fragment_row] = scaledByDropout(inverseOfSum(l));
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_MATRICES; c++) {
            o_matrix[r * VALUE_MATRICES + c] *= factors;
        }
    }
}

// Whether an element of o is fp16 and past the largest one. One maximum for each element costs a quarter of what it
// costs to clamp each element.
bool exceedsF16() {
    vec2 largest = vec2(0.0);
    UNROLL for (uint i = 0; i < (TYPE_O == VKF_STORED_F16 ? ROW_MATRICES * VALUE_MATRICES : 0); i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            largest[e % 2] = max(largest[e % 2], abs(o_matrix[i][e]));
        }
    }
    return subgroupAny(max(largest.x, largest.y) > VKF_LARGEST_F16);
}

// Matrices that a subgroup stages at once. VKF_MATRIX_STAGE_WORDS is large enough for them.
const uint STAGED_MATRICES = 2;
const uint MATRICES = ROW_MATRICES * VALUE_MATRICES;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32

#ifdef VKF_VIA_SHARED
// The host never chooses words for this kernel. 16-bit words are stored as left operands, whose element layout is
// unknown here.
void storeMatricesAsWords(const uvec2 head, const uint begin) {}
#else
const bool O_IS_F32 = TYPE_O == VKF_STORED_F32;
// Matrices of a row of matrices that are staged side by side as words of o.
const uint O_STAGED_MATRICES = O_IS_F32 ? VKF_STAGED_MATRICES / 2 : VKF_STAGED_MATRICES;
const uint O_MATRIX_WORDS = O_IS_F32 ? MATRIX_DEPTH / 4 : MATRIX_DEPTH / 8;         // words in a row of a matrix
const uint O_CHUNKS = (VALUE_MATRICES + O_STAGED_MATRICES - 1) / O_STAGED_MATRICES; // chunks of a row of matrices
const uint O_WORDS = O_IS_F32 ? VALUE_DIM / 4 : VALUE_DIM / 8;                      // words in a row

// Converts an element of o, with the rounding of packF16 or packBf16. An fp16 must not be past the largest one
// (exceedsF16).
Half storedHalf(const float x) {
    return MATRICES_ARE_BF16 ? UPPER_HALF(packBf16(vec2(0.0, x))) : Half(x);
}

void stageMatrixOfWords(const uint matrix, const uint begin) {
    if (O_IS_F32) {
        coopMatStore(o_matrix[matrix], stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
        return;
    }
    LeftMatrix o_half;
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        o_half[e] = storedHalf(o_matrix[matrix][e]);
    }
    coopMatStore(o_half, stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

// A lane stores each STORE_ROWS-th row of a chunk. Where these rows have the same head, one address leads to all of
// them.
const uint STORE_ROWS = LANES / Q_CHUNK_WORDS;
const bool STORES_ONE_HEAD = LANES % Q_CHUNK_WORDS == 0 && STORE_ROWS % PACKED_HEADS == 0;
// Rows are counted up from the lane's first row, or derived from the index in the chunk. The results are the same, but
// NVIDIA's compiler then finds other registers for the loops over keys. With D = 128 counting is 3 % faster, with D =
// 64 it is 2 % slower (lab/log-0.4.md, "rows of o counted up").
const bool COUNTS_ROWS = STORES_ONE_HEAD && ROW_MATRICES * O_CHUNKS > 2;

uvec2 addressAfter(const uvec2 first, const uint rows) {
    return add64(first, multiply64(rows / PACKED_HEADS, params.row_stride[VKF_O]));
}

void storeWords(const uvec2 head, const uint begin, const uint row_begin, const uint word_begin) {
    uint lane_word = word_begin + lane % Q_CHUNK_WORDS;
    uint lane_row = row_begin + lane / Q_CHUNK_WORDS;
    uvec2 first = add64(outputRow(head, lane_row), uvec2(lane_word * 16, 0));
    if (COUNTS_ROWS) {
        UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
            if (lane_row + i * STORE_ROWS < packedRows(item) && lane_word < O_WORDS) {
                Word4(addressAfter(first, i * STORE_ROWS)).value =
                    stage[begin + (lane / Q_CHUNK_WORDS + i * STORE_ROWS) * Q_CHUNK_ROW + lane % Q_CHUNK_WORDS];
            }
        }
        return;
    }
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint index = i * LANES + lane;
        uint row = row_begin + index / Q_CHUNK_WORDS;
        uint word = word_begin + index % Q_CHUNK_WORDS;
        if (row < packedRows(item) && word < O_WORDS) {
            uvec2 address = STORES_ONE_HEAD ? addressAfter(first, i * STORE_ROWS)
                                            : add64(outputRow(head, row), uvec2(word * 16, 0));
            Word4(address).value = stage[begin + index / Q_CHUNK_WORDS * Q_CHUNK_ROW + index % Q_CHUNK_WORDS];
        }
    }
}

// The outer loop stays a loop, here and in storeMatricesAsElements, so that the code that stores exists once. The
// unrolled loop inside selects its matrices by comparing numbers. NVIDIA's compiler keeps matrices in memory if a
// variable indexes them, or if a function that it does not inline uses them. See docs/kernel_rules.md, "Loops over
// matrices count to a constant".
void storeMatricesAsWords(const uvec2 head, const uint begin) {
    KEEP_LOOP for (uint chunk = 0; chunk < ROW_MATRICES * O_CHUNKS; chunk++) {
        UNROLL for (uint i = 0; i < MATRICES; i++) {
            const uint column = i % VALUE_MATRICES;
            if (i / VALUE_MATRICES * O_CHUNKS + column / O_STAGED_MATRICES == chunk) {
                stageMatrixOfWords(i, begin + column % O_STAGED_MATRICES * O_MATRIX_WORDS);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeWords(head, begin, first_row + chunk / O_CHUNKS * MATRIX_STRIDE,
                   chunk % O_CHUNKS * O_STAGED_MATRICES * O_MATRIX_WORDS);
        subgroupBarrier();
    }
}
#endif

void storeMatricesAsElements(const uvec2 head, const uint begin, const bool special) {
    bool aligned4 = isAligned4(uvec2(outputAlignment(head), 0), 0, TYPE_O);
    KEEP_LOOP for (uint first = 0; first < MATRICES; first += STAGED_MATRICES) {
        UNROLL for (uint i = 0; i < MATRICES; i++) {
            if (i / STAGED_MATRICES == first / STAGED_MATRICES) {
                coopMatStore(o_matrix[i], stage, begin + i % STAGED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint i = 0; i < STAGED_MATRICES * MATRIX_WORDS / LANES; i++) {
            uint index = i * LANES + lane;
            uint matrix = first + index / MATRIX_WORDS;
            uint row =
                first_row + matrix / VALUE_MATRICES * MATRIX_STRIDE + index % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column = matrix % VALUE_MATRICES * MATRIX_COLUMNS + index % (MATRIX_COLUMNS / 4) * 4;
            if (matrix < MATRICES && row < packedRows(item) && column < VALUE_DIM) {
                vec4 x = uintBitsToFloat(stage[begin + index]);
                addSpecialValues(row, column, x, special)
                    storeRow4(outputRow(head, row), column, VALUE_DIM, TYPE_O, aligned4, x);
            }
        }
        subgroupBarrier();
    }
}

// Lines 12 to 15. The sums l of the lanes are added up here, once.
void writeResults() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * FRAGMENT_ROWS; i++) {
        l_row[i] = sumOverColumns(l_row[i]);
    }
    normalize();
    if (HAS_LSE) {
        storeLseOfRows();
    }
    uvec2 head = headAddress(params.o, VKF_O, item.partial_result, item.head, item.first_row);
    uint begin = subgroup * STAGE_WORDS;
    const bool special = SAW_SPECIAL_VALUES;
    bool exceeds = O_IN_WORDS && exceedsF16();
    if (O_IN_WORDS && !special && !exceeds && (outputAlignment(head) & 15u) == 0) {
        storeMatricesAsWords(head, begin);
    } else {
        storeMatricesAsElements(head, begin, special);
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// Line 14 of the algorithm (attention_coopmat.comp): o from matrices to memory. o passes, some matrices at a time,
// through the subgroup's part of shared memory, where every element has a known row and column. Where rows of o are
// whole words of 16 bytes, it leaves as words in its own type: the least code, and code that runs once waits for its
// own instructions. Elsewhere it leaves as fp32, converted and stored element by element.
//
// Needs: coopmat/state.glsl, outputRow and outputAlignment of coopmat/matrix_output.glsl, common/element.glsl,
// matrix/special_values.glsl.
// Provides: storeMatricesAsWords, storeMatricesAsElements.
#ifndef VKF_MATRIX_STORE_GLSL
#define VKF_MATRIX_STORE_GLSL

// Matrices that a subgroup stages at once; there is room for VKF_MATRIX_STAGE_WORDS.
const uint STAGED_MATRICES = 2;
const uint MATRICES = ROW_TILES * VALUE_TILES;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // of fp32

#ifdef VKF_MATRIX_EXCHANGE
// The host does not ask for words here: 16-bit words leave as left operands, whose layout is unknown.
void storeMatricesAsWords(const uvec2 head, const uint begin) {}
#else
// Matrices of a row tile that are staged side by side as words of o, and words in a row of one of them.
const bool O_IS_F32 = TYPE_O == VKF_STORED_F32;
const uint O_STAGED_MATRICES = O_IS_F32 ? VKF_MATRIX_STAGED_TILES / 2 : VKF_MATRIX_STAGED_TILES;
const uint O_MATRIX_WORDS = O_IS_F32 ? MATRIX_DEPTH / 4 : MATRIX_DEPTH / 8;
const uint O_CHUNKS = (VALUE_TILES + O_STAGED_MATRICES - 1) / O_STAGED_MATRICES; // of a row tile
const uint O_WORDS = O_IS_F32 ? VALUE_DIM / 4 : VALUE_DIM / 8; // in a row

// Rounds as packF16 and packBf16 do.
Half storedHalf(const float x) {
    return Half(MATRICES_ARE_BF16 ? uintBitsToFloat(packBf16(vec2(0.0, x)) & 0xffff0000u) : withinF16(vec2(x)).x);
}

void stageMatrixOfWords(const uint matrix, const uint begin) {
    if (O_IS_F32) {
        coopMatStore(o_tile[matrix], stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
        return;
    }
    LeftMatrix o_half;
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        o_half[e] = storedHalf(o_tile[matrix][e]);
    }
    coopMatStore(o_half, stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

void storeWords(const uvec2 head, const uint begin, const uint row_begin, const uint word_begin) {
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint place = i * LANES + lane;
        uint row = row_begin + place / Q_CHUNK_WORDS;
        uint word = word_begin + place % Q_CHUNK_WORDS;
        if (row < packedRows(item) && word < O_WORDS) {
            Word4(add64(outputRow(head, row), uvec2(word * 16, 0))).value =
                stage[begin + place / Q_CHUNK_WORDS * Q_CHUNK_ROW + place % Q_CHUNK_WORDS];
        }
    }
}

// One copy of the code that stores, here and in storeMatricesAsElements. The loop stays a loop, and the unrolled loop
// inside picks its matrices by comparing numbers: matrices that a variable indexes live in memory, and so do those of a
// function that NVIDIA's compiler does not inline (docs/tuning.md, "Loops over matrices count to a constant").
void storeMatricesAsWords(const uvec2 head, const uint begin) {
    KEEP_LOOP for (uint chunk = 0; chunk < ROW_TILES * O_CHUNKS; chunk++) {
        UNROLL for (uint i = 0; i < MATRICES; i++) {
            const uint column = i % VALUE_TILES;
            if (i / VALUE_TILES * O_CHUNKS + column / O_STAGED_MATRICES == chunk) {
                stageMatrixOfWords(i, begin + column % O_STAGED_MATRICES * O_MATRIX_WORDS);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeWords(head, begin, first_row + chunk / O_CHUNKS * MATRIX_ROWS,
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
                coopMatStore(o_tile[i], stage, begin + i % STAGED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint i = 0; i < STAGED_MATRICES * MATRIX_WORDS / LANES; i++) {
            uint place = i * LANES + lane;
            uint matrix = first + place / MATRIX_WORDS;
            uint row = first_row + matrix / VALUE_TILES * MATRIX_ROWS + place % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column = matrix % VALUE_TILES * MATRIX_COLUMNS + place % (MATRIX_COLUMNS / 4) * 4;
            if (matrix < MATRICES && row < packedRows(item) && column < VALUE_DIM) {
                vec4 x = uintBitsToFloat(stage[begin + place]);
                if (special) {
                    Item of_row = item;
                    of_row.head = queryHead(item, row);
                    x += specialValues(of_row, v.address, queryRow(row), column);
                }
                storeRow4(outputRow(head, row), column, VALUE_DIM, TYPE_O, aligned4, x);
            }
        }
        subgroupBarrier();
    }
}

#endif

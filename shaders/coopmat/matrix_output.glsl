// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_coopmat.comp): o and lse of a subgroup's rows. o passes, some matrices at
// a time, through the subgroup's part of shared memory, where every element has a known row and column. Where rows of o
// are whole words of 16 bytes, it leaves as words in its own type: the least code, and code that runs once waits for
// its own instructions. Elsewhere it leaves as single elements.
//
// Needs: coopmat/state.glsl, common/address.glsl, common/element.glsl, scores/final_score.glsl, scores/sink.glsl,
// scores/dropout.glsl, matrix/special_values.glsl, makeFactors.
// Provides: writeResults.
#ifndef VKF_MATRIX_OUTPUT_GLSL
#define VKF_MATRIX_OUTPUT_GLSL

// Matrices that a subgroup stages at once; there is room for VKF_MATRIX_STAGE_WORDS.
const uint STAGED_MATRICES = 2;
const uint MATRICES = ROW_TILES * VALUE_TILES;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // of fp32

// Lines 13 and 15.
void storeLseOfRows() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        uint row = first_row + place.x + laneRow(i);
        if ((lane & COLUMN_LANES) == 0 && row < packedRows(item)) {
            Item of_row = item;
            of_row.head = queryHead(item, row);
            storeLse(of_row, queryRow(row), m_row[i], l_row[i]);
        }
    }
}

// Address of a packed row of o; `head` is the head of packed row 0.
uvec2 outputRow(const uvec2 head, const uint packed_row) {
    uvec2 row = rowAddress(head, VKF_O, queryRow(packed_row));
    return PACKED_HEADS == 1 ? row : add64(row, strideOffset(packed_row % PACKED_HEADS, params.head_stride[VKF_O]));
}

// A low bit that is 0 here is 0 in the address of every row.
uint outputAlignment(const uvec2 head) {
    uint between_heads = PACKED_HEADS == 1 ? 0 : params.head_stride[VKF_O] << STRIDE_SHIFT;
    return head.x | params.row_stride[VKF_O] | between_heads;
}

// Line 12: divides o by l. A row without visible keys has l = 0 and o = 0.
void normalize() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint i = r * SLOTS + slot;
            float l = l_row[i];
            row_factor[slot] = l == 0.0 ? 0.0 : 1.0 / l;
            if (HAS_SINKS && ENDS_ROWS) {
                uint row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
                vec3 ended = withSink(queryHead(item, row), m_row[i], l);
                row_factor[slot] = l == 0.0 ? 0.0 : ended.z / ended.y;
                m_row[i] = ended.x;
                l_row[i] = ended.y;
            }
            row_factor[slot] = scaledByDropout(row_factor[slot]);
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

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

// The lanes' parts of l are added here, once.
void writeResults() {
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        l_row[i] = sumOverColumns(l_row[i]);
    }
    normalize();
    if (HAS_LSE) {
        storeLseOfRows();
    }
    uvec2 head = headAddress(params.o, VKF_O, item.partial_result, item.head, item.first_row);
    uint begin = subgroup * STAGE_WORDS;
    bool special = special_values != 0u;
    if (O_IN_WORDS && !special && (outputAlignment(head) & 15u) == 0) {
        storeMatricesAsWords(head, begin);
    } else {
        storeMatricesAsElements(head, begin, special);
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_coopmat.comp): stores o and lse of a subgroup's rows. Some matrices of o
// at a time pass through the subgroup's part of shared memory, where every element has a known row and column. Here o
// is staged as fp32, then converted and stored element by element. store_words.glsl has the faster way for whole words.
#ifndef VKF_COOPMAT_STORE_GLSL
#define VKF_COOPMAT_STORE_GLSL

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
            uint row = first_row + matrix / VALUE_TILES * MATRIX_STEP + place % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column = matrix % VALUE_TILES * MATRIX_COLUMNS + place % (MATRIX_COLUMNS / 4) * 4;
            if (matrix < MATRICES && row < packedRows(item) && column < VALUE_DIM) {
                vec4 x = uintBitsToFloat(stage[begin + place]);
                addSpecialValues(row, column, x, special)
                    storeRow4(outputRow(head, row), column, VALUE_DIM, TYPE_O, aligned4, x);
            }
        }
        subgroupBarrier();
    }
}

// Lines 12 to 15. The sums l of the lanes are added up here, once.
void writeResults() {
    UNROLL for (uint i = 0; i < ROW_TILES * FRAGMENT_ROWS; i++) {
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

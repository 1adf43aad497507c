// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_latent.comp): finishes and stores o and lse.
#ifndef VKF_LATENT_OUTPUT_GLSL
#define VKF_LATENT_OUTPUT_GLSL

// Lines 12, 13 and 15: divides o by l and stores lse.
void finishRows() {
    barrier(); // the readers of the factors are done
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        float sum = l[r];
        for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
            sum += subgroupShuffleXor(sum, distance);
        }
        uint packed_row = packedRow(r);
        FinishedRow finished = finishRow(queryHead(item, packed_row), m[r], sum);
        stageFactor(r, scaledByDropout(inverseOfSum(finished.l)));
        if (HAS_LSE && pair == 0 && packed_row < packedRows(item)) {
            Item of_row = item;
            of_row.head = queryHead(item, packed_row);
            storeLse(of_row, queryRow(packed_row), m[r], sum, finished);
        }
    }
    barrier();
    scaleOutput();
}

// Stores STAGED_MATRICES matrices of each subgroup, from number `first` of a matrix of rows on. All subgroups stage
// theirs first. Then all store, four columns at a time.
void storeMatrices(const uint r, const uint first) {
    UNROLL for (uint i = 0; i < STAGED_MATRICES; i++) {
        if (first + i < VALUE_MATRICES) {
            coopMatStore(o_matrix[r * VALUE_MATRICES + first + i], stage,
                         (subgroup * STAGED_MATRICES + i) * MATRIX_VEC4S, MATRIX_COLUMNS / 4,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
    const uint row_vec4s = MATRIX_COLUMNS / 4;
    bool special = special_values != 0u;
    KEEP_LOOP for (uint i = thread; i < SUBGROUPS * STAGED_MATRICES * MATRIX_VEC4S; i += WORKGROUP_SIZE) {
        uint matrix = i / MATRIX_VEC4S; // number among the staged matrices
        uint of_subgroup = first + matrix % STAGED_MATRICES;
        uint packed_row = item.row_begin + r * MATRIX_ROWS + i / row_vec4s % MATRIX_ROWS;
        uint column = (matrix / STAGED_MATRICES * VALUE_MATRICES + of_subgroup) * MATRIX_COLUMNS + i % row_vec4s * 4;
        if (of_subgroup >= VALUE_MATRICES || packed_row >= packedRows(item) || column >= VALUE_DIM) {
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

// Line 14, for one matrix of rows. Constants index the matrices, because matrices that a variable indexes live in
// memory (docs/kernel_rules.md, "What else keeps arrays of matrices in memory"). The stage has room for at least a
// third of them. It is a macro because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
#define STORE_ROWS(r)                                                                                                  \
    {                                                                                                                  \
        storeMatrices(r, 0);                                                                                           \
        if (VALUE_MATRICES > STAGED_MATRICES) {                                                                        \
            barrier(); /* the readers of the stage are done */                                                         \
            storeMatrices(r, STAGED_MATRICES);                                                                         \
        }                                                                                                              \
        if (VALUE_MATRICES > 2 * STAGED_MATRICES) {                                                                    \
            barrier();                                                                                                 \
            storeMatrices(r, 2 * STAGED_MATRICES);                                                                     \
        }                                                                                                              \
    }

// Line 14.
void storeOutput() {
    STORE_ROWS(0)
    if (ROW_MATRICES > 1) {
        barrier();
        STORE_ROWS(1)
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// Writes the gradients of the owned tile, without rows and columns that do not exist.
#ifndef VKF_STORE_GRADIENTS_GLSL
#define VKF_STORE_GRADIENTS_GLSL

// Stores one word of a row for each owned row or key and column word of a sum, times `factor`.
void storeSums(const BackwardTensor tensor, const uint type, const uint dim, const uint base, const uint columns4,
               const float factor) {
    uint first = OWNS_KEYS ? key_begin : item.row_begin;
    uint count = OWNS_KEYS ? stored_keys : SEQUENCE_ROWS(item);
    uint head = OWNS_KEYS ? item.kv_head : item.head;
    BackwardRows rows = backwardRows(tensor, item.partial_result, head, OWNS_KEYS ? item.first_key : item.first_row);
    UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
        uint row = first + ownedIndex(owned);
        if (row < count) {
            uvec2 address = backwardRow(rows, row);
            bool aligned4 = isAligned4(address, 0, type);
            UNROLL for (uint c = 0; c < MAX_COLUMNS4; c++) {
                if (c < columns4) {
                    storeRow4(address, (lane + c * LANES) * 4, dim, type, aligned4,
                              sums[base + owned * columns4 + c] * factor);
                }
            }
        }
    }
}

// Adds the gradients of a tile of pairs to those of the bias. The sums of an owner of the bias are those of its pairs.
void addBias() {
    float factor = HAS_BIAS_FACTORS ? biasFactorOf(item.head) : 1.0;
    UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
        UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
            float ds = scores_dp[FIRST_DP + owned * THREAD_VISITED + visited];
            if (ds != DROPPED_PAIR) {
                sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4] += ds * factor;
            }
        }
    }
}

void storeBiasElement(const uint row, const uint key, const float x) {
    uvec2 address = backwardRow(backwardRows(VKF_BACKWARD_TABLE.dbias, own_batch, own_head, 0), row);
    storeElement(address, key_begin + key, VKF_BACKWARD_TABLE.call.longest_keys, TYPE_DBIAS,
                 packWords(vec4(x, 0.0, 0.0, 0.0), TYPE_DBIAS), 0);
}

// If rows share the elements, the sums of all rows of the tile are added up first: those of the invocation, then those
// of the groups, in order.
void storeBias() {
    if (VKF_BACKWARD_TABLE.bias_rows != 1) {
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            uint row = seeing_rows.x + ownedIndex(owned);
            if (row < VKF_BACKWARD_TABLE.bias_rows) {
                UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
                    storeBiasElement(row, visitedIndex(visited),
                                     sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4]);
                }
            }
        }
        return;
    }
    UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
        float sum = 0.0;
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            sum += sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4];
        }
        uint index = group * VISITED + visitedIndex(visited);
        pair_stage[index / 4][index % 4] = sum;
    }
    barrier();
    KEEP_LOOP for (uint key = thread; key < VISITED; key += WORKGROUP_SIZE) {
        float sum = 0.0;
        for (uint other = 0; other < GROUPS; other++) {
            uint index = other * VISITED + key;
            sum += pair_stage[index / 4][index % 4];
        }
        storeBiasElement(0, key, sum);
    }
}

#endif

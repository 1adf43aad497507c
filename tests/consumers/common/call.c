/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { batch = 2, queryHeads = 4, kvHeads = 2, queryRows = 33, keys = 70, headDim = 16 };

/* The second sequence has fewer keys than rows: under a causal mask its first 13 rows see no key. */
static const int32_t keyLengths[batch] = {keys, 20};

static VkfProblem describeProblem(void) {
    const VkfProblem problem = {.structSize = sizeof problem,
                                .batch = batch,
                                .queryHeads = queryHeads,
                                .kvHeads = kvHeads,
                                .queryRows = queryRows,
                                .keys = keys,
                                .headDim = headDim,
                                .path = VKF_PATH_SCALAR, /* needs no scratch memory */
                                .use = VKF_USE_CAUSAL | VKF_USE_LSE | VKF_USE_KEY_LENGTHS};
    return problem;
}

/* Numbers between -1 and 1 that look random. */
static void fill(const Array* array, uint32_t seed) {
    float* values = (float*)array->data;
    for (size_t i = 0; i < array->bytes / sizeof(float); i++) {
        seed = seed * 1664525U + 1013904223U;
        values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

void createCall(const Gpu* gpu, Call* call) {
    call->problem = describeProblem();
    createArray(gpu, sizeof(float) * batch * queryHeads * queryRows * headDim, &call->q);
    createArray(gpu, sizeof(float) * batch * kvHeads * keys * headDim, &call->k);
    createArray(gpu, sizeof(float) * batch * kvHeads * keys * headDim, &call->v);
    createArray(gpu, sizeof keyLengths, &call->keyLengths);
    createArray(gpu, call->q.bytes, &call->o);
    createArray(gpu, sizeof(float) * batch * queryHeads * queryRows, &call->lse);
    fill(&call->q, 1);
    fill(&call->k, 2);
    fill(&call->v, 3);
    for (int b = 0; b < batch; b++) {
        ((int32_t*)call->keyLengths.data)[b] = keyLengths[b];
    }
}

void destroyCall(const Gpu* gpu, Call* call) {
    destroyArray(gpu, &call->q);
    destroyArray(gpu, &call->k);
    destroyArray(gpu, &call->v);
    destroyArray(gpu, &call->keyLengths);
    destroyArray(gpu, &call->o);
    destroyArray(gpu, &call->lse);
}

/* ---- The expected results -------------------------------------------------------------------- */

static void compare(const char* what, int b, int h, int i, double value, double expected) {
    const bool right = isinf(expected) ? value == expected : fabs(value - expected) <= 1e-5;
    if (!right) {
        fprintf(stderr, "%s of sequence %d, head %d, row %d is %g and must be %g\n", what, b, h, i, value, expected);
        exit(1);
    }
}

static double dot(const float* x, const float* y) {
    double sum = 0;
    for (int d = 0; d < headDim; d++) {
        sum += (double)x[d] * (double)y[d];
    }
    return sum;
}

/* Row i of head h: softmax(q k^T / sqrt(headDim)) v over the keys that it sees. Scores are small enough here for a
 * softmax without a maximum. */
static void checkRow(const Call* call, int b, int h, int i) {
    const int row = (b * queryHeads + h) * queryRows + i;
    const int firstKey = (b * kvHeads + h / (queryHeads / kvHeads)) * keys;
    const float* q = (const float*)call->q.data + row * headDim;
    const float* k = (const float*)call->k.data + firstKey * headDim;
    const float* v = (const float*)call->v.data + firstKey * headDim;
    const float* o = (const float*)call->o.data + row * headDim;
    const int position = i + keyLengths[b] - queryRows; /* the last row stands at the last key */

    double sum = 0;
    double expected[headDim] = {0};
    for (int j = 0; j <= position; j++) {
        const double weight = exp(dot(q, k + j * headDim) / sqrt(headDim));
        sum += weight;
        for (int d = 0; d < headDim; d++) {
            expected[d] += weight * (double)v[j * headDim + d];
        }
    }
    for (int d = 0; d < headDim; d++) {
        compare("o", b, h, i, (double)o[d], sum > 0 ? expected[d] / sum : 0);
    }
    compare("lse", b, h, i, (double)((const float*)call->lse.data)[row], sum > 0 ? log(sum) : -(double)INFINITY);
}

void checkResults(const Call* call) {
    for (int b = 0; b < batch; b++) {
        for (int h = 0; h < queryHeads; h++) {
            for (int i = 0; i < queryRows; i++) {
                checkRow(call, b, h, i);
            }
        }
    }
}

/* SPDX-License-Identifier: MIT
 *
 * vkflash/reference.h: attention on the CPU, the yardstick for every kernel. It takes the same
 * VkfProblem as the library, knows no Vulkan, and follows the contract to the letter in fp64.
 */
#ifndef VKFLASH_REFERENCE_H
#define VKFLASH_REFERENCE_H

#include "append.h"
#include "merge.h"
#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the reference computes. All agree; they differ in order and rounding. */
typedef enum VkfReferenceAlgorithm VKF_INT32_ENUM {
    /* Row by row: all scores, their maximum, the sum, the weighted sum. fp64. A score of -infinity
     * has weight 0 and a row of nothing else is empty; a score of +infinity makes its row NaN. */
    VKF_REFERENCE_DIRECT = 0,
    /* FlashAttention's tiled online softmax, outer loop over query tiles, inner loop over K/V tiles,
     * state (m, l, o) (Dao 2023, arXiv 2307.08691, algorithm 1). fp64. */
    VKF_REFERENCE_TILED = 1,
    /* The same rounding where the portable kernel rounds: fp32 everywhere, dot products and weighted
     * sums by fused multiply-add in the order of the index, base-2 exponentials, o rounded to its
     * storage type. Its error is the yardstick for the kernels' errors. (The kernel sums l up in
     * another order.) With a productType, each p is rounded to it on its way into the product p v,
     * and enters l unrounded, as in a kernel on matrix units; elements of k and v of block types are
     * rounded to it on their way into both products, and of fp16 infinite past the largest. */
    VKF_REFERENCE_TILED_FP32 = 2,
    /* The same, but every product is rounded before it is added: a device may carry out GLSL's fma in
     * one rounding or in two. */
    VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS = 3,
    /* Block-sparse FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 5): outer loop over tiles of keys, as
     * large as the blocks of the block mask, inner loop over rows; closed blocks are passed over. fp64. (The
     * others take block masks too; the tiled ones pass over closed blocks.) */
    VKF_REFERENCE_BLOCK_SPARSE = 4,
    /* The rest are the steps from standard attention to the kernels, as docs/algorithm.md tells them. fp64.
     *
     * Standard attention, three steps with both matrices between them in memory: S = scale q k^T, P =
     * softmax(S), o = P v. Writes P to options.probabilities, if given. */
    VKF_REFERENCE_STANDARD = 5,
    /* Row by row, key by key, with vkfOnlineSoftmaxUpdate: no row of S is ever there as a whole (Milakov and
     * Gimelshein 2018, arXiv 1805.02867, algorithm 3, with o beside m and l). */
    VKF_REFERENCE_ONLINE = 6,
    /* FlashAttention's first version: outer loop over K/V tiles, inner loop over query tiles; m, l and o of every
     * row are read and written once for each K/V tile, and o is normalised each time (Dao et al. 2022, arXiv
     * 2205.14135, algorithm 1). */
    VKF_REFERENCE_TILED_KEYS_OUTER = 7,
    /* o = P v with P recomputed from options.savedLse, as a backward pass does that kept lse and not P: P[i, j] =
     * exp(s[i, j] - lse[i]) (the same paper, section 3.1 and appendix B.2). Returns the saved lse as lse. Writes P
     * to options.probabilities, if given. */
    VKF_REFERENCE_RECOMPUTE = 8,
    VKF_REFERENCE_FORCE_INT32 = 0x7fffffff
} VkfReferenceAlgorithm;

/* Host memory of one call, laid out as the problem's tensors and strides say. What the problem does not have
 * may be NULL. An entry of the block table that is used must be in [0, paging.pages). */
typedef struct VkfReferenceInputs {
    size_t structSize;
    const void* q;
    const void* k;
    const void* v;
    const int32_t* keyLengths;
    const uint32_t* blockMask;
    const int32_t* blockTable;
    const float* sinks;       /* [queryHeads] */
    const float* alibiSlopes; /* [queryHeads] */
    const void* bias;
    const void* mask;
    const int32_t* documentIds; /* [batch, keys]; of packed keys [keys] */
    const int32_t* cuSeqlensQ;  /* [batch + 1], of packed problems, as vkfCheckSequences wants them */
    const int32_t* cuSeqlensK;
    const void* dropoutMask;
    const uint64_t* dropoutSeed; /* one */
    const int32_t* probabilityRows;   /* [probabilityRows] */
    const float* biasFactors;    /* [queryHeads] */
} VkfReferenceInputs;

typedef struct VkfReferenceOptions {
    size_t structSize;
    VkfReferenceAlgorithm algorithm;
    uint32_t tileRows; /* Br; 0 = 64; changes the speed, never a bit of the result */
    uint32_t tileKeys; /* Bc, of the tiled algorithms; 0 = 64 */
    uint32_t threads;  /* 0 = one for each processor */
    /* Compute query rows rowBegin, rowBegin + rowStride, ... only; the rest of the output is left
     * alone. rowStride 0 = all rows, and rowBegin must be 0. For checking a sample of a large problem. */
    uint32_t rowBegin;
    uint32_t rowStride;
    /* Called now and then from the calling thread with the share done, 0 to 1. Optional. */
    void (*progress)(void* user, double share);
    void* user;
    /* Type in which p, and k and v of block types, enter products, of the plan that made o (VkfPlanInfo::productType):
     * VKF_TYPE_F32 (0) = unrounded, VKF_TYPE_F16, VKF_TYPE_BF16. The fp64 algorithms ignore it. */
    VkfType productType;
    uint32_t reserved; /* 0 */
    /* The softmax's probabilities P, fp64, dense [batch, queryHeads, rows that are selected, keys]: 0 where a key is dropped,
     * rows sum to 1, or to 0 if they see no key. Of a problem with probabilityRows dense [batch, queryHeads, probabilityRows,
     * keys], for which all rows must be selected. Refused by the algorithms that do not hold P. Optional. */
    double* probabilities;
    /* Of VKF_REFERENCE_RECOMPUTE, which needs it: dense [batch, queryHeads, queryRows], all rows. +infinity, which some
     * libraries save for an empty row, counts as -infinity. */
    const double* savedLse;
} VkfReferenceOptions;

/* o: fp64, dense [batch, queryHeads, queryRows, valueDim]. lse: fp64, dense [batch, queryHeads,
 * queryRows], or NULL. Packed sequences have a batch of 1 in both. options may be NULL. Refuses what vkfCheckProblem
 * refuses. Allocates fp32 copies of one KV head; any number of threads may call it at once. */
VKF_API VkfResult vkfReferenceAttention(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                        const VkfReferenceOptions* options, double* o, double* lse,
                                        VkfMessage* message);

/* ---- Online softmax -------------------------------------------------------------------------- */

/* The state after some keys of one row: m = maximum score so far, l = sum exp(s - m), o = sum exp(s -
 * m) v, not yet divided by l (Milakov and Gimelshein 2018, arXiv 1805.02867). Empty: m = -infinity,
 * l = 0, o = 0. o has room for `dim` numbers and belongs to the caller. With dim = 0 it is the softmax
 * alone: Update takes the scores piece by piece (values may be NULL), Compute gives the probabilities. */
typedef struct VkfOnlineSoftmax {
    double m;
    double l;
    double* o;
    uint32_t dim;
} VkfOnlineSoftmax;

/* Makes the state empty. */
VKF_API void vkfOnlineSoftmaxReset(VkfOnlineSoftmax* state);
/* Adds `count` keys: scores[count], values as rows of `dim` numbers, valueStride apart. A score of
 * -infinity is a dropped key; its value is not read. */
VKF_API void vkfOnlineSoftmaxUpdate(VkfOnlineSoftmax* state, const double* scores, uint32_t count, const double* values,
                                    size_t valueStride);
/* Adds another state over other keys of the same row. Associative; the empty state is neutral. */
VKF_API void vkfOnlineSoftmaxMerge(VkfOnlineSoftmax* state, const VkfOnlineSoftmax* other);
/* probabilities[count] = exp(s - m) / l, the softmax of these scores among all that the state has seen; 0 for a score of
 * -infinity and in an empty state. `probabilities` may be `scores`. Before or after Finish. */
VKF_API void vkfOnlineSoftmaxCompute(const VkfOnlineSoftmax* state, const double* scores, uint32_t count,
                                     double* probabilities);
/* Divides o by l (o = 0 if no key was added) and returns lse = m + ln l. */
VKF_API double vkfOnlineSoftmaxFinish(VkfOnlineSoftmax* state);

/* ---- Dropout --------------------------------------------------------------------------------- */

/* Whether the generator of VkfDropout keeps a key of a query row. Thread-safe. */
VKF_API VkfBool vkfDropoutKeeps(const VkfDropout* dropout, uint32_t batch, uint32_t head, uint32_t row, uint32_t key);

/* ---- Merge ----------------------------------------------------------------------------------- */

/* Merges partial results, laid out as the problem says, in fp64. o: dense [batch, heads, rows, dim]; lse: dense [batch,
 * heads, rows], or NULL. Refuses what vkfCheckMerge refuses. Thread-safe. */
VKF_API VkfResult vkfReferenceMerge(const VkfMergeProblem* problem, const void* parts, const float* partLse, double* o,
                                    double* lse, VkfMessage* message);

/* ---- Append ---------------------------------------------------------------------------------- */

/* Host memory of one append, laid out as the problem says. Those that the problem does not use, and newLengths, may be
 * NULL. q may be rotatedQ, and lengths newLengths. */
typedef struct VkfAppendBuffers {
    size_t structSize;
    const void* newK;
    const void* newV;
    void* k;
    void* v;
    const int32_t* lengths;
    int32_t* newLengths;
    const int32_t* blockTable;
    const void* q;
    void* rotatedQ;
    const float* cos;
    const float* sin;
} VkfAppendBuffers;

/* What vkfCmdAppend does, on the CPU. Rotations are in fp64 and rounded once; without rotation the bytes are those of
 * the kernels. Refuses what vkfCheckAppend refuses. Thread-safe. */
VKF_API VkfResult vkfReferenceAppend(const VkfAppendProblem* problem, const VkfAppendBuffers* buffers,
                                     VkfMessage* message);

/* ---- Types ------------------------------------------------------------------------------------ */

/* Reads and writes one element of F32, F16 or BF16; of block types it reads. Writing rounds to nearest, ties to even;
 * a finite value past the largest finite fp16 or bf16 stores that largest value, an infinity stays one. Of other
 * types nothing is written and NaN is read. */
VKF_API double vkfLoadElement(VkfType type, const void* base, uint64_t element);
VKF_API void vkfStoreElement(VkfType type, void* base, uint64_t element, double value);

/* Makes `count` blocks of a block type from 32 * count values, in fp32 as ggml does:
 *
 *     q8_0        d = largest |x| / 127                        code = round(x / d), halves away from zero
 *     q4_0, q5_0  d = x of the largest |x|, the first of       code = trunc(x / d + 8.5), at most 15, or
 *                 equals, with its sign / -8, or / -16                trunc(x / d + 16.5), at most 31
 *     q4_1, q5_1  m = min x, d = (max x - m) / 15, or / 31     code = trunc((x - m) / d + 0.5), at most 15, or 31
 *
 * where x / d is x * (1 / d), and x * 0 if |d| < 2^-126; d and m are stored rounded as by vkfStoreElement. A block
 * with a value, or a d, that is not finite gets a NaN for d, and zeros: all its elements are NaN. Of other types
 * nothing is written. */
VKF_API void vkfQuantizeBlocks(VkfType type, const float* values, uint64_t count, void* blocks);
/* Reads them: 32 * count values, exactly the elements that the kernels see. Of other types they are NaN. */
VKF_API void vkfDequantizeBlocks(VkfType type, const void* blocks, uint64_t count, float* values);

/* ---- Verdict ---------------------------------------------------------------------------------- */

/* Result of comparing an output with the fp64 reference. Bound: twice the largest error of
 * the two fp32 algorithms against fp64 on the same inputs, plus a floor of a few units in the last
 * place of the output type at the largest magnitude of the exact output (for lse: fp32's, at 1 at least).
 * NaN and infinity must stand where the reference has them, or an fp32 run where fp32 itself overflows;
 * rows without visible keys must be 0 exactly; else the error is infinite. */
typedef struct VkfVerdict {
    size_t structSize;
    VkfBool passed;
    double oError; /* largest |o - reference| */
    double oBound;
    double lseError; /* 0 without lse */
    double lseBound;
    double oRms;           /* root mean square of the reference's o, for scale */
    uint64_t worstElement; /* dense index into o of the largest error */
    double worstValue;
    double worstReference;
} VkfVerdict;

/* Compares o (the problem's type and strides) and lse (fp32, dense, or NULL) with the reference on the
 * rows that options select. tileKeys and productType in options should be the plan's; algorithm is ignored.
 * An output that does not pass is no failure of the call. */
VKF_API VkfResult vkfReferenceVerify(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                     const VkfReferenceOptions* options, const void* o, const float* lse,
                                     VkfVerdict* verdict, VkfMessage* message);

/* The same of VkfProblem::probabilities. The fp32 runs are those of o for all rows on path standard; else each makes probabilities
 * from its own unrounded scores and the other's lse, rounded to fp32, as the kernels do whose lse comes from one and
 * whose scores from another. The floor is fp32's at the largest probability, in the latter case and what the floor of lse
 * and sums of headDim products in another order make of that probability; the probability of a dropped key must be 0 exactly. */
typedef struct VkfProbabilitiesVerdict {
    size_t structSize;
    VkfBool passed;
    double error; /* largest |probability - reference| */
    double bound;
    uint64_t worstElement; /* dense index into probabilities of the largest error */
    double worstValue;
    double worstReference;
} VkfProbabilitiesVerdict;

/* Compares probabilities (fp32, dense) as vkfReferenceVerify does o; of chosen rows the options select some of the list,
 * whose numbers out of range must have zeros. Allocates some rows of fp64 probabilities. */
VKF_API VkfResult vkfReferenceVerifyProbabilities(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                            const VkfReferenceOptions* options, const float* probabilities,
                                            VkfProbabilitiesVerdict* verdict, VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif

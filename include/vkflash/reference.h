/* SPDX-License-Identifier: MIT
 *
 * vkflash/reference.h: attention on the CPU. It is the yardstick for every kernel, takes the same VkfProblem as the
 * library, and follows docs/semantics.md to the letter in fp64. It needs no Vulkan.
 *
 * - vkfReferenceAttention computes attention by one of several algorithms.
 * - vkfReferenceVerify and vkfReferenceVerifyProbabilities judge the outputs of a kernel.
 * - vkfReferenceBackward computes the backward pass, vkfReferenceVerifyBackward judges a kernel's gradients.
 * - vkfReferenceMerge and vkfReferenceAppend do on the CPU what vkfCmdMerge and vkfCmdAppend do on the device.
 * - Small functions: online softmax, dropout generator, conversion of elements and blocks.
 *
 * All functions are thread-safe, as long as no two threads write the same memory. Functions that return a VkfResult
 * compute before they return, so they block for as long as the work takes. They return:
 * - VKF_SUCCESS
 * - VKF_ERROR_INVALID_ARGUMENT: a pointer that is needed is NULL, or a field is wrong. The message names it.
 * - VKF_ERROR_UNSUPPORTED: this version cannot do the problem. The message says why.
 * - VKF_ERROR_STRUCT_SIZE: a structSize that this version does not know. vkflash.h says what structSize is for.
 * - VKF_ERROR_OUT_OF_HOST_MEMORY: an allocation failed. Outputs may have been written in part.
 * - VKF_ERROR_VULKAN: an unexpected failure in the C++ runtime.
 *
 * Host arrays of numbers need the alignment of their C type. Tensors given as `const void*` may have any alignment.
 */
#ifndef VKFLASH_REFERENCE_H
#define VKFLASH_REFERENCE_H

#include "append_problem.h"
#include "backward_problem.h"
#include "merge_problem.h"
#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the reference computes. All algorithms agree; they differ in order and rounding. They compute in fp64 unless
 * their comment says fp32. */
typedef enum VkfReferenceAlgorithm VKF_INT32_ENUM {
    /* Row by row: all scores, their maximum, the sum, the weighted sum. A score of -infinity has probability 0. A row
     * in which all scores are -infinity is empty. A score of +infinity makes its row NaN. */
    VKF_REFERENCE_DIRECT = 0,
    /* FlashAttention's tiled online softmax (Dao 2023, arXiv 2307.08691, algorithm 1): outer loop over query tiles,
     * inner loop over K/V tiles, state (m, l, o). */
    VKF_REFERENCE_TILED = 1,
    /* VKF_REFERENCE_TILED with the roundings of the kernel of path scalar, in fp32. Its error is the yardstick for the
     * errors of kernels.
     * - Dot products and weighted sums use fused multiply-add, in the order of the index.
     * - Exponentials have base 2.
     * - o is rounded to its storage type.
     * - l is summed up in another order than in the kernel.
     * - With a productType, p is rounded to it where it enters the product p v, and is added to l unrounded. Kernels on
     *   matrix units do so too.
     * - With a productType, elements of k and v of block types are rounded to it where they enter both products. In
     *   fp16, an element becomes infinite from 65520 on.
     * - With a productType, elements of a q of type F32 are rounded in the same way. */
    VKF_REFERENCE_TILED_FP32 = 2,
    /* VKF_REFERENCE_TILED_FP32, with every product rounded before it is added. A device may carry out GLSL's fma in one
     * rounding or in two. */
    VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS = 3,
    /* Block-sparse FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 5): outer loop over tiles of keys that
     * are as large as the blocks of the block mask, inner loop over rows. Skips closed blocks. The other algorithms
     * take block masks too, and the tiled ones skip closed blocks. */
    VKF_REFERENCE_BLOCK_SPARSE = 4,

    /* The other algorithms are steps from standard attention to the kernels. docs/algorithm.md describes them. */

    /* Standard attention, in three steps with both matrices in memory between them: S = scale q k^T, P = softmax(S), o
     * = P v. Writes P to options.probabilities, if given. */
    VKF_REFERENCE_STANDARD = 5,
    /* Row by row and key by key, with vkfOnlineSoftmaxUpdate. No row of S is ever in memory as a whole (Milakov and
     * Gimelshein 2018, arXiv 1805.02867, algorithm 3, with o in addition to m and l). */
    VKF_REFERENCE_ONLINE = 6,
    /* The first version of FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 1): outer loop over K/V tiles,
     * inner loop over query tiles. Reads and writes m, l and o of every row once for each K/V tile, and normalises o
     * each time. */
    VKF_REFERENCE_TILED_KEYS_OUTER = 7,
    /* o = P v, with P recomputed from options.savedLse: P[i, j] = exp(s[i, j] - lse[i]). A backward pass does so if it
     * kept lse and not P (Dao et al. 2022, arXiv 2205.14135, section 3.1 and appendix B.2). Returns the saved lse as
     * lse. Writes P to options.probabilities, if given. */
    VKF_REFERENCE_RECOMPUTE = 8,
    VKF_REFERENCE_FORCE_INT32 = 0x7fffffff
} VkfReferenceAlgorithm;

/* Returns a static string: "direct", "tiled", ... Never NULL; "unknown algorithm" for other values. */
VKF_API const char* vkfReferenceAlgorithmString(VkfReferenceAlgorithm algorithm);

/* The functions of VkfProblem::functions in fp64. Each gets `user`. All must be thread-safe. */
typedef struct VkfReferenceFunctions {
    double (*score)(double s, const VkfPosition* at, void* user); /* with VKF_FUNCTION_SCORE */
    /* The derivative of score by s. NULL = a difference of scores; not for backward passes. */
    double (*scoreDerivative)(double s, const VkfPosition* at, void* user);
    int32_t (*keep)(const VkfPosition* at, void* user); /* with VKF_FUNCTION_KEEP; 0 drops the key */
    void* user;                                         /* passed to each function */
} VkfReferenceFunctions;

/* Host memory of one call. Inputs that the problem does not use may be NULL. An input that it uses and that is NULL is
 * VKF_ERROR_INVALID_ARGUMENT, unless the output is empty or the call reads none of the input. */
typedef struct VkfReferenceInputs {
    size_t structSize;
    const void* q;              /* queries, as VkfProblem::q says */
    const void* k;              /* keys, as VkfProblem::k says */
    const void* v;              /* values, as VkfProblem::v says */
    const int32_t* keyLengths;  /* [batch] */
    const uint32_t* blockMask;  /* [VkfBlockMaskLayout::words] */
    const int32_t* blockTable;  /* [batch, paging.maxPages]. Keys whose entry is not in [0, paging.pages) are absent. */
    const float* sinks;         /* [queryHeads] */
    const float* alibiSlopes;   /* [queryHeads] */
    const void* bias;           /* as VkfProblem::bias says */
    const void* mask;           /* as VkfProblem::mask says */
    const int32_t* documentIds; /* [batch, keys]; for packed sequences without pages [keys] */
    const int32_t* cuSeqlensQ;  /* [batch + 1], for packed sequences. It is an error if vkfCheckSequences refuses it. */
    const int32_t* cuSeqlensK;  /* [batch + 1], for packed sequences without pages. Checked like cuSeqlensQ. */
    const void* dropoutMask;    /* as VkfProblem::dropoutMask says */
    const uint64_t* dropoutSeed;            /* one number */
    const int32_t* probabilityRows;         /* [probabilityRowCount] */
    const float* biasFactors;               /* [queryHeads] */
    const VkfReferenceFunctions* functions; /* with VKF_USE_FUNCTIONS */
    const int32_t* rowOffsets;              /* [batch] */
    const float* kvScales;                  /* [k.scales + v.scales] */
    const int32_t* chosenKeys;              /* lists; it is an error if vkfCheckChosenKeys refuses them */
} VkfReferenceInputs;

/* How the reference computes a call. All fields 0 = the default of each field. */
typedef struct VkfReferenceOptions {
    size_t structSize;
    /* Default VKF_REFERENCE_DIRECT. Other values than those of the enumeration are VKF_ERROR_INVALID_ARGUMENT. */
    VkfReferenceAlgorithm algorithm;
    /* Query rows of a tile. 0 = 64. Changes the speed, and no bit of the result. */
    uint32_t tileRows;
    /* Keys of a tile, for the tiled algorithms, and for VKF_REFERENCE_BLOCK_SPARSE without a block mask. 0 = 64.
     * Changes roundings. */
    uint32_t tileKeys;
    /* Threads that compute, the calling thread among them. 0 = one for each processor. Values over 256 count as 256. */
    uint32_t threads;
    /* First query row to compute. Must be 0 if rowStride is 0. */
    uint32_t rowBegin;
    /* Computes query rows rowBegin, rowBegin + rowStride, ... only, and leaves the rest of the output alone. 0 = all
     * rows. For checking a sample of a large problem. */
    uint32_t rowStride;
    /* Called now and then on the calling thread, with the fraction that is done, 0 to 1. Must not throw. NULL = not
     * called. */
    void (*progress)(void* user, double share);
    /* First argument of `progress`. */
    void* user;
    /* Type in which p enters the product p v. k and v of block types and q of type F32 enter products in it too. Set it
     * to the VkfPlanInfo::productType of the plan that made o. VKF_TYPE_F32 (0) = unrounded, VKF_TYPE_F16 or
     * VKF_TYPE_BF16; other values are VKF_ERROR_INVALID_ARGUMENT. The fp64 algorithms ignore it. */
    VkfType productType;
    /* Room for later versions: 0. */
    uint32_t reserved;
    /* Output: the probabilities P = softmax(s), before dropout. fp64, dense [batch, queryHeads, selected rows, keys].
     * NULL = not written.
     * - The probability of a dropped key is 0.
     * - A row sums to 1, or less with a sink, or to 0 if it sees no key.
     * - With VKF_USE_PROBABILITY_ROWS: dense [batch, queryHeads, probabilityRowCount, keys], and all rows must be
     *   selected. A rowStride over 1 is VKF_ERROR_INVALID_ARGUMENT.
     * - Only for VKF_REFERENCE_STANDARD and VKF_REFERENCE_RECOMPUTE. Other algorithms do not hold P, and return
     *   VKF_ERROR_INVALID_ARGUMENT.
     * - Not for packed sequences: VKF_ERROR_UNSUPPORTED. */
    double* probabilities;
    /* Input of VKF_REFERENCE_RECOMPUTE, which returns VKF_ERROR_INVALID_ARGUMENT if it is NULL. Other algorithms ignore
     * it. fp64, dense [batch, queryHeads, queryRows], all rows. +infinity, which some libraries save for an empty row,
     * counts as -infinity. */
    const double* savedLse;
} VkfReferenceOptions;

/* Computes attention on the CPU.
 *
 * - o: fp64, dense [batch, queryHeads, queryRows, valueDim]. Must not be NULL unless the output is empty.
 * - lse: fp64, dense [batch, queryHeads, queryRows]; natural logarithm. NULL = not written. VKF_USE_LSE does not
 *   matter.
 * - For packed sequences both have a batch of 1.
 * - options: NULL = all defaults.
 *
 * Allocates fp32 copies of k and v of one KV head, and working memory for each thread. Starts threads that end before
 * the call returns.
 *
 * Errors: those at the top of this file. A problem that vkfCheckProblem refuses is refused with the same code. */
VKF_API VkfResult vkfReferenceAttention(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                        const VkfReferenceOptions* options, double* o, double* lse,
                                        VkfMessage* message);

/* ---- Backward pass --------------------------------------------------------------------------- */

/* Host memory of one backward call, besides the inputs of the forward call. */
typedef struct VkfReferenceBackwardInputs {
    size_t structSize;
    const void* dout; /* the gradient of o, as VkfBackwardProblem::dout says. Must not be NULL unless it is empty. */
    /* Output o of the forward call, as VkfProblem::o says. NULL = the algorithm computes it as vkfReferenceAttention
     * does: in fp64; in the fp32 algorithms in fp32, rounded to its storage type. */
    const void* o;
    /* Output lse of the forward call: fp32, dense [batch, queryHeads, queryRows]; with packed sequences [queryHeads,
     * queryRows]. NULL = computed, as for o. */
    const float* lse;
    const float* dlse; /* the gradient of lse, dense like lse; with VKF_USE_DLSE, else ignored */
} VkfReferenceBackwardInputs;

/* Outputs of one backward call, in fp64. NULL = not wanted. An output that is not NULL must have its bit in
 * VkfBackwardProblem::gradients, else VKF_ERROR_INVALID_ARGUMENT. With packed sequences the tensors have a batch of
 * 1. */
typedef struct VkfReferenceGradients {
    size_t structSize;
    double* dq; /* dense [batch, queryHeads, queryRows, headDim] */
    double* dk; /* dense [batch, kvHeads, keys, headDim] */
    double* dv; /* dense [batch, kvHeads, keys, valueDim] */
    /* Each element has the index of its element of the bias. The array has as many numbers as vkfGetBackwardArrayBytes
     * gives bytes, divided by those of one element. Numbers between rows, which belong to no element, stay as they
     * are. */
    double* dbias;
    double* dsinks; /* [queryHeads] */
} VkfReferenceGradients;

/* Computes the backward pass on the CPU, as backward_problem.h defines it.
 *
 * - options: NULL = all defaults. `algorithm` is one of these, else VKF_ERROR_INVALID_ARGUMENT:
 *   - VKF_REFERENCE_DIRECT: the formulas of backward_problem.h, row by row, in fp64.
 *   - VKF_REFERENCE_TILED: the backward pass of FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 4) in
 *     fp64, with lse in place of m and l as in its version 2: outer loop over tiles of keys, inner loop over tiles of
 *     rows.
 *   - VKF_REFERENCE_TILED_FP32, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS: the same with the roundings of the kernels, in
 *     fp32. With a productType, p and ds are rounded to it where they enter products, and so are q and dout of another
 *     type. Outputs are rounded to their storage types.
 * - options: `rowBegin` and `rowStride` select the rows of dq, and the keys of dk and dv, that are computed. The others
 *   stay as they are. dbias must be NULL then, else VKF_ERROR_INVALID_ARGUMENT. dsinks always has all rows.
 * - options: `probabilities` must be NULL. `savedLse` is ignored.
 *
 * Allocates fp32 copies of k and v of one KV head for each thread. Starts threads that end before the call returns; one
 * thread computes all of a KV head. With dbias there is one thread only.
 *
 * Errors: those at the top of this file. A problem that vkfCheckBackward refuses is refused with the same code. */
VKF_API VkfResult vkfReferenceBackward(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                                       const VkfReferenceBackwardInputs* backwardInputs,
                                       const VkfReferenceOptions* options, const VkfReferenceGradients* gradients,
                                       VkfMessage* message);

/* ---- Online softmax -------------------------------------------------------------------------- */

/* The state of one row after some of its keys (Milakov and Gimelshein 2018, arXiv 1805.02867). The empty state is m =
 * -infinity, l = 0, o = 0. The functions below allocate nothing and check nothing: pointers must not be NULL unless the
 * comment says so. */
typedef struct VkfOnlineSoftmax {
    double m;     /* running maximum: the largest score so far */
    double l;     /* running sum: sum exp(s - m) */
    double* o;    /* [dim]: sum exp(s - m) v, not yet divided by l. Belongs to the caller. May be NULL if dim is 0. */
    uint32_t dim; /* numbers of o and of a value. 0 = the softmax alone: vkfOnlineSoftmaxUpdate takes scores piece by
                     piece, vkfOnlineSoftmaxCompute gives the probabilities. */
} VkfOnlineSoftmax;

/* Makes the state empty. The caller sets o and dim before. */
VKF_API void vkfOnlineSoftmaxReset(VkfOnlineSoftmax* state);

/* Adds `count` keys to the state.
 * - scores: [count]. A score of -infinity is a dropped key, whose value is not read.
 * - values: `count` rows of `dim` numbers. May be NULL if dim is 0.
 * - valueStride: numbers from one row of values to the next. */
VKF_API void vkfOnlineSoftmaxUpdate(VkfOnlineSoftmax* state, const double* scores, uint32_t count, const double* values,
                                    size_t valueStride);

/* Adds another state, over other keys of the same row and with the same dim. The operation is associative, and the
 * empty state is neutral. */
VKF_API void vkfOnlineSoftmaxMerge(VkfOnlineSoftmax* state, const VkfOnlineSoftmax* other);

/* Writes probabilities[i] = exp(scores[i] - m) / l for `count` scores: their softmax among all scores that the state
 * has seen. Writes 0 for a score of -infinity, and 0 everywhere if the state is empty. `probabilities` may be `scores`.
 * May be called before or after vkfOnlineSoftmaxFinish. */
VKF_API void vkfOnlineSoftmaxCompute(const VkfOnlineSoftmax* state, const double* scores, uint32_t count,
                                     double* probabilities);

/* Divides o by l and returns lse = m + ln l. An empty state gives o = 0 and -infinity. Add no keys to the state
 * afterwards. */
VKF_API double vkfOnlineSoftmaxFinish(VkfOnlineSoftmax* state);

/* ---- Dropout --------------------------------------------------------------------------------- */

/* Returns 1 if the generator of VkfDropout keeps key `key` of query row `row`, and 0 if it leaves the key out. Takes
 * the seed from dropout->seed. Rows and keys of packed sequences count from the start of their sequence, and `batch` is
 * the number of the sequence. `dropout` must not be NULL. Allocates nothing. */
VKF_API uint32_t vkfDropoutKeeps(const VkfDropout* dropout, uint32_t batch, uint32_t head, uint32_t row, uint32_t key);

/* ---- Merge ----------------------------------------------------------------------------------- */

/* Merges partial results in fp64. merge_problem.h says what a merge computes.
 *
 * - partials, partialLse: laid out as the problem says. Must not be NULL unless they are empty.
 * - o: fp64, dense [batch, heads, rows, dim]. Must not be NULL unless it is empty.
 * - lse: fp64, dense [batch, heads, rows]. NULL = not written. VKF_USE_LSE does not matter.
 *
 * Computes on the calling thread. Allocates one number for each partial result, one row at a time.
 *
 * Errors: those at the top of this file. A problem that vkfCheckMerge refuses is refused with the same code. */
VKF_API VkfResult vkfReferenceMerge(const VkfMergeProblem* problem, const void* partials, const float* partialLse,
                                    double* o, double* lse, VkfMessage* message);

/* ---- Append ---------------------------------------------------------------------------------- */

/* Host memory of one append. Members that the problem does not use, or that are empty, may be NULL. Outputs must not
 * overlap inputs, except that rotatedQ may be q, and newLengths may be lengths. */
typedef struct VkfAppendBuffers {
    size_t structSize;
    const void* newK;          /* new rows of k, as VkfAppendProblem::newK says */
    const void* newV;          /* new rows of v, as VkfAppendProblem::newV says */
    void* k;                   /* output: the cache of k, as VkfAppendProblem::k says */
    void* v;                   /* output: the cache of v, as VkfAppendProblem::v says */
    const int32_t* lengths;    /* [batch]: rows that each sequence's cache holds before the append */
    int32_t* newLengths;       /* output, [batch]: min(length + rows, keys); with VKF_USE_NEW_LENGTHS */
    const int32_t* blockTable; /* [batch, paging.maxPages]; with VKF_USE_BLOCK_TABLE */
    const void* q;             /* queries, as VkfAppendProblem::q says; with VKF_USE_QUERIES */
    void* rotatedQ;            /* output: rotated queries, as VkfAppendProblem::rotatedQ says; with VKF_USE_QUERIES */
    const float* cos;          /* [rotary.tableRows, rotary.dim / 2]; with VKF_USE_ROTARY_TABLES */
    const float* sin;          /* [rotary.tableRows, rotary.dim / 2]; with VKF_USE_ROTARY_TABLES */
    const int32_t* cuSeqlens;  /* [batch + 1]; with VKF_USE_CU_SEQLENS */
    /* [batch, rows], packed [rows]; with VKF_USE_ROTARY_POSITIONS */
    const int32_t* rotaryPositions;
    const float* kvScales; /* [k.scales + v.scales]; with VKF_USE_KV_SCALES */
} VkfAppendBuffers;

/* Does on the CPU what vkfCmdAppend does. Rotates in fp64 and rounds once. Without a rotation the bytes are those of
 * the kernels. Computes on the calling thread. Allocates a row at a time.
 *
 * Errors: those at the top of this file. A problem that vkfCheckAppend refuses is refused with the same code. */
VKF_API VkfResult vkfReferenceAppend(const VkfAppendProblem* problem, const VkfAppendBuffers* buffers,
                                     VkfMessage* message);

/* ---- Types ------------------------------------------------------------------------------------ */

/* Reads element number `element` of an array of fp32, fp16, bf16 or a block type. Returns NaN for other types, and if
 * `base` is NULL. Allocates nothing. */
VKF_API double vkfLoadElement(VkfType type, const void* base, uint64_t element);

/* Writes element number `element` of an array of fp32, fp16 or bf16. Rounds to nearest, ties to even. A finite value
 * past the largest finite fp16 or bf16 stores that largest value, with its sign; an infinity stays an infinity. Writes
 * nothing for other types, and if `base` is NULL. Allocates nothing. */
VKF_API void vkfStoreElement(VkfType type, void* base, uint64_t element, double value);

/* Makes `count` blocks of a block type from 32 * count values, in fp32. A block of an fp8 type has 16 values. Each of
 * them is rounded to nearest, ties to even. A number past the largest one becomes that number, with its sign, and so
 * does infinity in e4m3. A NaN stays one. Other blocks:
 *
 *     q8_0        d = largest |x| / 127                        code = round(x / d), halves away from zero
 *     q4_0, q5_0  d = x of the largest |x|, the first of       code = trunc(x / d + 8.5), at most 15, or
 *                 equals, with its sign / -8, or / -16                trunc(x / d + 16.5), at most 31
 *     iq4_nl      d = that x / -127                            code of the number (VkfType) nearest to x / d, of two
 *                                                              equally near ones the larger
 *     q4_1, q5_1  m = min x, d = (max x - m) / 15, or / 31     code = trunc((x - m) / d + 0.5), at most 15, or 31
 *
 * - x / d means x * (1 / d), and x * 0 if |d| < 2^-126.
 * - d and m are stored rounded as by vkfStoreElement: past the largest finite fp16 they become that number, so that
 *   finite values make finite elements.
 * - A block with a value or a d that is not finite gets a NaN for d, and zeros. All its elements are then NaN.
 *
 * vkfCmdAppend makes the same bytes. ggml's reference quantizers make them too, but for these cases:
 *
 * - d or m past the largest finite fp16, from one huge value on: ggml stores an infinity. Codes are the same.
 * - |d| < 2^-126, which fp16 stores as 0: ggml makes other codes.
 * - Values that are not finite: ggml makes no promise.
 * - iq4_nl: ggml looks for a better d.
 *
 * Writes nothing for other types. Allocates nothing. */
VKF_API void vkfQuantizeBlocks(VkfType type, const float* values, uint64_t count, void* blocks);

/* Reads `count` blocks of a block type into 32 * count values, 16 * count of an fp8 type: exactly the elements that the
 * kernels see. Writes NaN for other types. Allocates nothing. */
VKF_API void vkfDequantizeBlocks(VkfType type, const void* blocks, uint64_t count, float* values);

/* ---- Verdict ---------------------------------------------------------------------------------- */

/* Result of comparing o and lse with the fp64 reference. An error is finite or infinite:
 * - NaN and infinity must stand where the reference has them. Only where an input passes a limit of docs/semantics.md,
 *   "Finite inputs", they may also stand as in one of the fp32 runs.
 * - A row of o without visible keys must be exactly 0.
 * - Otherwise the error is infinite.
 *
 * Each row has a bound of its own, made from the rows whose scores and values are no larger than its own. It is the sum
 * of:
 * - twice the largest error of the two fp32 algorithms against fp64, on the same inputs
 * - 4 units in the last place of the output type, at the largest magnitude of the exact output; for lse, units of fp32
 *   at a magnitude of 1 or more
 *
 * The error and the bound below are of the row that is furthest over its bound. If no row is over its bound, they are
 * of the row with the largest error. */
typedef struct VkfVerdict {
    size_t structSize;
    uint32_t passed;       /* 1 = no error is over its bound */
    double oError;         /* |o - reference| of the worst element; may be infinite */
    double oBound;         /* bound of oError */
    double lseError;       /* |lse - reference| of the worst row; may be infinite; 0 if lse is NULL */
    double lseBound;       /* bound of lseError; 0 if lse is NULL */
    double oRms;           /* root mean square of the reference's o, for scale */
    uint64_t worstElement; /* element of o with this error: index into dense [batch, heads, rows, dim] */
    double worstValue;     /* value of that element in o */
    double worstReference; /* value of that element in the reference. 16-bit types end at their largest finite value. */
} VkfVerdict;

/* Compares the outputs of a kernel with the reference, on the rows that the options select. Fills *verdict; the caller
 * sets its structSize. The call succeeds even if an output does not pass.
 *
 * - o: type and strides as VkfProblem::o says. Must not be NULL unless the output is empty.
 * - lse: fp32, dense [batch, queryHeads, queryRows]; for packed sequences [queryHeads, queryRows]. NULL = not compared.
 * - options: NULL = all defaults. tileKeys and productType should be those of the plan. `algorithm` is ignored; leave
 *   algorithm, probabilities and savedLse 0.
 *
 * Runs three algorithms, and allocates o and lse of the selected rows in fp64 for each of them.
 *
 * Errors: those of vkfReferenceAttention. */
VKF_API VkfResult vkfReferenceVerify(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                     const VkfReferenceOptions* options, const void* o, const float* lse,
                                     VkfVerdict* verdict, VkfMessage* message);

/* Result of comparing probabilities with the fp64 reference. NaN and infinity are judged as in VkfVerdict. The
 * probability of a dropped key must be exactly 0; otherwise the error is infinite.
 *
 * A bound is twice the largest error of two fp32 runs, plus a floor. There are two cases:
 * - All rows on path standard, where the softmax writes the probabilities. The fp32 runs are those for o. The floor is
 *   4 units in the last place of fp32, at the largest probability.
 * - Otherwise kernels make probabilities from scores of one kernel and lse of another. Each fp32 run takes its own
 *   unrounded scores and the other run's lse. The floor also has what an error of lse, and the order of the sums of
 *   headDim products, make of the largest probability. */
typedef struct VkfProbabilitiesVerdict {
    size_t structSize;
    uint32_t passed;       /* 1 = the error is not over the bound */
    double error;          /* largest |probability - reference|; may be infinite */
    double bound;          /* bound of `error` */
    uint64_t worstElement; /* element of `probabilities` with the largest error: dense index */
    double worstValue;     /* value of that element in `probabilities` */
    double worstReference; /* value of that element in the reference */
} VkfProbabilitiesVerdict;

/* Compares the probabilities that a kernel wrote with the reference, as vkfReferenceVerify compares o.
 *
 * - probabilities: fp32, dense [batch, queryHeads, queryRows or probabilityRowCount, keys]. Must not be NULL unless it
 *   has no elements.
 * - options: as for vkfReferenceVerify. With VKF_USE_PROBABILITY_ROWS, rowBegin and rowStride select entries of that
 *   list. An entry outside [0, queryRows) must have a row of zeros.
 *
 * Allocates fp64 probabilities of some rows at a time.
 *
 * Errors: those of vkfReferenceAttention. */
VKF_API VkfResult vkfReferenceVerifyProbabilities(const VkfProblem* problem, const VkfReferenceInputs* inputs,
                                                  const VkfReferenceOptions* options, const float* probabilities,
                                                  VkfProbabilitiesVerdict* verdict, VkfMessage* message);

/* The gradients that a kernel wrote. NULL = not compared. */
typedef struct VkfBackwardOutputs {
    size_t structSize;
    const void* dq;      /* as VkfBackwardProblem::dq says */
    const void* dk;      /* as VkfBackwardProblem::dk says */
    const void* dv;      /* as VkfBackwardProblem::dv says */
    const void* dbias;   /* of type dbiasType, with the strides of the bias */
    const float* dsinks; /* [queryHeads] */
} VkfBackwardOutputs;

/* How far one gradient is off. All zeros for a gradient that is not compared. */
typedef struct VkfGradientError {
    double error;          /* largest |gradient - reference|; may be infinite */
    double bound;          /* bound of `error` */
    double rms;            /* root mean square of the reference, for scale */
    uint64_t worstElement; /* element with the largest error: index into the dense tensor, for dbias into the bias */
    double worstValue;     /* value of that element in the gradient */
    double worstReference; /* value of that element in the reference. 16-bit types end at their largest finite value. */
} VkfGradientError;

/* Result of comparing gradients with the fp64 reference. NaN and infinity are judged as in VkfVerdict. An element that
 * no visible pair of a row and a key reaches must be exactly 0; otherwise the error is infinite.
 *
 * A bound is the sum of:
 * - twice the largest error of the two fp32 algorithms against fp64, on the same inputs
 * - 4 units in the last place of the output type, at the largest magnitude of the exact gradient
 * - 4 times the largest estimate of what roundings may change in one element. docs/semantics.md derives it. */
typedef struct VkfBackwardVerdict {
    size_t structSize;
    uint32_t passed;         /* 1 = no error is over its bound */
    uint32_t reserved;       /* 0 */
    VkfGradientError dq;     /* of the rows that the options select */
    VkfGradientError dk;     /* of the keys that the options select */
    VkfGradientError dv;     /* of the keys that the options select */
    VkfGradientError dbias;  /* of all elements */
    VkfGradientError dsinks; /* of all query heads */
} VkfBackwardVerdict;

/* Compares the gradients of a kernel with the reference. Fills *verdict; the caller sets its structSize. The call
 * succeeds even if a gradient does not pass.
 *
 * - backwardInputs: should have the o and lse that the kernel took. If they are NULL, the bound allows for the
 *   roundings of another o and lse.
 * - options: as for vkfReferenceBackward. tileKeys and productType should be those of the plan. `algorithm` is ignored.
 * - outputs: an output that is not NULL must have its bit in VkfBackwardProblem::gradients. With a rowStride over 1,
 *   dbias must be NULL.
 *
 * Runs three algorithms, and allocates the compared gradients in fp64 for each of them, and once more.
 *
 * Errors: those of vkfReferenceBackward. */
VKF_API VkfResult vkfReferenceVerifyBackward(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                                             const VkfReferenceBackwardInputs* backwardInputs,
                                             const VkfReferenceOptions* options, const VkfBackwardOutputs* outputs,
                                             VkfBackwardVerdict* verdict, VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif

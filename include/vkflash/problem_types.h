/* SPDX-License-Identifier: MIT
 *
 * vkflash/problem_types.h: what the fields of VkfProblem are made of: optional arrays, enums, tensors, windows, masks,
 * pages, dropout. problem.h includes this header and says what the problem's fields mean.
 *
 * The structs of this header are members of other structs. Their fields named `reserved` are room for later versions,
 * so that their sizes never change. Reserved fields must be 0, else INVALID_ARGUMENT.
 */
#ifndef VKFLASH_PROBLEM_TYPES_H
#define VKFLASH_PROBLEM_TYPES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call uses besides its tensors: masks, terms of the scores, optional arrays. The fields named `use` of
 * VkfProblem, VkfAppendProblem, VkfMergeProblem and VkfBackwardProblem hold these bits. No other field enables what a
 * bit is for.
 *
 * - A bit of an array enables the bindings that its comment names. The bindings must then be set, unless the array is
 *   empty.
 * - Some bits have a parameter field in the problem. A parameter field that is not zero, without the bit, is
 *   INVALID_ARGUMENT.
 * - A bit that belongs to another kind of problem is INVALID_ARGUMENT. A bit that this version does not know is
 *   UNSUPPORTED.
 * - Some paths lack some bits, and some bits exclude each other. FEATURES AND PATHS in problem.h has the tables: what
 *   they exclude is UNSUPPORTED. */
typedef enum VkfUseBits VKF_INT32_ENUM {
    /* Output lse: the natural logarithm of each row's sum. fp32, dense [batch, queryHeads, queryRows]; with packed
     * sequences [queryHeads, queryRows]. Merges have it too: fp32, dense [batch, heads, rows]. */
    VKF_USE_LSE = 1 << 0,
    /* Output probabilities: exp(s - lse). fp32, dense [batch, queryHeads, W, keys]. W is probabilityRowCount with
     * VKF_USE_PROBABILITY_ROWS, else queryRows. Dropped keys have exactly 0. A row sums to 1, or less with a sink.
     * Dropout does not change them.
     *
     * Path standard writes the probabilities of all rows in its softmax. In all other cases a kernel computes the
     * scores a second time from q and k, in fp32, after o and lse are done. lse is rounded to fp32, so these
     * probabilities are off by about |lse| 2^-23 of their value. A plan without output lse keeps lse in scratch memory.
     *
     * UNSUPPORTED over 2^62 bytes. */
    VKF_USE_PROBABILITIES = 1 << 1,
    /* Input probabilityRows, int32 [probabilityRowCount]: the query rows that have probabilities, the same for all
     * sequences and heads. Numbers may come in any order and repeat. A number outside of [0, queryRows) gives a row of
     * zeros. Parameter field: VkfProblem::probabilityRowCount. INVALID_ARGUMENT without VKF_USE_PROBABILITIES.
     *
     * With a causal mask, Nq = Nk = 4, numbers 3 1 1 9 and equal scores, the probabilities are:
     *
     *     1/4 1/4 1/4 1/4
     *     1/2 1/2  0   0
     *     1/2 1/2  0   0
     *      0   0   0   0
     */
    VKF_USE_PROBABILITY_ROWS = 1 << 2,
    /* Input keyLengths, int32 [batch]: each sequence has a length of its own. Keys at and past the length are dropped,
     * and the length stands for Nk in alignment, ALiBi and documents. Values outside of [0, keys] are clamped into it.
     * With packed sequences the length is at most the packed one. */
    VKF_USE_KEY_LENGTHS = 1 << 3,
    /* Input blockMask, uint32 [VkfBlockMaskLayout::words]: block-sparse mask. Parameter field: VkfProblem::blockMask.
     */
    VKF_USE_BLOCK_MASK = 1 << 4,
    /* Input blockTable, int32 [batch, paging.maxPages]: k and v lie in pages. Parameter field: VkfProblem::paging and
     * VkfAppendProblem::paging. */
    VKF_USE_BLOCK_TABLE = 1 << 5,
    /* Input sinks, fp32 [queryHeads]. Each is a logit that joins the softmax of every row of its head once. It is
     * neither scaled nor capped nor masked, and has no value. -infinity = none; +infinity makes the head's rows NaN. */
    VKF_USE_SINKS = 1 << 6,
    /* Input alibiSlopes, fp32 [queryHeads]: slopes that replace the standard ones. INVALID_ARGUMENT without
     * VKF_USE_ALIBI. */
    VKF_USE_ALIBI_SLOPES = 1 << 7,
    /* Input bias, of F32, F16 or BF16: added to scores. Parameter field: VkfProblem::bias. */
    VKF_USE_BIAS = 1 << 8,
    /* Input mask, of BOOL8 or BOOL1: keys that it drops never reach a result. Parameter field: VkfProblem::mask. */
    VKF_USE_MASK = 1 << 9,
    /* Input documentIds, int32 [batch, keys]: each key's document. Packed keys have int32 [keys]; packed rows with
     * pages have [batch, keys]. Any numbers, in any order.
     *
     * A row sees only the keys of its own document. Its document is that of the key at i + Nk - Nq, whatever the
     * alignment; Nk is the sequence's own length. A row before the first key sees nothing. With Nq = Nk = 5 and
     * documents 7 7 3 3 3:
     *
     *     1 1 0 0 0
     *     1 1 0 0 0
     *     0 0 1 1 1
     *     0 0 1 1 1
     *     0 0 1 1 1
     */
    VKF_USE_DOCUMENT_IDS = 1 << 10,
    /* Inputs cuSeqlensQ and cuSeqlensK, int32 [batch + 1], the cu_seqlens of FlashAttention: sequences of any lengths
     * are packed, one after the other. Each is a problem of its own: masks, bias and ALiBi count rows and keys from its
     * beginning, and its own lengths stand for Nq and Nk.
     *
     * - `batch` is the number of sequences.
     * - queryRows and keys count all sequences together, and so do the rows of q, k, v and o.
     * - These tensors have a batch of 1, and their batchStride is ignored. [total rows, heads, dim] has rowStride =
     *   heads * dim and headStride = dim.
     *
     * Sequence b has rows cuSeqlensQ[b] to cuSeqlensQ[b + 1] - 1, and keys cuSeqlensK[b] to cuSeqlensK[b + 1] - 1. A
     * sequence may have no rows, or no keys. Three sequences of 2, 0 and 3 rows and 3, 2 and 4 keys, causal:
     *
     *     cuSeqlensQ 0 2 2 5       1 1 0 . . . . . .
     *     cuSeqlensK 0 3 5 9       1 1 1 . . . . . .
     *                              . . . . . 1 1 0 0
     *                              . . . . . 1 1 1 0
     *                              . . . . . 1 1 1 1
     *
     * No entries make the device read or write outside of the tensors:
     *
     * - Entries outside of [0, queryRows] or [0, keys] are clamped.
     * - A sequence that ends before it begins is empty. Entries should not decrease.
     * - Rows and keys of a sequence past longestRows and longestKeys do not exist.
     *
     * o and lse are unspecified for rows that belong to no sequence, and for rows that belong to several. A plan for
     * the most rows and sequences therefore serves smaller calls: let cuSeqlensQ end early, and repeat its last entry.
     *
     * keyLengths shortens sequences: min(length, keyLengths[b]). With pages only q and o are packed: `keys` is the most
     * that a sequence has, keyLengths say how many it has, and there is no cuSeqlensK.
     *
     * In appends: new rows are packed (VkfAppendProblem::rows). */
    VKF_USE_CU_SEQLENS = 1 << 11,
    /* Input dropoutMask, of BOOL8 or BOOL1: dropout by a mask instead of the generator. Parameter field:
     * VkfProblem::dropoutMask. */
    VKF_USE_DROPOUT_MASK = 1 << 12,
    /* Input dropoutSeed, one uint64 at a multiple of 8 bytes: the generator's seed. It replaces VkfDropout::seed, so
     * that each run of a recorded command buffer can have a seed of its own. Ignored without dropout, and with a
     * dropoutMask. */
    VKF_USE_DROPOUT_SEED = 1 << 13,
    /* Input biasFactors, fp32 [queryHeads]: the factor of a head multiplies the elements of the bias. Factors are
     * finite, else the rows of the head are unspecified. A bias of -infinity gives its key a probability of 0 whatever
     * the factor is; every other product is the fp32 product. INVALID_ARGUMENT without VKF_USE_BIAS. */
    VKF_USE_BIAS_FACTORS = 1 << 14,
    /* Input q and output rotatedQ of appends. Parameter field: VkfAppendProblem::queryHeads. VkfAppendProblem::q and
     * rotatedQ have types and strides. INVALID_ARGUMENT without VkfRotary::pairs. */
    VKF_USE_QUERIES = 1 << 15,
    /* Output newLengths of appends, int32 [batch]: min(lengths[b] + rows, keys) of sequence b. */
    VKF_USE_NEW_LENGTHS = 1 << 16,
    /* Inputs cos and sin of appends, fp32 [rotary.tableRows, rotary.dim / 2]. Parameter field: VkfRotary::tableRows.
     * INVALID_ARGUMENT without VkfRotary::pairs. */
    VKF_USE_ROTARY_TABLES = 1 << 17,
    /* Causal mask: a row sees no key after its own position. Without firstKeys the results are those of a window with
     * right = 0. VkfProblem::alignment says where rows stand. A window together with this bit limits the left side: its
     * right must be 0 or -1, else INVALID_ARGUMENT. */
    VKF_USE_CAUSAL = 1 << 18,
    /* Sliding window. Parameter field: VkfProblem::window. */
    VKF_USE_WINDOW = 1 << 19,
    /* ALiBi: scores fall by a slope times the distance |i + Nk - Nq - j| between row i and key j. The distance does not
     * depend on VkfProblem::alignment. Nk is the sequence's own length.
     *
     * The standard slopes of H heads, with n the largest power of two that is at most H, are
     *
     *     2^(-8 (h + 1) / n)                for the first n heads: 1/2, 1/4, ... 1/256 for eight
     *     2^(-4 (2 (h - n) + 1) / n)        for the others
     *
     * With VKF_USE_ALIBI_SLOPES the call has slopes of its own. */
    VKF_USE_ALIBI = 1 << 20,
    /* Input dlse of backward passes, fp32, dense like lse: the gradient of lse. Without it lse has no gradient. */
    VKF_USE_DLSE = 1 << 21,
    /* Masks and scores of the caller's own (functions.h). Parameter field: VkfProblem::functions. The bindings
     * functionArrays have the arrays that the functions declare. UNSUPPORTED in backward passes with VKF_FUNCTION_SCORE
     * without VKF_FUNCTION_SCORE_DERIVATIVE. */
    VKF_USE_FUNCTIONS = 1 << 22,
    /* The map of tiles is memory of the caller: the binding tileMap, VkfPlanInfo::tileMapBytes. vkfCmdMapTiles makes
     * the map, and calls only read it. Without this bit, each call makes the map in its scratch memory. The results
     * have the same bits. Backward passes ignore this bit, because their tiles differ: they make a map of their own. */
    VKF_USE_TILE_MAP = 1 << 23,
    /* Rows and keys stand where the call says. Parameter field: VkfProblem::positions. */
    VKF_USE_POSITIONS = 1 << 24,
    /* Input rowOffsets, int32 [batch]: the position of row 0 less the position of key 0, in each sequence. It replaces
     * positions.firstRow - positions.firstKey, which must both be 0, else INVALID_ARGUMENT. Numbers are clamped to
     * (-2^29, 2^29 - queryRows * rowStride). INVALID_ARGUMENT without VKF_USE_POSITIONS. */
    VKF_USE_ROW_OFFSETS = 1 << 25,
    /* Merges: each lse_k is log2 of the row's sum, as some libraries return it. The merged lse is natural. */
    VKF_USE_BASE_2_LSE = 1 << 26,
    /* Input rotaryPositions of appends, int32 [batch, rows], with VKF_USE_CU_SEQLENS int32 [rows]: the position by
     * which row i is rotated, in place of lengths[b] + i. Where the row is written does not change. Positions below 0
     * count as 0. INVALID_ARGUMENT without VkfRotary::pairs. */
    VKF_USE_ROTARY_POSITIONS = 1 << 27,
    /* Input kvScales, fp32: factors of k and v of fp8 types. First k.scales numbers of k, then v.scales numbers of v.
     * Parameter fields: `scales` of k and v (VkfTensor), of which one at least is not 0. Each number must be positive
     * and from 2^-100 to 2^100, and of k also at least 2^-126 if multiplied by `scale`, else the rows of its head are
     * unspecified.
     *
     * With two KV heads, k.scales = 2 and v.scales = 1, the numbers 3 4 5 multiply k of head 0 by 3, k of head 1 by 4,
     * and v of both heads by 5. Kernels multiply scores and o: they do not round the scaled elements. Appends divide
     * the new elements by these numbers. */
    VKF_USE_KV_SCALES = 1 << 28,
    /* Input chosenKeys, int32: the lists of keys that rows see. Parameter field: VkfProblem::chosenKeys. UNSUPPORTED in
     * backward passes. */
    VKF_USE_CHOSEN_KEYS = 1 << 29,
    VKF_USE_FORCE_INT32 = 0x7fffffff
} VkfUseBits;
typedef uint32_t VkfUse; /* bits of VkfUseBits */

/* Arrays of calls, besides the tensors. vkfGetArrayBytes, vkfGetMergeArrayBytes, vkfGetAppendArrayBytes and
 * vkfGetBackwardArrayBytes say how large each must be. The names are those of the bindings. */
typedef enum VkfArray VKF_INT32_ENUM {
    /* Attention, up to 63; with the bit of VkfUseBits that has the same name. */
    VKF_ARRAY_LSE = 0, /* of merges too */
    VKF_ARRAY_PROBABILITIES = 1,
    VKF_ARRAY_PROBABILITY_ROWS = 2,
    VKF_ARRAY_KEY_LENGTHS = 3,
    VKF_ARRAY_BLOCK_MASK = 4,
    VKF_ARRAY_BLOCK_TABLE = 5, /* of appends too */
    VKF_ARRAY_SINKS = 6,
    VKF_ARRAY_ALIBI_SLOPES = 7,
    VKF_ARRAY_BIAS = 8,
    VKF_ARRAY_MASK = 9,
    VKF_ARRAY_DOCUMENT_IDS = 10,
    VKF_ARRAY_CU_SEQLENS_Q = 11, /* with VKF_USE_CU_SEQLENS */
    VKF_ARRAY_CU_SEQLENS_K = 12, /* with VKF_USE_CU_SEQLENS, without pages */
    VKF_ARRAY_DROPOUT_MASK = 13,
    VKF_ARRAY_DROPOUT_SEED = 14,
    VKF_ARRAY_BIAS_FACTORS = 15,
    VKF_ARRAY_ROW_OFFSETS = 16,
    VKF_ARRAY_KV_SCALES = 17, /* of appends too */
    VKF_ARRAY_CHOSEN_KEYS = 18,
    /* Appends. */
    VKF_ARRAY_LENGTHS = 64,
    VKF_ARRAY_NEW_LENGTHS = 65,      /* with VKF_USE_NEW_LENGTHS */
    VKF_ARRAY_COS = 66,              /* with VKF_USE_ROTARY_TABLES */
    VKF_ARRAY_SIN = 67,              /* with VKF_USE_ROTARY_TABLES */
    VKF_ARRAY_CU_SEQLENS = 68,       /* with VKF_USE_CU_SEQLENS */
    VKF_ARRAY_ROTARY_POSITIONS = 69, /* with VKF_USE_ROTARY_POSITIONS */
    /* Merges. */
    VKF_ARRAY_PARTIAL_LSE = 96, /* all lse_k together */
    /* Backward passes. */
    VKF_ARRAY_DLSE = 128,
    VKF_ARRAY_DBIAS = 129,  /* with VKF_GRADIENT_BIAS */
    VKF_ARRAY_DSINKS = 130, /* with VKF_GRADIENT_SINKS */
    VKF_ARRAY_FORCE_INT32 = 0x7fffffff
} VkfArray;

/* The optional inputs of attention, as an X-macro. VKF_FOR_EACH_OPTIONAL_INPUT(F) is F(PROBABILITY_ROWS,
 * probabilityRows) and so on. These are the name after VKF_ARRAY_, and the name of the member of VkfBindings,
 * VkfReferenceInputs and vkf::host::HostTensors. */
#define VKF_FOR_EACH_OPTIONAL_INPUT(F)                                                                                 \
    F(PROBABILITY_ROWS, probabilityRows)                                                                               \
    F(KEY_LENGTHS, keyLengths)                                                                                         \
    F(BLOCK_MASK, blockMask)                                                                                           \
    F(BLOCK_TABLE, blockTable)                                                                                         \
    F(SINKS, sinks)                                                                                                    \
    F(ALIBI_SLOPES, alibiSlopes)                                                                                       \
    F(BIAS, bias)                                                                                                      \
    F(MASK, mask)                                                                                                      \
    F(DOCUMENT_IDS, documentIds)                                                                                       \
    F(CU_SEQLENS_Q, cuSeqlensQ)                                                                                        \
    F(CU_SEQLENS_K, cuSeqlensK)                                                                                        \
    F(DROPOUT_MASK, dropoutMask)                                                                                       \
    F(DROPOUT_SEED, dropoutSeed)                                                                                       \
    F(BIAS_FACTORS, biasFactors)                                                                                       \
    F(ROW_OFFSETS, rowOffsets)                                                                                         \
    F(KV_SCALES, kvScales)                                                                                             \
    F(CHOSEN_KEYS, chosenKeys)

/* The optional outputs of attention, likewise. VkfReferenceInputs does not have them. */
#define VKF_FOR_EACH_OPTIONAL_OUTPUT(F) F(LSE, lse) F(PROBABILITIES, probabilities)

/* Storage type of the elements of a tensor, a bias or a mask.
 *
 *     use                                   types
 *     q and o                               F32, F16, BF16
 *     k and v, which may differ             F32, F16, BF16, and the block types: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL,
 *                                           F8_E4M3, F8_E5M2
 *     VkfProblem::bias                      F32, F16, BF16
 *     VkfProblem::mask and dropoutMask      BOOL8, BOOL1
 *
 * Another type is UNSUPPORTED. In q, k, v and o, a value that is not a VkfType is INVALID_ARGUMENT. Tensors of other
 * types than F32 need storageBuffer16BitAccess: UNSUPPORTED without it (device). Attention on paths scalar and
 * key_outer takes F16 and BF16 without it, if such a tensor can be loaded in vectors of 4 elements: its D or Dv and all
 * its strides are multiples of 4. Its address is then a multiple of 8 bytes, and its rows are at most 4 MiB apart.
 *
 * The fp8 types have a byte for each element. Kernels load 16 of them at once, which therefore count as a block:
 *
 *     e4m3        1 bit of sign, 4 of exponent, 3 of mantissa; bias 7; up to 448; no infinity; NaN is 0x7f and 0xff
 *     e5m2        the upper byte of an fp16, which has infinities and NaN; up to 57344
 *
 * Every fp8 number is an fp16 number. VKF_USE_KV_SCALES multiplies the elements of a head by a number.
 *
 * Other block types have the GGUF layouts: 32 elements along the head dimension, little-endian. The bytes of a block
 * are, in this order:
 *
 *     an fp16 scale d
 *     q4_1, q5_1: an fp16 minimum m
 *     q5_0, q5_1: four bytes of fifth bits; bit e belongs to element e
 *     the codes: in q8_0 signed bytes; in other types nibbles, element e in the low half of byte e, element e + 16 in
 *         its high half
 *
 * An element is, in fp32:
 *
 *     d code       q8_0, 34 bytes         d (code - 8)     q4_0, 18 bytes     d (code - 16)   q5_0, 22 bytes
 *     d n[code]    iq4_nl, 18 bytes       d code + m       q4_1, 20 bytes     d code + m      q5_1, 24 bytes
 *
 * In iq4_nl a code stands for a number. The numbers n[0] to n[15] are:
 *
 *     -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
 *
 * vkfQuantizeBlocks (reference.h) makes blocks on the CPU. vkfCmdAppend (append.h) makes them on the device. */
typedef enum VkfType VKF_INT32_ENUM {
    VKF_TYPE_F32 = 0,
    VKF_TYPE_F16 = 1,
    VKF_TYPE_BF16 = 2,
    VKF_TYPE_F8_E4M3 = 3, /* "e4m3" */
    VKF_TYPE_Q8_0 = 4,
    VKF_TYPE_Q4_0 = 5,
    VKF_TYPE_Q4_1 = 6,
    VKF_TYPE_Q5_0 = 7,
    VKF_TYPE_Q5_1 = 8,
    VKF_TYPE_BOOL8 = 9,  /* masks: one byte an element, nonzero = keep */
    VKF_TYPE_BOOL1 = 10, /* masks: one bit an element, little-endian, 1 = keep */
    VKF_TYPE_IQ4_NL = 11,
    VKF_TYPE_F8_E5M2 = 12, /* "e5m2" */
    VKF_TYPE_FORCE_INT32 = 0x7fffffff
} VkfType;

/* Where the diagonal of a causal mask or of a window lies if Nq and Nk differ. Nk is the sequence's own length. */
typedef enum VkfAlignment VKF_INT32_ENUM {
    VKF_ALIGNMENT_BOTTOM_RIGHT = 0, /* row i stands at key i + Nk - Nq: the last row at the last key */
    VKF_ALIGNMENT_TOP_LEFT = 1,     /* row i stands at key i */
    VKF_ALIGNMENT_FORCE_INT32 = 0x7fffffff
} VkfAlignment;

/* The kernels. vkfPathName gives the names in quotes, which the program's --path takes. */
typedef enum VkfPath VKF_INT32_ENUM {
    VKF_PATH_AUTO = 0, /* "auto": the path that is expected to be the fastest on the device */
    /* "scalar": fused, plain fp32 arithmetic. Runs on any device. */
    VKF_PATH_SCALAR = 1,
    /* "standard": unfused, with the scores in scratch memory. The baseline for comparisons: AUTO never chooses it.
     * Needs storageBuffer16BitAccess: UNSUPPORTED without it (device). */
    VKF_PATH_STANDARD = 2,
    /* "coopmat": fused, on cooperative matrices of one 16-bit type. It is the type of q; if q is fp32, the 16-bit type
     * of k or v; if both are of block types, fp16. k and v are each of this type or of a block type. An fp32 q is
     * rounded to it. UNSUPPORTED with other types, with VKF_PRECISION_FP32, and on devices without such matrices or
     * full subgroups (device).
     * q, k and v may also all be fp32, with any precision. Each number is then divided into three bf16 parts, and the
     * results have the accuracy of fp32. UNSUPPORTED with head dimensions over 128, packed sequences, splitKeys or
     * chosen keys, and on devices without bf16 matrices of a known element layout (device). */
    VKF_PATH_COOPMAT = 3,
    /* "decode": fused, for few query rows. A workgroup computes all heads of a KV head at once, and the keys are split.
     * AUTO chooses it for head dimensions over 256, for rows that have lists of chosen keys of their own, and for up to
     * 16 query rows. With over 32 query rows of all heads of a KV head, and at least 16384 keys (keys times KV heads
     * times sequences), it takes wgmma or coopmat where they can run, but coopmat not for fp32 k and v. Needs
     * storageBuffer16BitAccess: UNSUPPORTED without it (device). */
    VKF_PATH_DECODE = 4,
    /* "key_outer": fused, in the loop order of the first FlashAttention. The outer loop goes over K/V tiles, the inner
     * loop over query tiles; m, l and o are in scratch memory in between. For study: AUTO never chooses it. */
    VKF_PATH_KEY_OUTER = 5,
    /* "wgmma": fused, kernels of PTX for NVIDIA's Hopper chips, for many query rows. q, k and v are all fp16 or all
     * bf16; or k and v are of fp8 types without scales, and are converted to the type of q before attention, as on path
     * coopmat (maxScratchBytes). headDim and valueDim are multiples of 8. Rows and strides of q, k and v are multiples
     * of 16 bytes. k and v in pages have the type of q, and neither spans over 64 GiB. AUTO chooses it where it is
     * faster than coopmat. UNSUPPORTED without VKF_FEATURE_BINARY_IMPORT, and in a context whose driver has refused a
     * kernel of this path (device). problem.h has the features that it lacks. The backward pass accepts fewer problems
     * on this path. */
    VKF_PATH_WGMMA = 6,
    VKF_PATH_FORCE_INT32 = 0x7fffffff
} VkfPath;

/* How much precision the products may give up. Accumulation is fp32 in any case. */
typedef enum VkfPrecision VKF_INT32_ENUM {
    /* Products in the precision of the narrowest type of q, k and v, or better. AUTO may take matrix units, which round
     * an fp32 q with 16-bit types or block types of k and v. In fp16, an element of q becomes infinite from 65520
     * on. */
    VKF_PRECISION_DEFAULT = 0,
    /* Products in fp32: never on matrix units of a narrower type, unless they multiply fp32 numbers as exact sums of
     * narrower ones (VKF_PATH_COOPMAT). q, k and v are not rounded. */
    VKF_PRECISION_FP32 = 1,
    VKF_PRECISION_FORCE_INT32 = 0x7fffffff
} VkfPrecision;

/* One tensor of logical shape [batch, heads, rows, dim]. The innermost dimension is contiguous.
 *
 * - All three strides 0: the dense layout [batch, heads, rows, dim].
 * - A stride of 0 next to a nonzero one repeats the dimension. Only inputs may repeat one.
 * - [batch, rows, heads, dim] has rowStride = heads * dim and headStride = dim.
 *
 * Element addresses, base + element offset * element size, are computed in 64 bits.
 *
 * Limits:
 * - Block types: dim and all three strides are multiples of 32, of fp8 types multiples of 16, so that they are whole
 *   blocks. INVALID_ARGUMENT.
 * - A tensor spans at most 2^62 - 1 elements. INVALID_ARGUMENT.
 * - Elements of an output do not overlap. INVALID_ARGUMENT. The check sorts the dimensions by stride: each one must
 *   step over all elements that the smaller ones reach.
 * - A row stride is at most 2^32 - 1 bytes. UNSUPPORTED (device). This limit and the next one hold for attention, not
 *   for appends and merges.
 * - Head and batch strides may be over 2^32 - 1 bytes. The head and batch strides of all tensors must then be multiples
 *   of 2^n bytes. 2^n is the smallest power of two for which the largest of these strides, divided by 2^n, fits
 *   32 bits. UNSUPPORTED (device). None of them is over 2^63 - 1 bytes. UNSUPPORTED (device). */
typedef struct VkfTensor {
    VkfType type;          /* of the stored elements; default F32 */
    uint32_t scales;       /* with VKF_USE_KV_SCALES: numbers of binding kvScales for this k or v of an fp8 type. 0 =
                              none, 1 = one for all heads, or kvHeads. INVALID_ARGUMENT otherwise. */
    uint64_t batchStride;  /* elements from one sequence to the next; for k and v in pages, from page to page */
    uint64_t headStride;   /* elements from one head to the next */
    uint64_t rowStride;    /* elements from one row to the next */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfTensor;

/* A sliding window: the keys around the diagonal. Row i stands at p, as VkfAlignment says. It sees the keys p - left <=
 * j <= p + right, both ends included. A window of W keys that counts the row's own has left = W - 1 and right = 0.
 *
 * firstKeys adds the first keys to what every row sees, wherever its window is. Other masks still hold:
 *
 * - With VKF_USE_CAUSAL no row sees a first key after its own position. Streaming with attention sinks needs this.
 * - Without it the first keys are a prefix that all rows see.
 *
 * With Nq = Nk = 6, two first keys and these (left, right):
 *
 *     (1, 0), causal   1 0 0 0 0 0     (1, 0)   1 1 0 0 0 0     (-1, 0)   1 1 0 0 0 0
 *                      1 1 0 0 0 0              1 1 0 0 0 0               1 1 0 0 0 0
 *                      1 1 1 0 0 0              1 1 1 0 0 0               1 1 1 0 0 0
 *                      1 1 1 1 0 0              1 1 1 1 0 0               1 1 1 1 0 0
 *                      1 1 0 1 1 0              1 1 0 1 1 0               1 1 1 1 1 0
 *                      1 1 0 0 1 1              1 1 0 0 1 1               1 1 1 1 1 1
 */
typedef struct VkfWindow {
    int64_t left;          /* keys to the left of the row's position; -1 = unlimited; less is INVALID_ARGUMENT. A zeroed
                              struct has left = 0, the row's own key. */
    int64_t right;         /* keys to the right of the row's position; -1 = unlimited; less is INVALID_ARGUMENT. With
                              VKF_USE_CAUSAL it must be 0 or -1, else INVALID_ARGUMENT. */
    uint32_t firstKeys;    /* number of first keys that rows see besides the window; 0 = none; more than `keys` = all */
    uint32_t reserved;     /* room for later versions: 0, else INVALID_ARGUMENT */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfWindow;

/* Where rows and keys stand, for causal masks, windows and ALiBi. Row i stands at firstRow + i rowStride, key j at
 * firstKey + j keyStride. Without VKF_USE_POSITIONS, VkfAlignment says where they stand.
 *
 * A call over a part of a longer sequence then has the masks of the whole: over one of several chunks of rows or keys,
 * or over every n-th of them. Results over disjoint parts of the keys merge into the whole one (merge_problem.h). With
 * two rows at 5 and 6, keys at 1, 4, 7 and 10 (firstKey 1, keyStride 3), and a causal mask:
 *
 *     1 1 0 0
 *     1 1 0 0
 *
 * - VkfProblem::alignment must be 0, else INVALID_ARGUMENT.
 * - Positions do not depend on keyLengths, which drops keys by their numbers.
 * - Masks, biases, block masks and dropout count rows and keys by their numbers.
 * - Packed sequences all have these positions, unless the call has rowOffsets.
 * - FEATURES AND PATHS in problem.h says with what positions are UNSUPPORTED. */
typedef struct VkfPositions {
    uint32_t firstRow;     /* of row 0. firstRow + queryRows * rowStride is at most 2^29, else UNSUPPORTED. */
    uint32_t rowStride;    /* from row to row; 0 = 1. At most 8192, else UNSUPPORTED. */
    uint32_t firstKey;     /* of key 0. firstKey + keys * keyStride is at most 2^29, else UNSUPPORTED. */
    uint32_t keyStride;    /* from key to key; 0 = 1. At most 8192, else UNSUPPORTED. */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfPositions;

/* Sparse attention over chosen keys: lists of logical shape [batch, kvHeads, queryRows, count], int32, in which
 * dimensions may repeat. A row sees only the keys of its list. The kernels read no other keys: the call takes the time
 * of `count` keys, however many keys there are. Each entry is the number of a key in its sequence, also with pages, or
 * -1 for none. With 5 keys and count 3:
 *
 *     3  0 -1     1 0 0 1 0
 *     4  1  3     0 1 0 1 1
 *
 * - Entries may come in any order. An entry that is no key of the sequence counts as none: negative ones, and those at
 *   and past its length.
 * - No key stands twice in a list. vkfCheckChosenKeys (problem.h) and the reference refuse lists in which one does. The
 *   device cannot refuse them: there, a key counts as often as it stands.
 * - All other masks hold too. ALiBi, bias and dropout take the key's own number.
 * - Strides may have any value. Three strides of 0 are one list for all: 0 does not mean dense here. Lists
 *   [batch, queryRows, count] for all heads have rowStride = count and batchStride = queryRows * count.
 * - With packed sequences rows count as in q: row i of sequence b has list row cuSeqlensQ[b] + i. Lists
 *   [total rows, count] have rowStride = count, and batchStride 0.
 * - All heads of a KV head share a list. With rowStride 0 all rows share it too, and fill tiles together. Otherwise a
 *   tile has one row of those heads, so the call is fast with many query heads to a KV head.
 *
 * UNSUPPORTED in backward passes, and with what FEATURES AND PATHS in problem.h excludes. There is no map of tiles. */
typedef struct VkfChosenKeys {
    uint32_t count;        /* entries of a list. 0 is INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t reserved;     /* room for later versions: 0, else INVALID_ARGUMENT */
    uint64_t batchStride;  /* entries from one sequence to the next; 0 = all sequences share */
    uint64_t headStride;   /* entries from one KV head to the next; 0 = all heads share */
    uint64_t rowStride;    /* entries from one query row to the next; 0 = all rows share. Each stride times the number
                              of its sequences, heads or rows is at most 2^56. INVALID_ARGUMENT. */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfChosenKeys;

/* An array of logical shape [batch, queryHeads, queryRows, keys] in which dimensions may repeat: an additive bias, or a
 * boolean mask of which true keeps a key. Keys are contiguous. With packed sequences the shape is [batch, queryHeads,
 * longestRows, longestKeys].
 *
 * - Strides may have any value. [1, 1, Nq, Nk] for all sequences and heads has rowStride = Nk, the others 0.
 * - Three strides of 0 are one row for all: 0 does not mean dense here.
 * - An array with fewer heads than the problem repeats them in turn if `heads` is set: with 2 heads, query heads 0, 2,
 *   4, ... use the first one. `sequences` does this for sequences. ggml repeats masks this way.
 * - A mask with lastKeys has columns for the last keys of each sequence alone. Rows see all earlier keys, as far as
 *   other masks let them. A draft tree of 64 rows over a long cache then has a mask of 64 by 64.
 * - Each stride times its number of entries is at most 2^56 elements. INVALID_ARGUMENT.
 * - The kernels read words of 4 bytes. The address is a multiple of 4, and the size is rounded up to 4 bytes;
 *   vkfGetArrayBytes has the size.
 * - Rows of BOOL1 may begin within a byte, because strides count elements: bits.
 *
 * With a mask of two rows:
 *
 *     1 1 0 1     bytes 1, 1, 0, 1, 0, 1, 1, 1     bits 0xeb     row 0 drops key 2
 *     0 1 1 1                                                    row 1 drops key 0
 */
typedef struct VkfBroadcastArray {
    VkfType type;         /* of the elements; VkfType lists which ones each array takes. Another one is UNSUPPORTED. */
    uint32_t heads;       /* n heads: query head h uses head h modulo n. 0 = queryHeads. More than queryHeads is
                             INVALID_ARGUMENT; 1 is always allowed. */
    uint64_t batchStride; /* elements from one sequence to the next; 0 = all sequences share */
    uint64_t headStride;  /* elements from one head to the next; 0 = all heads share */
    uint64_t rowStride;   /* elements from one query row to the next; 0 = all rows share */
    uint32_t sequences;   /* n sequences: sequence b uses sequence b modulo n. 0 = batch. More than batch is
                             INVALID_ARGUMENT; 1 is always allowed. */
    uint32_t lastKeys;  /* of VkfProblem::mask: n columns, for the last n keys of each sequence. Column c is key c + Nk
                           - n, where Nk is the sequence's own length; keys before column 0 are not masked. A sequence
                           with fewer keys than n uses the last columns. 0 = one column for each key. Not 0 in bias
                           and dropoutMask is UNSUPPORTED. At most 2^30 - 65536, else UNSUPPORTED. */
    uint64_t reserved2; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfBroadcastArray;

/* The description of a block-sparse mask. vkfGetBlockMaskLayout (problem.h) says where its bits lie. */
typedef struct VkfBlockMask {
    uint32_t blockSize;    /* rows and keys of a block. A multiple of 16, at most 65536, else UNSUPPORTED. 0 is
                              INVALID_ARGUMENT. */
    uint32_t reserved;     /* room for later versions: 0, else INVALID_ARGUMENT */
    uint64_t batchStride;  /* words of 4 bytes from one sequence's part of the mask to the next. 0 = all sequences
                              share. At most 2^32 - 1, else UNSUPPORTED. */
    uint64_t headStride;   /* words of 4 bytes from one query head's part of the mask to the next. 0 = all heads share.
                              Limit as for batchStride. batch and queryHeads times their strides must add up to at most
                              2^60, else INVALID_ARGUMENT. */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfBlockMask;

/* K and V in pages. Logical key j of sequence b is row j % pageSize of page table[b * maxPages + j / pageSize]. This
 * holds for k and v alike.
 *
 * - The table is binding blockTable: int32 [batch, maxPages], read on the device.
 * - k and v are [pages, kvHeads, pageSize, dim]; their batchStride goes from page to page.
 * - [pages, pageSize, kvHeads, dim] has rowStride = kvHeads * dim, headStride = dim and batchStride = pageSize *
 *   kvHeads * dim.
 * - Sequences may share pages.
 * - The device uses an entry only if the entry's page holds a key under the sequence's length. Other entries may hold
 *   anything.
 * - Where an entry that attention uses is not in [0, pages), its keys are absent: no row sees them. A row that sees no
 *   other key has o = 0 and lse = -infinity. An append drops rows of such entries. */
typedef struct VkfPaging {
    uint32_t pageSize;     /* rows of a page. 0 is INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t maxPages;     /* entries of the block table for each sequence. maxPages * pageSize must be at least `keys`,
                              else INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t pages;        /* number of pages that k and v have. 0 is INVALID_ARGUMENT if there are keys. At most
                              2^31 - 1, else UNSUPPORTED. */
    uint32_t reserved;     /* room for later versions: 0, else INVALID_ARGUMENT */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfPaging;

/* Dropout: leaves probabilities out of o, each with the same probability. The kept ones are multiplied by
 * 1 / (1 - probability). A counter-based generator decides for each (sequence b, query head h, query row i, key j):
 *
 *     o[i] = sum p[j] kept(b, h, i, j) / (1 - probability) v[j]
 *
 * - Row sums, lse and the output `probabilities` are as without dropout.
 * - A key that is left out is still visible, with a factor of 0: a NaN or an infinity in its v makes a NaN in o.
 * - Equal calls leave out the same keys on every path and device, however the keys are split.
 *
 * The generator, in integers of 32 bits that wrap around:
 *
 *     (a, b', ...) = Philox4x32-10 of counter (i, h, b, 0) and key (seed mod 2^32, seed / 2^32)
 *     x = j * 0x9e3779b9 + a
 *     x = (x ^ (x >> 16)) * 0x21f0aaad
 *     x = (x ^ (x >> 15) ^ b') * 0x735a2d97
 *     x = x ^ (x >> 15)
 *     kept if x >= floor(probability * 2^32)
 *
 * Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") takes counter (c0, c1, c2, c3) and
 * key (k0, k1) ten times to
 *
 *     c0, c1 = hi(0xcd9e8d57 c2) ^ c1 ^ k0,  lo(0xcd9e8d57 c2)      all from the old c0 to c3
 *     c2, c3 = hi(0xd2511f53 c0) ^ c3 ^ k1,  lo(0xd2511f53 c0)
 *     k0, k1 = k0 + 0x9e3779b9,  k1 + 0xbb67ae85
 *
 * where hi and lo are the halves of a product of 64 bits. vkfDropoutKeeps (reference.h) computes it on the CPU. Seed 1,
 * probability 0.5, first sequence and head, rows and keys 0 to 3, 1 = kept:
 *
 *     1 0 1 1
 *     0 1 0 1
 *     1 0 0 1
 *     1 0 1 0
 */
typedef struct VkfDropout {
    float probability; /* that a key is left out. In [0, 1), else INVALID_ARGUMENT. 0 = no dropout, unless there is a
                          dropoutMask. */
    uint32_t reserved; /* room for later versions: 0, else INVALID_ARGUMENT */
    uint64_t seed;     /* of the generator; any value. With VKF_USE_DROPOUT_SEED the device reads the seed from binding
                          dropoutSeed instead, so that each run of a recorded command buffer can have its own. */
    uint64_t reserved2[2]; /* room for later versions: 0, else INVALID_ARGUMENT */
} VkfDropout;

#ifdef __cplusplus
}
#endif

#endif

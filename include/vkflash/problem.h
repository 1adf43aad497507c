/* SPDX-License-Identifier: MIT
 *
 * vkflash/problem.h: VkfProblem, the description of one attention call. The library and the CPU reference share it.
 *
 * A problem holds no addresses, and this header knows no Vulkan. One problem serves every call of its shape.
 * VkfBindings (vkflash.h) has the addresses of one call, VkfReferenceInputs (reference.h) those of the reference.
 *
 *
 * DEFINITION
 *
 * i is a query row of Nq = queryRows. j is a key of Nk = keys. b is a sequence, h a query head. The order of steps is:
 *
 *     s = scale * dot(q[i], k[j])
 *     s = softcap * tanh(s / softcap)             if softcap > 0
 *     s = s - slope[h] * |i + Nk - Nq - j|        if alibi
 *     s = s + factor[h] * bias[b, h, i, j]        if bias; the factor is 1 without biasFactors
 *     key j is dropped                            if causal, window, lengths or a mask say so
 *     p = softmax over the keys that are left     a sink logit joins the denominator once
 *     o[i] = sum p[j] v[j]                        with dropout some p[j] are 0 here, the others larger
 *     lse[i] = ln sum exp(s)
 *
 * - Scores, the softmax state and o accumulate in fp32, whatever the storage types are.
 * - The bytes of dropped keys and values never reach a result, NaN and infinity included.
 * - A row without a visible key gives o = 0 exactly and lse = -infinity. With a sink, its lse is the sink.
 *
 * Causal alignment, shown for (Nq, Nk) = (2, 5) and (5, 2), 1 = visible:
 *
 *     bottom-right  1 1 1 1 0   0 0        top-left  1 0 0 0 0   1 0
 *                   1 1 1 1 1   0 0                  1 1 0 0 0   1 1
 *                               0 0                              1 1
 *                               1 0                              1 1
 *                               1 1                              1 1
 *
 * The definition is that of FlashAttention (Dao et al. 2022, arXiv 2205.14135), with the alignment of its version 2.1.
 * docs/semantics.md has the whole contract.
 *
 *
 * RULES FOR ALL STRUCTS
 *
 * - Start from a zeroed struct. Zero in a field is the field's documented default.
 * - structSize, where a struct has it, is sizeof the struct. The library also takes the smaller structs of older
 *   headers and sets the missing fields to zero. Other sizes are VKF_ERROR_STRUCT_SIZE.
 * - The library checks every VkfBool, also where another field makes it meaningless. Fields of a disabled VkfWindow,
 *   VkfBroadcastArray or VkfPaging are ignored otherwise.
 * - The comments shorten VKF_ERROR_INVALID_ARGUMENT and VKF_ERROR_UNSUPPORTED to INVALID_ARGUMENT and UNSUPPORTED.
 * - vkfCheckProblem finds the errors that the comments name. "(device)" marks errors that need a device, which
 *   vkfCheckSupport, vkfCheckDeviceSupport and vkfCreatePlan find.
 *
 *
 * FEATURES AND PATHS
 *
 * Every path has every feature of this header, except for those in this table. A dash is UNSUPPORTED. VKF_PATH_AUTO
 * takes a path that has the features. VkfPath says what each path needs of types and devices.
 *
 *                                            scalar   standard   coopmat   decode     key_outer
 *     headDim, valueDim at most              256      256        256       576, 512   256
 *     mask, documents, window.firstKeys      yes      -          yes       yes        yes
 *     maskBlock                              yes      -          yes       -          yes
 *     packed, paging, k or v of block types  yes      -          yes       yes        -
 *     kvSplits over 1                        yes      -          yes       yes        -
 *
 * These pairs are UNSUPPORTED on every path: maskBlock with packed, maskBlock with paging, packed with probabilities.
 *
 *
 * PLANS AND PIPELINES
 *
 * A new pipeline costs a compilation in the driver. Plans of one context share every pipeline whose specialization
 * constants agree. vkfCreatePlan compiles the others.
 *
 * These fields are specialization constants. Another value leads to a new pipeline:
 *
 *     path, headDim, valueDim, types of q, k, v and o
 *     0 or not 0: softcap, keyLengths, lse, alibi, alibiCustom, sinks, biasFactors, documents, packed
 *     enabled, and type: bias, mask, dropoutMask
 *     causal, whether there is a window, window.firstKeys, alignment
 *     maskBlock, blockMaskBatchStride, blockMaskHeadStride
 *     paging.enabled, paging.pageSize, paging.maxPages
 *     dropout.probability, dropout.deviceSeed
 *     kvSplits
 *     probabilities, and whether probabilityRows is 0
 *     queryHeads / kvHeads, on paths coopmat and decode without a maskBlock
 *     batch, on path key_outer
 *     window.left and window.right, if there are also: maskBlock, packed, paging, alibiCustom, sinks, bias, mask,
 *         documents or dropout
 *     whether mask.headStride is 0
 *     strides of q, k, v and o: whether rows are whole words (VkfPlanInfo::inputAlignment), or strides pass 4 GiB
 *
 * These fields are push constants, or numbers in memory. On their own they lead to no new pipeline:
 *
 *     batch, queryHeads and kvHeads with the same quotient, queryRows, keys, other strides of q, k, v and o
 *     scale, softcap over 0, window.left and window.right of other problems than above
 *     strides of bias, mask and dropoutMask, except for a 0 in mask.headStride
 *     dropout.seed, paging.pages, longestRows, longestKeys, probabilityRows over 0, maxStepOperations
 *
 * The library chooses path, tile, key splits and order of work from sizes, types, masks and precision. If a new size
 * leads to another choice, it leads to a new pipeline. `path` and `kvSplits` fix two of these choices.
 *
 * Advice for a cache that grows: make one plan, in which `keys` is the capacity of the cache. Set keyLengths, and bring
 * the length of each sequence on the device for each call.
 *
 * - Neither the plan nor a recorded command buffer changes from token to token then.
 * - The library chooses tiles and key splits for the capacity.
 * - vkfCmdAppend (append.h) writes the lengths on the device.
 * - A plan of packed sequences also serves calls with fewer rows and sequences: see VkfProblem::packed.
 */
#ifndef VKFLASH_PROBLEM_H
#define VKFLASH_PROBLEM_H

#include "problem_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One attention call. The bindings that the fields name are members of VkfBindings (vkflash.h), in device memory. */
typedef struct VkfProblem {
    size_t structSize; /* sizeof(VkfProblem) */

    /* Number of sequences. 0 makes an empty output, which is no error: the plan has no steps then.
     *
     * The product of batch, queryHeads and queryRows is at most 2^32 - 1, else UNSUPPORTED (device). If keys are split,
     * the limit holds for this product times the number of key splits. With packed sequences the product has no
     * batch. */
    uint32_t batch;
    /* Heads of q and o. 0 makes an empty output. At most 65535, else UNSUPPORTED. */
    uint32_t queryHeads;
    /* Heads of k and v. Query head h reads KV head h / (queryHeads / kvHeads). Must divide queryHeads, else
     * INVALID_ARGUMENT. At most 65535, else UNSUPPORTED. */
    uint32_t kvHeads;
    /* Nq: query rows of each sequence; with packed sequences the rows of all together. 0 makes an empty output. At most
     * 2^30 - 1, else UNSUPPORTED. */
    uint32_t queryRows;
    /* Nk: keys of each sequence, or the capacity of a cache with keyLengths. With packed sequences the keys of all
     * together; with paging the most that a sequence has. 0 makes every row empty: o = 0, lse = -infinity. At most
     * 2^30 - 1, else UNSUPPORTED. */
    uint32_t keys;
    /* D: columns of q and k. 0 is INVALID_ARGUMENT. At most 256, on path decode 576, else UNSUPPORTED. AUTO without a
     * maskBlock has the limit of path decode. */
    uint32_t headDim;
    /* Dv: columns of v and o. 0 = headDim. At most 256, on path decode 512, else UNSUPPORTED; AUTO as for headDim. */
    uint32_t valueDim;
    /* The kernel. 0 = VKF_PATH_AUTO. A value that is no VkfPath is INVALID_ARGUMENT. */
    VkfPath path;

    /* Queries: [batch, queryHeads, queryRows, headDim]; with packed sequences the batch is 1. F32, F16 or BF16. */
    VkfTensor q;
    /* Keys: [batch, kvHeads, keys, headDim]; with packed sequences the batch is 1; with paging [pages, kvHeads,
     * pageSize, headDim]. F32, F16, BF16 or a block type. */
    VkfTensor k;
    /* Values: as k, with valueDim columns. The type may differ from k's.
     *
     * v may be the first columns of k, as in latent attention: bind the address of k, and give the strides of k as
     * numbers. Path decode then reads the rows once if headDim is over 256. */
    VkfTensor v;
    /* Output: [batch, queryHeads, queryRows, valueDim]; with packed sequences the batch is 1. F32, F16 or BF16.
     * Elements must not overlap, else INVALID_ARGUMENT. */
    VkfTensor o;

    /* Factor of q . k. 0 = 1 / sqrt(headDim). May be negative. INVALID_ARGUMENT if not finite. */
    float scale;
    /* Limits scores to (-softcap, softcap), by tanh. 0 = off. INVALID_ARGUMENT if negative or not finite. */
    float softcap;

    /* 1 = a row sees no key after its own position. Without firstKeys the results are those of a window with right = 0.
     * A window together with `causal` limits the left side: its right must be 0 or -1, else INVALID_ARGUMENT. */
    VkfBool causal;
    /* Where rows stand, for causal, window and firstKeys. 0 = bottom-right. A value that is no VkfAlignment is
     * INVALID_ARGUMENT. */
    VkfAlignment alignment;
    /* Sliding window. Zeroed = none. */
    VkfWindow window;

    /* 1 = each sequence has a length of its own: binding keyLengths, int32 [batch], read on the device. Keys at and
     * past the length are dropped, and the length stands for Nk in alignment, ALiBi and documents. Values outside of
     * [0, keys] are clamped into it. With packed sequences the length is at most the packed one. */
    VkfBool keyLengths;

    /* 1 = lse is an output too: binding lse, fp32, dense [batch, queryHeads, queryRows], natural logarithm. With packed
     * sequences [queryHeads, queryRows]. */
    VkfBool lse;

    /* Additive bias: binding bias, of F32, F16 or BF16. -infinity gives a key no weight. Unlike with a mask, the key's
     * value is still multiplied by that weight. Zeroed = none. */
    VkfBroadcastArray bias;
    /* Boolean mask: binding mask, of BOOL8 or BOOL1. It drops keys, whose bytes then never reach a result. Zeroed =
     * none. UNSUPPORTED on path standard. */
    VkfBroadcastArray mask;
    /* 1 = ALiBi: scores fall by a slope times the distance |i + Nk - Nq - j| between row i and key j. The distance does
     * not depend on `alignment`. Nk is the sequence's own length.
     *
     * The usual slopes of H heads, with n the largest power of two that is at most H, are
     *
     *     2^(-8 (h + 1) / n)                for the first n heads: 1/2, 1/4, ... 1/256 for eight
     *     2^(-4 (2 (h - n) + 1) / n)        for the others */
    VkfBool alibi;
    /* 1 = slopes from binding alibiSlopes, fp32 [queryHeads], read on the device. 0 = the usual slopes.
     * INVALID_ARGUMENT without alibi. */
    VkfBool alibiCustom;
    /* 1 = binding sinks, fp32 [queryHeads], read on the device. Each is a logit that joins the softmax of every row of
     * its head once. It is neither scaled nor capped nor masked, and has no value. -infinity = none; +infinity makes
     * the head's rows NaN. */
    VkfBool sinks;
    /* 1 = packed sequences of any lengths, one after the other. Each is a problem of its own: masks, bias and ALiBi
     * count rows and keys from its beginning, and its own lengths stand for Nq and Nk.
     *
     * - `batch` is the number of sequences.
     * - queryRows and keys count all sequences together, and so do the rows of q, k, v and o.
     * - These tensors have a batch of 1, and their batchStride is ignored. [total rows, heads, dim] has rowStride =
     *   heads * dim and headStride = dim.
     *
     * Bindings cuSeqlensQ and cuSeqlensK are the cu_seqlens of FlashAttention: int32 [batch + 1], read on the device.
     * Sequence b has rows cuSeqlensQ[b] to cuSeqlensQ[b + 1] - 1, and keys alike. A sequence may have no rows, or no
     * keys. Three sequences of 2, 0 and 3 rows and 3, 2 and 4 keys, causal:
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
     * - A sequence that ends before it begins is empty. Entries should not fall from one to the next.
     * - Rows and keys of a sequence past longestRows and longestKeys do not exist.
     *
     * o and lse are unspecified for rows that belong to no sequence, and for rows that belong to several. A plan for
     * the most rows and sequences therefore serves smaller calls: let cuSeqlensQ end early, and repeat its last entry.
     *
     * keyLengths shortens sequences: min(length, keyLengths[b]). With paging only q and o are packed. k and v are
     * pages, `keys` is the most that a sequence has, keyLengths say how many it has, and there is no cuSeqlensK.
     *
     * UNSUPPORTED on paths standard and key_outer, with a maskBlock, and with probabilities. */
    VkfBool packed;
    /* 1 = binding documentIds, int32 [batch, keys], read on the device, gives each key's document. Packed keys have
     * int32 [keys]; packed rows with paging have [batch, keys]. Numbers may be any, in any order.
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
     *
     * UNSUPPORTED on path standard. */
    VkfBool documents;
    /* 1 = the probabilities exp(s - lse) are an output too: binding probabilities, fp32, dense [batch, queryHeads, W,
     * keys]. W is probabilityRows, or queryRows if that is 0. Dropped keys have exactly 0. A row sums to 1, with a sink
     * to less. Dropout does not change them.
     *
     * Path standard writes the probabilities of all rows in its softmax. In all other cases a kernel computes the
     * scores a second time from q and k, in fp32, after o and lse are done. lse is rounded to fp32, so these
     * probabilities are off by about |lse| 2^-23 of their value.
     *
     * UNSUPPORTED with packed sequences, and over 2^62 bytes (device). A plan whose problem has
     * no lse output keeps lse in scratch memory. */
    VkfBool probabilities;
    /* K and V in pages. Zeroed = no pages. */
    VkfPaging paging;
    /* Dropout. Zeroed = none. */
    VkfDropout dropout;

    /* Block-sparse mask: rows and keys of a block. 0 = off. Binding blockMask says which blocks are open, as
     * VkfBlockMaskLayout describes; keys of closed blocks are dropped. A multiple of 16, at most 65536, else
     * UNSUPPORTED. Built on paths scalar, coopmat and key_outer: UNSUPPORTED on the others, with packed sequences, and
     * with paging. */
    uint32_t maskBlock;
    /* Number of key splits: the keys are divided into so many shares, which workgroups compute side by side. Partial
     * results lie in scratch memory and are merged. 0 = the library chooses. At most 1024, else UNSUPPORTED. Over 1 it
     * is UNSUPPORTED on paths standard and key_outer, and without storageBuffer16BitAccess (device). */
    uint32_t kvSplits;

    /* Precision of products. 0 = VKF_PRECISION_DEFAULT. A value that is no VkfPrecision is INVALID_ARGUMENT. */
    VkfPrecision precision;

    uint32_t reserved; /* 0; else INVALID_ARGUMENT */
    /* Most operations in one step of the plan, so that no submission runs into a watchdog. A multiplication and an
     * addition count as two. 0 = VKF_DEFAULT_MATRIX_STEP_OPERATIONS for the matrix kernels of paths coopmat and
     * standard, VKF_DEFAULT_STEP_OPERATIONS for other kernels. A step has at least one workgroup, however small the
     * limit is. */
    uint64_t maxStepOperations;

    /* Words of 4 bytes from one sequence's part of the block mask to the next. 0 = all sequences share. At most
     * 2^32 - 1, else UNSUPPORTED. Nonzero without a maskBlock is INVALID_ARGUMENT. */
    uint64_t blockMaskBatchStride;
    /* Words of 4 bytes from one query head's part of the block mask to the next. 0 = all heads share. Limits as for
     * blockMaskBatchStride. batch and queryHeads times their strides must add up to at most 2^60, else
     * INVALID_ARGUMENT. */
    uint64_t blockMaskHeadStride;

    /* Rows of the longest packed sequence. 0 = not known. The library chooses tiles for this length, or else for the
     * mean length. bias, mask and dropoutMask reach this far, or else as far as queryRows. INVALID_ARGUMENT if over
     * queryRows, or nonzero without packed. */
    uint32_t longestRows;
    /* Keys of the longest packed sequence. 0 = not known. The library chooses tiles and key splits for this length, or
     * else for the mean length, with paging for `keys`. bias, mask and dropoutMask reach this far, or else as far as
     * `keys`. INVALID_ARGUMENT if over `keys`, or nonzero without packed. */
    uint32_t longestKeys;
    /* Dropout by a mask instead of the generator: binding dropoutMask, of BOOL8 or BOOL1, true = kept. Kept
     * probabilities are multiplied by 1 / (1 - dropout.probability) as with the generator. Zeroed = none. */
    VkfBroadcastArray dropoutMask;
    /* Number of rows that have probabilities. 0 = all rows. Binding probabilityRows, int32 [probabilityRows], read on
     * the device, has the numbers of the chosen rows, the same for all sequences and heads. Numbers may come in any
     * order and repeat. A number outside of [0, queryRows) gives a row of zeros. At most 2^30 - 1, else UNSUPPORTED.
     * INVALID_ARGUMENT without probabilities.
     *
     * With a causal mask, Nq = Nk = 4, numbers 3 1 1 9 and equal scores, the probabilities are:
     *
     *     1/4 1/4 1/4 1/4
     *     1/2 1/2  0   0
     *     1/2 1/2  0   0
     *      0   0   0   0
     */
    uint32_t probabilityRows;
    uint32_t reserved2; /* 0; else INVALID_ARGUMENT */

    /* 1 = one factor for each query head multiplies the elements of the bias: binding biasFactors, fp32 [queryHeads],
     * read on the device. Any factor is allowed. A bias of -infinity gives its key no weight whatever the factor is;
     * every other product is the fp32 product. INVALID_ARGUMENT without bias. */
    VkfBool biasFactors;
    uint32_t reserved3; /* 0; else INVALID_ARGUMENT */
} VkfProblem;

/* Default limit of a step. A device that reaches half a TFLOP/s takes two seconds, a watchdog's usual limit. */
#define VKF_DEFAULT_STEP_OPERATIONS UINT64_C(1000000000000)
/* Default limit of a step on matrix units. A device that reaches ten TFLOP/s with them takes two seconds. */
#define VKF_DEFAULT_MATRIX_STEP_OPERATIONS UINT64_C(20000000000000)

/* ---- Functions ------------------------------------------------------------------------------- */

/* Every function of this header is thread-safe, needs no device, allocates nothing and does not block. */

/* Checks that the problem is well formed, and that this version can do it on some device. vkfCheckSupport and
 * vkfCheckDeviceSupport (vkflash.h) answer for one device.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT, VKF_ERROR_STRUCT_SIZE, VKF_ERROR_UNSUPPORTED. The message names the first field
 * that is wrong. */
VKF_API VkfResult vkfCheckProblem(const VkfProblem* problem, VkfMessage* message);

/* One of the problem's four tensors. */
typedef enum VkfTensorRole VKF_INT32_ENUM {
    VKF_TENSOR_Q = 0,
    VKF_TENSOR_K = 1,
    VKF_TENSOR_V = 2,
    VKF_TENSOR_O = 3,
    VKF_TENSOR_FORCE_INT32 = 0x7fffffff
} VkfTensorRole;

/* Shape and strides of a tensor with all defaults filled in, and how far it reaches. */
typedef struct VkfTensorLayout {
    VkfType type;         /* as in VkfTensor */
    uint32_t batch;       /* sequences; 1 with packed sequences; for k and v in pages the number of pages */
    uint32_t heads;       /* query heads of q and o, KV heads of k and v */
    uint32_t rows;        /* query rows of q and o, keys of k and v; in pages the rows of a page */
    uint32_t dim;         /* elements of a row */
    uint32_t reserved;    /* 0 */
    uint64_t batchStride; /* elements; 0 for packed tensors */
    uint64_t headStride;  /* elements */
    uint64_t rowStride;   /* elements */
    uint64_t elements;    /* from the first one to one past the last one that is touched; 0 if the tensor is empty.
                             vkfStoredBytes gives their bytes. */
} VkfTensorLayout;

/* Returns the layout of a tensor. All zeros if vkfCheckProblem refuses the problem, or `role` is no VkfTensorRole. */
VKF_API VkfTensorLayout vkfTensorLayout(const VkfProblem* problem, VkfTensorRole role);

/* A block mask in memory: uint32 words, logically [batch, queryHeads, rowBlocks, rowWords]. The inner two dimensions
 * are dense. VkfProblem::blockMaskBatchStride and blockMaskHeadStride are the strides of the outer two.
 *
 * Bit b of word w belongs to key block 32 w + b, whose first key is (32 w + b) * maskBlock. 1 = open: the rows of the
 * row block see these keys. Bits past keyBlocks are ignored. Other masks hold inside open blocks too.
 *
 * With 100 rows, 150 keys and maskBlock 64 there are 2 x 3 blocks. The last ones of each row and column are cut short:
 *
 *     1 0 1       word 0x00000005      rows 0 to 63 see keys 0 to 63 and 128 to 149
 *     0 1 0       word 0x00000002      rows 64 to 99 see keys 64 to 127
 *
 * Time falls with the share of open blocks, because the kernels visit no key tile without an open block.
 * The library chooses tiles that divide blocks. Where none suits, a tile lies in several blocks: the kernel visits it
 * if one of them is open, and looks at each block. Tiles of few rows and keys are slow, so blocks of 64 and more,
 * powers of two, are best. */
typedef struct VkfBlockMaskLayout {
    uint32_t rowBlocks; /* queryRows / maskBlock, rounded up; 0 without a block mask */
    uint32_t keyBlocks; /* keys / maskBlock, rounded up; 0 without a block mask */
    uint32_t rowWords;  /* words of one row of blocks: keyBlocks / 32, rounded up */
    uint32_t reserved;  /* 0 */
    uint64_t words;     /* from the first one to one past the last one that is read; 0 if none is read */
} VkfBlockMaskLayout;

/* Returns the layout of the block mask. All zeros without a block mask, or if vkfCheckProblem refuses the problem. */
VKF_API VkfBlockMaskLayout vkfBlockMaskLayout(const VkfProblem* problem);

/* Checks the lengths of packed sequences that are on the host. Both arrays, int32 [batch + 1], must start at 0, never
 * fall, and end at queryRows and keys. No sequence may be longer than longestRows and longestKeys, where these are
 * not 0. The device takes more than this check: see VkfProblem::packed.
 *
 * With paging the function ignores cuSeqlensK. If the problem is not packed, or batch is 0, it ignores both arrays and
 * returns VKF_SUCCESS.
 *
 * Errors: those of vkfCheckProblem; VKF_ERROR_INVALID_ARGUMENT for null, or for a wrong entry, whose index the
 * message has. */
VKF_API VkfResult vkfCheckSequences(const VkfProblem* problem, const int32_t* cuSeqlensQ, const int32_t* cuSeqlensK,
                                    VkfMessage* message);

/* Returns the bytes of a bias or mask of the problem, rounded up to 4. They reach from the first byte to one past the
 * last one that is read. `bias` points to the problem's bias, mask or dropoutMask. 0 if the array is disabled or
 * nothing of it is read, if `bias` is null, or if vkfCheckProblem refuses the problem. */
VKF_API uint64_t vkfBroadcastBytes(const VkfProblem* problem, const VkfBroadcastArray* bias);

/* Returns the bytes of one element of F32, F16 or BF16. 0 for other types. */
VKF_API size_t vkfTypeBytes(VkfType type);

/* Returns how many elements are stored together: 32 for block types, 1 for F32, F16 and BF16. 0 for other types. */
VKF_API uint32_t vkfBlockElements(VkfType type);

/* Returns the bytes of so many neighbouring elements. `elements` is a multiple of vkfBlockElements. 0 for types of
 * which vkfBlockElements is 0. */
VKF_API uint64_t vkfStoredBytes(VkfType type, uint64_t elements);

/* Returns a static string: "f32", "f16", ... Never NULL; "unknown type" for other values. */
VKF_API const char* vkfTypeName(VkfType type);

/* Returns a static string: "auto", "scalar", ... Never NULL; "unknown path" for other values. */
VKF_API const char* vkfPathName(VkfPath path);

#ifdef __cplusplus
}
#endif

#endif

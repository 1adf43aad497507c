/* SPDX-License-Identifier: MIT
 *
 * vkflash/problem.h: VkfProblem, the description of one attention call. The library and the CPU reference share it.
 *
 * A problem holds no addresses, and this header needs no Vulkan. One problem serves every call of its shape.
 * VkfBindings (attention.h) has the addresses of one call, VkfReferenceInputs (reference.h) those of the reference.
 *
 *
 * DEFINITION
 *
 * i is a query row of Nq = queryRows. j is a key of Nk = keys. b is a sequence, h a query head. The order of steps is:
 *
 *     s = scale * dot(q[i], k[j])                 of k and v times their scales, if kvScales
 *     s = softcap * tanh(s / softcap)             if softcap > 0
 *     s = score(s, at)                            if functions have it
 *     s = s - slope[h] * |i + Nk - Nq - j|        if alibi; with positions, between these
 *     s = s + factor[h] * bias[b, h, i, j]        if bias; the factor is 1 without biasFactors
 *     key j is dropped                            if causal, window, lengths, lists, a mask or keep say so
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
 * - structSize, where a struct has it, is sizeof the struct. The library also accepts the structs of older and of
 *   newer headers, as vkflash.h says. Otherwise it returns VKF_ERROR_STRUCT_SIZE.
 * - A bit of VkfUseBits enables what only some calls have. No other field does.
 * - Fields named `reserved` must be 0, else INVALID_ARGUMENT.
 * - The comments shorten VKF_ERROR_INVALID_ARGUMENT and VKF_ERROR_UNSUPPORTED to INVALID_ARGUMENT and UNSUPPORTED.
 * - vkfCheckProblem finds the errors that the comments name. "(device)" marks errors that need a device, which
 *   vkfCheckSupport, vkfCheckDeviceSupport and vkfCreatePlan find.
 *
 *
 * FEATURES AND PATHS
 *
 * Every path has every feature of this header, except for those in this table. A dash is UNSUPPORTED. VKF_PATH_AUTO
 * chooses a path that has the features. VkfPath says which types and devices each path needs.
 *
 *                                    scalar   coopmat   wgmma     decode     standard   key_outer
 *     headDim, valueDim at most      256      256 (1)   256       576, 512   256        256
 *     window.firstKeys               yes      yes       yes       yes        -          yes
 *     mask, documentIds              yes      yes       -         yes        -          yes
 *     blockMask                      yes      yes       -         -          -          yes
 *     chosenKeys                     yes      yes (2)   -         yes        -          -
 *     bias, dropout, probabilities   yes      yes       -         yes        yes        yes
 *     functions, positions           yes      yes       -         yes        yes        yes
 *     packed                         yes      yes (1)   yes       yes        -          -
 *     pages, kvSplits over 1         yes      yes       yes       yes        -          -
 *     splitKeys                      yes      yes (1)   -         yes        -          -
 *     k or v of block types          yes      yes       yes (3)   yes        -          -
 *     kvScales                       yes      yes       -         yes        -          -
 *     VKF_PRECISION_FP32             yes      yes (4)   -         yes        yes        yes
 *
 * (1) If q, k and v are fp32: headDim and valueDim at most 128, not packed, no splitKeys (device).
 * (2) Not with ALiBi, and not if q, k and v are fp32 (device).
 * (3) k and v both of fp8 types, not packed, without pages and kvScales, where maxScratchBytes lets the library convert
 *     them before attention.
 * (4) If q, k and v are fp32.
 *
 * "packed" is VKF_USE_CU_SEQLENS, "pages" is VKF_USE_BLOCK_TABLE. On path wgmma, vkfCheckProblem refuses chosenKeys,
 * positions and splitKeys only, and vkfCheckSupport refuses the rest. These pairs are UNSUPPORTED on every path:
 *
 *     packed       with blockMask, with probabilities
 *     pages        with blockMask
 *     chosenKeys   with blockMask, with probabilities
 *     positions    with documentIds, with functions, with window.firstKeys
 *
 * The backward pass has limits of its own (backward_problem.h).
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
 *     every bit of `use`
 *     whether there is a softcap, and k.scales and v.scales
 *     positions.rowStride, positions.keyStride
 *     chosenKeys.count, and which strides of chosenKeys are 0
 *     types of bias, mask and dropoutMask
 *     window.firstKeys, alignment
 *     blockMask.blockSize, blockMask.batchStride, blockMask.headStride
 *     paging.pageSize, paging.maxPages
 *     dropout.probability
 *     kvSplits, splitKeys
 *     queryHeads / kvHeads, on paths coopmat and decode without a blockMask
 *     batch, on path key_outer
 *     window.left and window.right, with dropout, with positions, or with one of these arrays: blockMask, cuSeqlensQ,
 *         blockTable, alibiSlopes, sinks, bias, mask, documentIds, chosenKeys
 *     whether heads of a mask or of a bias differ: headStride, and whether `heads` is 1
 *     whether the heads or sequences of a bias, mask or dropoutMask repeat by modulo
 *     whether a bias is large enough to look for tiles that it masks out
 *     whether block types are converted before attention (maxScratchBytes)
 *     strides of q, k, v and o: whether rows are whole vectors (VkfPlanInfo::inputAlignment), or strides pass 4 GiB
 *
 * These fields are push constants, or numbers in memory. On their own they lead to no new pipeline:
 *
 *     batch, queryHeads and kvHeads with the same quotient, queryRows, keys, other strides of q, k, v and o
 *     scale, softcap over 0, window.left and window.right of other problems than above
 *     other strides of bias, mask and dropoutMask
 *     positions.firstRow, positions.firstKey
 *     other strides of chosenKeys
 *     dropout.seed, paging.pages, longestRows, longestKeys, probabilityRowCount, maxStepOperations
 *     maxScratchBytes, if it does not change whether block types are converted
 *
 * The library chooses path, tile, key splits and order of work from sizes, types, masks and precision. If a new size
 * leads to another choice, it leads to a new pipeline. `path` and `kvSplits` fix two of these choices.
 *
 * Advice for a cache that grows: make one plan, in which `keys` is the capacity of the cache. Set
 * VKF_USE_KEY_LENGTHS, and keep the length of each sequence in device memory.
 *
 * - Neither the plan nor a recorded command buffer changes from token to token then.
 * - The library chooses tiles and key splits for the capacity.
 * - vkfCmdAppend (append.h) writes the lengths on the device.
 * - A plan of packed sequences also serves calls with fewer rows and sequences: see VKF_USE_CU_SEQLENS.
 */
#ifndef VKFLASH_PROBLEM_H
#define VKFLASH_PROBLEM_H

#include "functions.h"
#include "problem_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One attention call. The bindings that the fields name are members of VkfBindings (attention.h), in device memory. */
typedef struct VkfProblem {
    size_t structSize; /* sizeof(VkfProblem) */

    /* Number of sequences. 0 is INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED.
     *
     * The product of batch, queryHeads and queryRows is at most 2^32 - 65536, else UNSUPPORTED (device). If keys are
     * split, the limit holds for this product times the number of key splits. With packed sequences the product has no
     * batch. A phase of the plan has at most 2^32 - 65536 workgroups, else UNSUPPORTED (device). */
    uint32_t batch;
    /* Heads of q and o. 0 makes an empty output, whose plan has no steps. At most 65535, else UNSUPPORTED. */
    uint32_t queryHeads;
    /* Heads of k and v. Query head h reads KV head h / (queryHeads / kvHeads). Must divide queryHeads, else
     * INVALID_ARGUMENT. At most 65535, else UNSUPPORTED. */
    uint32_t kvHeads;
    /* Nq: query rows of each sequence; with packed sequences the rows of all together. 0 makes an empty output. At most
     * 2^30 - 65536, else UNSUPPORTED. */
    uint32_t queryRows;
    /* Nk: keys of each sequence, or the capacity of a cache with keyLengths. With packed sequences the keys of all
     * together; with pages the most that a sequence has. 0 makes every row empty: o = 0, lse = -infinity. At most
     * 2^30 - 65536, else UNSUPPORTED. */
    uint32_t keys;
    /* D: columns of q and k. 0 is INVALID_ARGUMENT. At most 256, on path decode 576, else UNSUPPORTED. AUTO without a
     * blockMask has the limit of path decode. */
    uint32_t headDim;
    /* Dv: columns of v and o. 0 = headDim. At most 256, on path decode 512, else UNSUPPORTED; AUTO as for headDim. */
    uint32_t valueDim;
    /* The kernel. 0 = VKF_PATH_AUTO. A value that is not a VkfPath is INVALID_ARGUMENT. */
    VkfPath path;
    /* Number of key splits: the keys are divided into this many shares, which different workgroups compute. Their
     * partial results lie in scratch memory and are merged. 0 = the library chooses. At most 1024, else UNSUPPORTED.
     * Over 1 it is UNSUPPORTED on paths standard and key_outer, and without storageBuffer16BitAccess (device). */
    uint32_t kvSplits;
    /* Precision of products. 0 = VKF_PRECISION_DEFAULT. A value that is not a VkfPrecision is INVALID_ARGUMENT. */
    VkfPrecision precision;
    /* Most operations in one step of the plan, so that no submission runs into a watchdog. A multiplication and an
     * addition count as two. 0 = VKF_DEFAULT_MATRIX_STEP_OPERATIONS for the matrix kernels of paths coopmat
     * (but for fp32 k and v), wgmma and standard, VKF_DEFAULT_STEP_OPERATIONS for other kernels. A step has at least
     * one workgroup, however small the limit is. A plan has at most 2^32 - 1 steps, else UNSUPPORTED (device). */
    uint64_t maxStepOperations;

    /* What the call uses besides q, k, v and o: bits of VkfUseBits (problem_types.h). 0 = nothing. */
    VkfUse use;
    /* Number of entries of binding probabilityRows. Zero without VKF_USE_PROBABILITY_ROWS, and only then, else
     * INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t probabilityRowCount;

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

    /* Factor of q . k. 0 = 1 / sqrt(headDim). May be negative. Its magnitude is from 2^-126 to 2^126, else
     * INVALID_ARGUMENT. */
    float scale;
    /* Limits scores to (-softcap, softcap), by tanh. 0 = off. Also off from 2^100 on. INVALID_ARGUMENT if negative or
     * not finite. */
    float softcap;
    /* Where rows stand, for causal, window and firstKeys. 0 = bottom-right. A value that is not a VkfAlignment is
     * INVALID_ARGUMENT. */
    VkfAlignment alignment;
    uint32_t reserved; /* 0; else INVALID_ARGUMENT */
    /* Sliding window. Zero without VKF_USE_WINDOW. */
    VkfWindow window;

    /* Rows of the longest packed sequence. The library chooses tiles for this length. bias, mask and dropoutMask have
     * this many rows. 0 = not known: the tiles are for the mean length, and the arrays have queryRows rows.
     * INVALID_ARGUMENT if over queryRows, or nonzero without packed sequences. */
    uint32_t longestRows;
    /* Keys of the longest packed sequence. The library chooses tiles and key splits for this length. bias, mask and
     * dropoutMask have this many keys. 0 = not known: tiles and key splits are for the mean length, with pages for
     * `keys`, and the arrays have `keys` keys. INVALID_ARGUMENT if over `keys`, or nonzero without packed sequences. */
    uint32_t longestKeys;

    /* Additive bias, of F32, F16 or BF16. -infinity gives a key a probability of 0. The kernel may skip such a key, or
     * multiply its value by 0. So unlike with a mask, k and v of the key must be finite, else the row of o is
     * unspecified. Zero without VKF_USE_BIAS. */
    VkfBroadcastArray bias;
    /* Boolean mask, of BOOL8 or BOOL1. It drops keys, whose bytes then never reach a result. Zero without
     * VKF_USE_MASK. */
    VkfBroadcastArray mask;
    /* Dropout by a mask, of BOOL8 or BOOL1, true = kept. Kept probabilities are multiplied by 1 / (1 -
     * dropout.probability) as with the generator. Zero without VKF_USE_DROPOUT_MASK. */
    VkfBroadcastArray dropoutMask;
    /* Block-sparse mask: keys of closed blocks are dropped. Zero without VKF_USE_BLOCK_MASK. */
    VkfBlockMask blockMask;
    /* Pages of k and v. Zero without VKF_USE_BLOCK_TABLE. */
    VkfPaging paging;
    /* Dropout. Zeroed = none. */
    VkfDropout dropout;
    /* Bytes of scratch memory that the call may use to save work, besides what it needs anyway. Paths coopmat, and
     * wgmma for fp8 types, then convert k and v of block types to the 16-bit type of the matrices once, before
     * attention. Otherwise each tile of query rows converts them again.
     *
     * - 0 = VKF_DEFAULT_SCRATCH_BYTES, where that is expected to save time: where many query rows read the same keys.
     *   1 = none. Any other number is used wherever it suffices.
     * - The converted k and v take 2 * batch * kvHeads * keys * (headDim + valueDim) bytes. With a smaller limit
     *   nothing is converted, nor with packed sequences or rows of q whose bytes are not a multiple of 16. k and v must
     *   both be of block types.
     * - The converted elements are those that enter products anyway (VkfPlanInfo::productType).
     * - The backward pass has a limit of its own, VkfBackwardProblem::maxScratchBytes. */
    uint64_t maxScratchBytes;
    /* Masks and scores of the caller's own. Must outlive every plan and every backward pass that is made of the
     * problem. Null without VKF_USE_FUNCTIONS, and only then, else INVALID_ARGUMENT. */
    VkfFunctions functions;
    /* Where rows and keys stand. Zero without VKF_USE_POSITIONS. */
    VkfPositions positions;
    /* Number of keys of a key split. 0 = not fixed: kvSplits, or the library's choice for the size of the call, is the
     * number of key splits. Otherwise each split has splitKeys keys, rounded up to whole tiles, counted from the
     * first key that the row tile sees. Where that would make more than 64 splits, the length doubles until it does
     * not.
     *
     * The library chooses paths and tiles without regard to the number of sequences and their lengths. So the bits of o
     * and lse of a sequence depend neither on the batch around it nor on other sequences' lengths (docs/semantics.md).
     * 128 costs little at all lengths. From 2^30 - 65536 on, keys are not split, and no partial results are merged.
     * With another number partial results are always merged.
     *
     * INVALID_ARGUMENT together with kvSplits. UNSUPPORTED on the paths that the table above excludes, of which AUTO
     * chooses none, and without storageBuffer16BitAccess (device), as kvSplits over 1. */
    uint32_t splitKeys;
    uint32_t reserved2; /* 0; else INVALID_ARGUMENT */
    /* Lists of the keys that rows see. Zero without VKF_USE_CHOSEN_KEYS. */
    VkfChosenKeys chosenKeys;
} VkfProblem;

/* Default limit of VkfProblem::maxScratchBytes: 512 MiB, room for 131,072 keys of 8 KV heads with headDim 128. */
#define VKF_DEFAULT_SCRATCH_BYTES UINT64_C(536870912)

/* Default limit of a step. A device that reaches half a TFLOP/s takes two seconds, a watchdog's usual limit. */
#define VKF_DEFAULT_STEP_OPERATIONS UINT64_C(1000000000000)
/* Default limit of a step on matrix units. A device that reaches ten TFLOP/s with them takes two seconds. */
#define VKF_DEFAULT_MATRIX_STEP_OPERATIONS UINT64_C(20000000000000)

/* ---- Functions ------------------------------------------------------------------------------- */

/* Every function of this header is thread-safe, needs no device and does not block. None but vkfCheckChosenKeys
 * allocates. */

/* Checks that the problem is well formed, and that this version can do it on some device. vkfCheckSupport and
 * vkfCheckDeviceSupport (attention.h) answer for one device.
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
    size_t structSize;
    VkfType type;         /* as in VkfTensor */
    uint32_t batch;       /* sequences; at most 1 with packed sequences; for k and v in pages the number of pages */
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

/* Fills *layout with the layout of a tensor. The caller sets its structSize. vkflash/problem.hpp has the same as a C++
 * function that returns the layout.
 *
 * Errors: those of vkfCheckProblem; VKF_ERROR_INVALID_ARGUMENT if `layout` is null or `role` is not a VkfTensorRole;
 * VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetTensorLayout(const VkfProblem* problem, VkfTensorRole role, VkfTensorLayout* layout,
                                     VkfMessage* message);

/* A block mask in memory: uint32 words, logically [batch, queryHeads, rowBlocks, rowWords]. The inner two dimensions
 * are dense. VkfBlockMask has the strides of the outer two.
 *
 * Bit b of word w belongs to key block 32 w + b, whose first key is (32 w + b) * blockSize. 1 = open: the rows of the
 * row block see these keys. Bits past keyBlocks are ignored. Other masks hold inside open blocks too.
 *
 * With 100 rows, 150 keys and blockSize 64 there are 2 x 3 blocks. The last ones of each row and column are cut short:
 *
 *     1 0 1       word 0x00000005      rows 0 to 63 see keys 0 to 63 and 128 to 149
 *     0 1 0       word 0x00000002      rows 64 to 99 see keys 64 to 127
 *
 * Time falls with the share of open blocks, because the kernels visit no key tile without an open block.
 * The library chooses tiles that divide blocks. Where none suits, a tile lies in several blocks: the kernel visits it
 * if one of them is open, and looks at each block. Tiles of few rows and keys are slow, so blocks of 64 and more,
 * powers of two, are best. */
typedef struct VkfBlockMaskLayout {
    size_t structSize;
    uint32_t rowBlocks; /* queryRows / blockSize, rounded up; 0 without a block mask */
    uint32_t keyBlocks; /* keys / blockSize, rounded up; 0 without a block mask */
    uint32_t rowWords;  /* words of one row of blocks: keyBlocks / 32, rounded up */
    uint32_t reserved;  /* 0 */
    uint64_t words;     /* from the first one to one past the last one that is read; 0 if none is read */
} VkfBlockMaskLayout;

/* Fills *layout with the layout of the block mask: zeros without a block mask. The caller sets its structSize.
 *
 * Errors: those of vkfCheckProblem; VKF_ERROR_INVALID_ARGUMENT if `layout` is null; VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetBlockMaskLayout(const VkfProblem* problem, VkfBlockMaskLayout* layout, VkfMessage* message);

/* Checks the lengths of packed sequences that are on the host. Both arrays, int32 [batch + 1], must start at 0, never
 * fall, and end at queryRows and keys. No sequence may be longer than longestRows and longestKeys, where these are not
 * 0. The device accepts more than this check: see VKF_USE_CU_SEQLENS.
 *
 * With pages the function ignores cuSeqlensK. If the problem is not packed, it ignores both arrays and returns
 * VKF_SUCCESS.
 *
 * Errors: those of vkfCheckProblem; VKF_ERROR_INVALID_ARGUMENT for null, or for a wrong entry, whose index the
 * message has. */
VKF_API VkfResult vkfCheckSequences(const VkfProblem* problem, const int32_t* cuSeqlensQ, const int32_t* cuSeqlensK,
                                    VkfMessage* message);

/* Checks lists of chosen keys that are on the host: vkfGetArrayBytes bytes. No key of [0, keys) may stand twice in a
 * list. Entries that are no keys count as none, however many there are. Ignores the lists if the problem has none.
 * Allocates memory for the keys of a list.
 *
 * Errors: those of vkfCheckProblem; VKF_ERROR_INVALID_ARGUMENT for null, or for a key that stands twice: the message
 * has the key, and the indices of both entries in the array; VKF_ERROR_OUT_OF_HOST_MEMORY. */
VKF_API VkfResult vkfCheckChosenKeys(const VkfProblem* problem, const int32_t* chosenKeys, VkfMessage* message);

/* Returns the bytes of an array of the call, from the first one to one past the last one that is read or written. They
 * are rounded up to 4 for bias, mask and dropoutMask. 0 = not used: the problem does not have the array, nothing of it
 * is read or written, attention has no such array, or vkfCheckProblem refuses the problem. */
VKF_API uint64_t vkfGetArrayBytes(const VkfProblem* problem, VkfArray array);

/* Returns the bytes of one element of F32, F16 or BF16. 0 for other types. */
VKF_API size_t vkfTypeBytes(VkfType type);

/* Returns how many elements are stored together: 32 for block types, of which fp8 types have 16; 1 for F32, F16 and
 * BF16. 0 for other types. */
VKF_API uint32_t vkfBlockElements(VkfType type);

/* Returns the bytes that `elements` consecutive elements take in memory. `elements` is a multiple of vkfBlockElements.
 * 0 for types of which vkfBlockElements is 0. */
VKF_API uint64_t vkfStoredBytes(VkfType type, uint64_t elements);

/* Returns a static string: "f32", "f16", "e4m3", ... Never NULL; "unknown type" for other values. */
VKF_API const char* vkfTypeName(VkfType type);

/* Returns a static string: "auto", "scalar", ... Never NULL; "unknown path" for other values. */
VKF_API const char* vkfPathName(VkfPath path);

/* Returns a static string, the name of the bit: "VKF_USE_LSE", ... Never NULL; "unknown bit" for other values. */
VKF_API const char* vkfUseString(VkfUseBits bit);

/* Returns a static string, the name of the binding: "cuSeqlensQ", ... Never NULL; "unknown array" for other values. */
VKF_API const char* vkfArrayString(VkfArray array);

/* Returns a static string: "bottom-right" or "top-left". Never NULL; "unknown alignment" for other values. */
VKF_API const char* vkfAlignmentString(VkfAlignment alignment);

/* Returns a static string: "default" or "fp32". Never NULL; "unknown precision" for other values. */
VKF_API const char* vkfPrecisionString(VkfPrecision precision);

/* Returns a static string: "q", "k", "v" or "o". Never NULL; "unknown role" for other values. */
VKF_API const char* vkfTensorRoleString(VkfTensorRole role);

#ifdef __cplusplus
}
#endif

#endif

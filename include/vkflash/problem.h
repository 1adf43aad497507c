/* SPDX-License-Identifier: MIT
 *
 * vkflash/problem.h: the description of one attention call, shared by the library and the CPU
 * reference. It knows no Vulkan and holds no addresses: the same problem serves every call of its
 * shape.
 *
 * For query row i of Nq and key j of Nk, head h of H over Hkv, in this order:
 *
 *     s = scale * dot(q[i], k[j])
 *     s = softcap * tanh(s / softcap)             if softcap > 0
 *     s = s - slope[h] * |i + Nk - Nq - j|        if alibi
 *     s = s + factor[h] * bias[b, h, i, j]        if bias; the factor is 1 without biasFactors
 *     key j is dropped                            if causal, window, lengths or a mask say so
 *     p = softmax over the keys that are left, a sink logit joining the denominator once
 *     o[i] = sum p[j] v[j],  lse[i] = ln sum exp(s)          with dropout some p[j] are 0 here, the others larger
 *
 * Scores, the softmax state and o accumulate in fp32 whatever the storage types. The bytes of
 * dropped keys and values never reach a result, NaN and infinity included. A row with no visible
 * key gives o = 0 exactly and lse = -infinity (with a sink: the sink).
 *
 * Causal alignment, shown for (Nq, Nk) = (2, 5) and (5, 2), 1 = visible:
 *
 *     bottom-right  1 1 1 1 0   0 0        top-left  1 0 0 0 0   1 0
 *                   1 1 1 1 1   0 0                  1 1 0 0 0   1 1
 *                               0 0                              1 1
 *                               1 0                              1 1
 *                               1 1                              1 1
 *
 * The definition is that of FlashAttention (Dao et al. 2022, arXiv 2205.14135) with the alignment
 * of its version 2.1; docs/semantics.md has the whole contract.
 *
 * Every struct starts with structSize where a caller fills it on its own: set it to sizeof. Zero in
 * a field means its documented default, so start from a zeroed struct.
 */
#ifndef VKFLASH_PROBLEM_H
#define VKFLASH_PROBLEM_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t VkfBool;

/* Storage type of a tensor's elements. Block types, of k and v alone, hold 32 elements along the head dimension in
 * the GGUF layouts, little-endian: an fp16 scale d; of q4_1 and q5_1 an fp16 minimum m; of q5_0 and q5_1 four bytes of
 * fifth bits, bit e of element e; then codes. Those of q8_0 are signed bytes, of the others nibbles, element e in the
 * low half of byte e, element e + 16 in its high half. In fp32 an element is
 *
 *     d code       q8_0, 34 bytes         d (code - 8)     q4_0, 18 bytes     d (code - 16)   q5_0, 22 bytes
 *                                         d code + m       q4_1, 20 bytes     d code + m      q5_1, 24 bytes
 *
 * vkfQuantizeBlocks (reference.h) makes them on the CPU. */
typedef enum VkfType VKF_INT32_ENUM {
    VKF_TYPE_F32 = 0,
    VKF_TYPE_F16 = 1,
    VKF_TYPE_BF16 = 2,
    VKF_TYPE_F8_E4M3 = 3,
    VKF_TYPE_Q8_0 = 4,
    VKF_TYPE_Q4_0 = 5,
    VKF_TYPE_Q4_1 = 6,
    VKF_TYPE_Q5_0 = 7,
    VKF_TYPE_Q5_1 = 8,
    VKF_TYPE_BOOL8 = 9,  /* masks: one byte an element, nonzero = keep */
    VKF_TYPE_BOOL1 = 10, /* masks: one bit an element, little-endian, 1 = keep */
    VKF_TYPE_FORCE_INT32 = 0x7fffffff
} VkfType;

/* Where the diagonal of a causal mask or window lies when Nq and Nk differ. */
typedef enum VkfAlignment VKF_INT32_ENUM {
    VKF_ALIGNMENT_BOTTOM_RIGHT = 0, /* row i stands at key i + Nk - Nq */
    VKF_ALIGNMENT_TOP_LEFT = 1,     /* row i stands at key i */
    VKF_ALIGNMENT_FORCE_INT32 = 0x7fffffff
} VkfAlignment;

/* The kernels. A path name is also what the program's --path takes. */
typedef enum VkfPath VKF_INT32_ENUM {
    VKF_PATH_AUTO = 0,     /* the fastest path that supports the problem on the device */
    VKF_PATH_SCALAR = 1,   /* "scalar": fused, plain fp32 arithmetic, any device */
    VKF_PATH_STANDARD = 2, /* "standard": unfused, scores in memory; the baseline, never automatic; any device */
    VKF_PATH_COOPMAT = 3,  /* "coopmat": fused, on cooperative matrices; q, k, v all fp16 or all bf16 */
    VKF_PATH_DECODE = 4,   /* "decode": fused, for few query rows: all heads of a KV head at once, keys split */
    /* "key_outer": fused, the loop order of the first FlashAttention: K/V tiles outside, query tiles inside, m, l and o
     * in scratch memory in between; for study, never automatic */
    VKF_PATH_KEY_OUTER = 5,
    VKF_PATH_FORCE_INT32 = 0x7fffffff
} VkfPath;

/* How much precision the products may give up. Accumulation is fp32 in all of them. */
typedef enum VkfPrecision VKF_INT32_ENUM {
    VKF_PRECISION_DEFAULT = 0, /* products in the storage type's precision or better */
    VKF_PRECISION_FP32 = 1,    /* products in fp32 too: never matrix units of a narrower type */
    VKF_PRECISION_FORCE_INT32 = 0x7fffffff
} VkfPrecision;

/* One tensor of logical shape [batch, heads, rows, dim]. Strides are in elements; the innermost
 * dimension is contiguous. All three strides zero means the dense layout [batch, heads, rows, dim].
 * For [batch, rows, heads, dim] give rowStride = heads * dim and headStride = dim. A stride of zero
 * beside nonzero ones repeats that dimension (inputs only). Every element address, as base +
 * element offset * element size, is computed in 64 bits. Of block types strides are in elements too, and
 * they and the dim are multiples of 32, so that they are whole blocks. */
typedef struct VkfTensor {
    VkfType type;
    uint32_t reserved; /* 0 */
    uint64_t batchStride;
    uint64_t headStride;
    uint64_t rowStride;
} VkfTensor;

/* Keys visible around the diagonal: with p = i + offset of the alignment, keep p - left <= j <= p +
 * right, both inclusive. -1 = unlimited. "W keys including itself" is left = W - 1, right = 0.
 *
 * firstKeys: every row sees these too, wherever its window is, as far as other masks let it: beside `causal` no row
 * sees keys after its own, which is what streaming with attention sinks wants; without it the first keys are a prefix
 * that all rows see. With Nq = Nk = 6 and two first keys:
 *
 *     (1, 0), causal   1 0 0 0 0 0     (1, 0)   1 1 0 0 0 0     (-1, 0)   1 1 0 0 0 0
 *                      1 1 0 0 0 0              1 1 0 0 0 0               1 1 0 0 0 0
 *                      1 1 1 0 0 0              1 1 1 0 0 0               1 1 1 0 0 0
 *                      1 1 1 1 0 0              1 1 1 1 0 0               1 1 1 1 0 0
 *                      1 1 0 1 1 0              1 1 0 1 1 0               1 1 1 1 1 0
 *                      1 1 0 0 1 1              1 1 0 0 1 1               1 1 1 1 1 1
 */
typedef struct VkfWindow {
    VkfBool enabled;
    uint32_t firstKeys; /* this many first keys are visible beside the window; 0 = none. Not on path standard. */
    int64_t left;
    int64_t right;
} VkfWindow;

/* An additive bias, or a boolean mask of which true keeps a key, logically [batch, queryHeads, queryRows, keys], keys
 * being contiguous: strides, in elements, may have any value, and 0 repeats. [1, 1, Nq, Nk] for all sequences and heads
 * has rowStride = Nk and zeros; all zeros are one row for everybody. Rows of BOOL1 may begin within a byte. With a mask
 * of two rows,
 *
 *     1 1 0 1     bytes 1, 1, 0, 1, 0, 1, 1, 1     bits 0xeb     row 0 drops key 2
 *     0 1 1 1                                                    row 1 drops key 0
 *
 * Both are read in words of 4 bytes. */
typedef struct VkfBroadcastArray {
    VkfBool enabled;
    VkfType type;
    uint64_t batchStride;
    uint64_t headStride;
    uint64_t rowStride;
} VkfBroadcastArray;

/* K and V in pages: logical key j of sequence b lies in page table[b * maxPages + j / pageSize], row
 * j % pageSize, of both. The table is binding blockTable, int32 [batch, maxPages], read on the device. k and v are then
 * [pages, kvHeads, pageSize, dim]: batchStride is the stride from page to page. For [pages, pageSize, kvHeads, dim]
 * give rowStride = kvHeads * dim, headStride = dim and batchStride = pageSize * kvHeads * dim.
 *
 * Sequences may share pages. An entry is not used unless its page holds a key under the sequence's length, so that the
 * others may hold anything. One that is used and not in [0, pages) makes the device read outside of k and v, which is
 * undefined; nothing can check it there. */
typedef struct VkfPaging {
    VkfBool enabled;
    uint32_t pageSize; /* rows, a power of two */
    uint32_t maxPages; /* entries of the block table for each sequence; maxPages * pageSize >= keys */
    uint32_t pages;    /* that k and v have, at least 1 if there are keys */
} VkfPaging;

/* Probabilities are left out of o, each with this probability, by a counter-based generator over (sequence b, query
 * head h, query row i, key j); the others are multiplied by 1 / (1 - probability). Row sums, lse and probabilities are
 * those of all probabilities:
 *
 *     o[i] = sum p[j] kept(b, h, i, j) / (1 - probability) v[j]
 *
 * A key that is left out is still a visible one, of weight 0: what is NaN or infinite in its v makes a NaN in o. The
 * same call leaves out the same keys on every path and device, however keys are split. In integers of 32 bits, that
 * wrap around:
 *
 *     (a, b', ...) = Philox4x32-10 of counter (i, h, b, 0) and key (seed mod 2^32, seed / 2^32)
 *     x = j * 0x9e3779b9 + a
 *     x = (x ^ (x >> 16)) * 0x21f0aaad
 *     x = (x ^ (x >> 15) ^ b') * 0x735a2d97
 *     x = x ^ (x >> 15)
 *     kept if x >= floor(probability * 2^32)
 *
 * where Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") takes counter
 * (c0, c1, c2, c3) and key (k0, k1) ten times to
 *
 *     c0, c1 = hi(0xcd9e8d57 c2) ^ c1 ^ k0,  lo(0xcd9e8d57 c2)      all from the old c0 to c3
 *     c2, c3 = hi(0xd2511f53 c0) ^ c3 ^ k1,  lo(0xd2511f53 c0)
 *     k0, k1 = k0 + 0x9e3779b9,  k1 + 0xbb67ae85
 *
 * hi and lo being the halves of a product of 64 bits. vkfDropoutKeeps (reference.h) is this on the CPU. Seed 1,
 * probability 0.5, of the first sequence and head, rows and keys 0 to 3, 1 = kept:
 *
 *     1 0 1 1
 *     0 1 0 1
 *     1 0 0 1
 *     1 0 1 0
 */
typedef struct VkfDropout {
    float probability;  /* in [0, 1); 0 = off, unless there is a dropoutMask */
    VkfBool deviceSeed; /* 1 = binding dropoutSeed, uint64, read on the device, in the place of the seed below */
    uint64_t seed;
} VkfDropout;

typedef struct VkfProblem {
    size_t structSize;

    /* Shape. A zero batch, queryHeads or queryRows makes an empty output, which is right and records
     * nothing. keys = 0 makes every row empty: o = 0, lse = -infinity. */
    uint32_t batch;
    uint32_t queryHeads;
    uint32_t kvHeads; /* query head h reads KV head h / (queryHeads / kvHeads); divides queryHeads */
    uint32_t queryRows;
    uint32_t keys;
    uint32_t headDim;  /* D of q and k, 1 to 256 in this version; to 576 on path decode */
    uint32_t valueDim; /* D of v and o; 0 = headDim; the same limit, on path decode 512 */
    VkfPath path;

    VkfTensor q; /* [batch, queryHeads, queryRows, headDim] */
    VkfTensor k; /* [batch, kvHeads, keys, headDim], or pages */
    /* [batch, kvHeads, keys, valueDim], or pages; its type may be another than that of k. v may be the first columns of
     * k, as in latent attention: bind the address of k and give the strides of k, in numbers. Then path decode reads
     * the rows of a headDim over 256 once. */
    VkfTensor v;
    VkfTensor o; /* [batch, queryHeads, queryRows, valueDim]; elements must not overlap */

    float scale;   /* 0 = 1 / sqrt(headDim) */
    float softcap; /* 0 = off */

    VkfBool causal; /* the same as a window with right = 0 */
    VkfAlignment alignment;
    VkfWindow window;

    /* Per-sequence key lengths: binding keyLengths holds int32 [batch], read on the device. Keys at
     * and past the length are dropped, and the bottom-right alignment uses the length for Nk.
     * Values outside [0, keys] are clamped into it. */
    VkfBool keyLengths;

    /* lse, natural logarithm, fp32, dense [batch, queryHeads, queryRows]. */
    VkfBool lse;

    VkfBroadcastArray bias; /* of F32, F16 or BF16; -infinity gives a key no weight */
    VkfBroadcastArray mask; /* of BOOL8 or BOOL1; not on path standard */
    /* ALiBi: scores fall by a slope times the distance between row i and key j, |i + Nk - Nq - j| whatever the
     * alignment, Nk being the sequence's own length. The usual slopes of H heads are 2^(-8 (h + 1) / n) for the first n
     * of them, the largest power of two in H, and 2^(-4 (2 (h - n) + 1) / n) for the others: 1/2, 1/4, ... 1/256 for
     * eight. */
    VkfBool alibi;
    VkfBool alibiCustom; /* beside alibi: slopes from binding alibiSlopes, fp32 [queryHeads] */
    VkfBool sinks;       /* binding sinks, fp32 [queryHeads]: a logit that joins the softmax of every row of its head,
                            neither scaled nor capped nor masked, and has no value. -infinity = none. */
    /* Sequences of any lengths, one after the other. Each is a problem of its own: masks, bias and ALiBi count rows and
     * keys from its beginning, and its own lengths stand for Nq and Nk. `batch` is their number; queryRows and keys are
     * those of all of them together, and so are the rows of q, k, v and o, which have a batch of 1, whatever their
     * batchStride: [total rows, heads, dim] has rowStride = heads * dim and headStride = dim. lse is dense [queryHeads,
     * queryRows].
     *
     * Bindings cuSeqlensQ and cuSeqlensK say on the device where sequences begin and end, as FlashAttention's
     * cu_seqlens do: int32 [batch + 1], sequence b having rows cuSeqlensQ[b] to cuSeqlensQ[b + 1] - 1, and keys alike.
     * A sequence may have no rows, or no keys. Three sequences of 2, 0 and 3 rows and 3, 2 and 4 keys, causal:
     *
     *     cuSeqlensQ 0 2 2 5       1 1 0 . . . . . .
     *     cuSeqlensK 0 3 5 9       1 1 1 . . . . . .
     *                              . . . . . 1 1 0 0
     *                              . . . . . 1 1 1 0
     *                              . . . . . 1 1 1 1
     *
     * Entries should not fall from one to the next. What lies outside of [0, queryRows] or [0, keys] is clamped, a
     * sequence that ends before it begins is empty, and rows and keys past longestRows and longestKeys of a sequence do
     * not exist, so that nothing outside of the tensors is read or written. Of rows that belong to no sequence o and
     * lse are unspecified, and so are those of rows that belong to several.
     *
     * keyLengths shortens sequences: min(length, keyLengths[b]). With paging, q and o alone are packed; k and v are
     * pages, `keys` is the most that a sequence has, keyLengths say how many it has, and there is no cuSeqlensK.
     *
     * Not on paths standard and key_outer, and not with a maskBlock or probabilities. */
    VkfBool packed;
    /* Binding documentIds, int32 [batch, keys], of packed keys [keys], gives each key's document, in any order and with
     * any numbers. A row sees the keys of its own alone, that of the key at i + Nk - Nq whatever the alignment, Nk
     * being the sequence's own length; a row before the first key sees nothing. Not on path standard. With Nq = Nk = 5
     * and documents 7 7 3 3 3:
     *
     *     1 1 0 0 0
     *     1 1 0 0 0
     *     0 0 1 1 1
     *     0 0 1 1 1
     *     0 0 1 1 1
     */
    VkfBool documents;
    /* Binding probabilities: probabilities exp(s - lse), 0 exactly for dropped keys; fp32, dense [batch, queryHeads, W,
     * keys], W = queryRows or probabilityRows. A row sums to 1, beside a sink to less. Scores are made once more from q and
     * k after o and lse are there, in fp32, and lse is rounded to fp32, so that probabilities are off by about |lse| 2^-23 of
     * their value; all rows on path standard are written by its softmax and are not. */
    VkfBool probabilities;
    VkfPaging paging;
    VkfDropout dropout;

    /* Block-sparse mask: rows and keys of a block, a multiple of 16 from 16 to 65536; 0 = off. Binding
     * blockMask says which blocks are open, as vkfBlockMaskLayout tells; keys of closed ones are dropped.
     * On the fused paths alone. */
    uint32_t maskBlock;
    uint32_t kvSplits; /* 0 = chosen by the library; n = the keys are split into n parts, computed side by side
                          in scratch memory and merged. At most 1024; over 1 not on paths standard and
                          key_outer, and not without storageBuffer16BitAccess. */

    VkfPrecision precision;

    /* Most operations (multiply and add counted apart) in one step of the plan, so that no single
     * submission runs into a watchdog. 0 = VKF_DEFAULT_STEP_OPERATIONS, on path coopmat
     * VKF_DEFAULT_MATRIX_STEP_OPERATIONS. */
    uint32_t reserved; /* 0 */
    uint64_t maxStepOperations;

    /* Words of the block mask from one sequence's part to the next, and from one query head's; 0 = all have
     * the same. At most 2^32 - 1. */
    uint64_t blockMaskBatchStride;
    uint64_t blockMaskHeadStride;

    /* Of packed sequences: rows and keys of the longest one; 0 = not known. For them tiles and splits are chosen, else
     * for the mean, and so far reach bias and mask, logically [batch, queryHeads, longestRows, longestKeys], else as
     * far as the rows and keys of all. */
    uint32_t longestRows;
    uint32_t longestKeys;
    VkfBroadcastArray dropoutMask; /* of BOOL8 or BOOL1: says which probabilities are kept, in the place of dropout's generator.
                            Those are multiplied by 1 / (1 - dropout.probability) as well. */
    /* Beside probabilities: 0 = probabilities of all rows; n = of n chosen ones. Binding probabilityRows, int32 [probabilityRows], read on
     * the device, has their numbers, the same for all sequences and heads, in any order and repeated if wished; one
     * outside of [0, queryRows) gives a row of zeros. Of a causal mask with Nq = Nk = 4 and numbers 3 1 1 9, scores
     * being equal, the probabilities are
     *
     *     1/4 1/4 1/4 1/4
     *     1/2 1/2  0   0
     *     1/2 1/2  0   0
     *      0   0   0   0
     */
    uint32_t probabilityRows;
    uint32_t reserved2; /* 0 */

    /* Beside bias: one factor for each query head, which multiplies the elements of the bias. Binding biasFactors, fp32
     * [queryHeads], read on the device. An element of -infinity gives its key no weight whatever the factor is; the
     * other products are those of fp32. */
    VkfBool biasFactors;
    uint32_t reserved3; /* 0 */
} VkfProblem;

/* Two seconds on a device that reaches half a TFLOP/s, the watchdog's usual limit. */
#define VKF_DEFAULT_STEP_OPERATIONS UINT64_C(1000000000000)
/* The same on one that reaches ten with its matrix units. */
#define VKF_DEFAULT_MATRIX_STEP_OPERATIONS UINT64_C(20000000000000)

/* VKF_SUCCESS if the problem is well formed and within what this version can do on some device.
 * Thread-safe, needs no device. */
VKF_API VkfResult vkfCheckProblem(const VkfProblem* problem, VkfMessage* message);

/* The strides of one of the problem's tensors with the dense default filled in, and how far it
 * reaches. Of k and v in pages, batch is the number of pages and rows those of a page. */
typedef enum VkfTensorRole VKF_INT32_ENUM {
    VKF_TENSOR_Q = 0,
    VKF_TENSOR_K = 1,
    VKF_TENSOR_V = 2,
    VKF_TENSOR_O = 3,
    VKF_TENSOR_FORCE_INT32 = 0x7fffffff
} VkfTensorRole;

typedef struct VkfTensorLayout {
    VkfType type;
    uint32_t batch;
    uint32_t heads;
    uint32_t rows;
    uint32_t dim;
    uint32_t reserved;
    uint64_t batchStride;
    uint64_t headStride;
    uint64_t rowStride;
    uint64_t elements; /* from the first to one past the last that is touched; 0 if empty. vkfStoredBytes tells
                          their bytes. */
} VkfTensorLayout;

/* For a problem that vkfCheckProblem accepts. Thread-safe. */
VKF_API VkfTensorLayout vkfTensorLayout(const VkfProblem* problem, VkfTensorRole role);

/* A block mask in memory: uint32 words, logically [batch, queryHeads, rowBlocks, rowWords], of which the inner two
 * are dense. Bit b of word w says whether the rows of its row of blocks see the keys of block 32 w + b, from
 * (32 w + b) maskBlock on: 1 = open. Bits past keyBlocks are ignored. Other masks hold inside open blocks too. With
 * 100 rows, 150 keys and maskBlock 64 there are 2 x 3 blocks, the last ones of each row and column cut short:
 *
 *     1 0 1       word 0x00000005      rows 0 to 63 see keys 0 to 63 and 128 to 149
 *     0 1 0       word 0x00000002      rows 64 to 99 see keys 64 to 127
 *
 * Time falls with the share of open blocks. The fused paths visit no tile of keys without an open block, and
 * choose tiles that divide blocks; where they find none, a tile that lies in several blocks is visited if one of them
 * is open, and each block looked at. Tiles of few rows and keys are slow, so blocks of 64 and more, powers of two,
 * serve best. */
typedef struct VkfBlockMaskLayout {
    uint32_t rowBlocks; /* queryRows / maskBlock, rounded up; 0 without a block mask */
    uint32_t keyBlocks; /* keys / maskBlock, rounded up */
    uint32_t rowWords;  /* keyBlocks / 32, rounded up */
    uint32_t reserved;
    uint64_t words; /* from the first to one past the last that is read; 0 if none is */
} VkfBlockMaskLayout;

/* For a problem that vkfCheckProblem accepts. Thread-safe. */
VKF_API VkfBlockMaskLayout vkfBlockMaskLayout(const VkfProblem* problem);

/* For who has the lengths of packed sequences on the host: that both start at 0, never fall, end at queryRows and keys,
 * and that no sequence is longer than longestRows and longestKeys. cuSeqlensK is not looked at with paging. For a
 * problem that vkfCheckProblem accepts; one that is not packed passes. Thread-safe. */
VKF_API VkfResult vkfCheckSequences(const VkfProblem* problem, const int32_t* cuSeqlensQ, const int32_t* cuSeqlensK,
                                    VkfMessage* message);

/* Bytes of the problem's bias or mask from the first to one past the last that is read, in whole words of 4; 0 if none
 * is. For a problem that vkfCheckProblem accepts. Thread-safe. */
VKF_API uint64_t vkfBroadcastBytes(const VkfProblem* problem, const VkfBroadcastArray* bias);

/* Bytes of one element of F32, F16 or BF16; 0 for other types. */
VKF_API size_t vkfTypeBytes(VkfType type);

/* Elements that are stored together: 32 of block types, 1 of F32, F16 and BF16; 0 for other types. */
VKF_API uint32_t vkfBlockElements(VkfType type);

/* Bytes of that many neighbouring elements, a multiple of vkfBlockElements; 0 for other types than it knows. */
VKF_API uint64_t vkfStoredBytes(VkfType type, uint64_t elements);

/* "f32", "f16", ...; never NULL. */
VKF_API const char* vkfTypeName(VkfType type);

/* "auto", "scalar", ...; never NULL. */
VKF_API const char* vkfPathName(VkfPath path);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * vkflash/append_problem.h: appends new rows to a cache of K and V. The library and the CPU reference share this
 * description, which needs no Vulkan. vkfCreateAppend and vkfCmdAppend (append.h) run it on the device.
 * vkfReferenceAppend (reference.h) runs it on the CPU.
 *
 * Binding lengths, int32 [batch], read on the device, says how many rows the cache of each sequence holds. New row i of
 * sequence b stands at position p = lengths[b] + i. With VKF_USE_CU_SEQLENS, each sequence has a number of new rows of
 * its own: one append serves prompts and single tokens. The append does the following:
 *
 * 1. It rotates the new row of k by its position, if VkfRotary::pairs is not 0. With VKF_USE_QUERIES it rotates a row
 *    of q too. It never rotates v. With VKF_USE_ROTARY_POSITIONS each row has a position of its own to rotate by, as
 *    in draft trees, whose rows at the same depth stand at the same position.
 * 2. It converts the row to the cache's type.
 * 3. It writes the row to row p of the sequence's cache.
 * 4. It writes newLengths[b] = min(lengths[b] + rows, keys), with VKF_USE_NEW_LENGTHS.
 *
 * Nothing is written outside of the cache:
 *
 * - Lengths outside of [0, keys] are clamped into it.
 * - A row at position `keys` or past it is dropped.
 * - A row is dropped if its entry of the block table is not in [0, pages).
 * - Entries of cuSeqlens outside of [0, rows] are clamped into it. A packed row of no sequence is dropped, in q too.
 *
 * q is rotated even where rows of k and v are dropped.
 *
 * One command buffer can be a decode step, and can be submitted again and again. Each layer appends at `lengths`, and
 * then attends with newLengths as its keyLengths. After the last layer vkfCmdAdvance makes lengths equal to newLengths.
 *
 * The rules for all structs in problem.h hold here too: zero is the default, structSize, bits enable arrays, the short
 * names of errors.
 */
#ifndef VKFLASH_APPEND_PROBLEM_H
#define VKFLASH_APPEND_PROBLEM_H

#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which two elements of a head make up pair t. dim is VkfRotary::dim. */
typedef enum VkfRotaryPairs VKF_INT32_ENUM {
    VKF_ROTARY_OFF = 0,         /* nothing is rotated */
    VKF_ROTARY_HALVES = 1,      /* t and t + dim / 2, as in GPT-NeoX and most published checkpoints */
    VKF_ROTARY_INTERLEAVED = 2, /* 2 t and 2 t + 1 */
    VKF_ROTARY_FORCE_INT32 = 0x7fffffff
} VkfRotaryPairs;

/* Rotary position embedding (Su et al. 2021, arXiv 2104.09864). At position p the elements (x, y) of pair t become
 *
 *     (x cos a - y sin a, x sin a + y cos a)        a = p * base^(-2 t / dim)
 *
 * in fp32. The kernel's own cos and sin are off by about 1e-7 at any position. */
typedef struct VkfRotary {
    /* The kind of pairs. 0 = no rotation: all other fields must be 0 then, else INVALID_ARGUMENT. Values outside of the
     * enumeration are INVALID_ARGUMENT. */
    VkfRotaryPairs pairs;
    /* Number of elements at the beginning of a head that are rotated. The others stay. 0 = headDim. Must be even and at
     * most headDim, else INVALID_ARGUMENT. */
    uint32_t dim;
    /* Base of the angles. 0 = 10000. Must be finite and over 1, else INVALID_ARGUMENT. */
    float base;
    /* Rows of bindings cos and sin, fp32 [tableRows, dim / 2]: row p is for position p. A position past the last row
     * takes the last row. Zero without VKF_USE_ROTARY_TABLES, and only then, else INVALID_ARGUMENT. Without these
     * tables the kernel computes cos and sin itself. */
    uint32_t tableRows;
    /* Room for later versions: 0, else INVALID_ARGUMENT. */
    uint64_t reserved[4];
} VkfRotary;

/* One append. VkfTensor (problem_types.h) describes strides and their limits.
 *
 *     tensors                  types
 *     newK, newV, q, rotatedQ  F32, F16, BF16
 *     k, v                     F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, F8_E4M3, F8_E5M2
 *
 * Another type is UNSUPPORTED. Types other than F32 need storageBuffer16BitAccess: vkfCreateAppend returns UNSUPPORTED
 * without it.
 *
 * Conversions round to nearest, ties to even, as vkfStoreElement (reference.h) does. Block types are made as by
 * vkfQuantizeBlocks (reference.h), in blocks of one row. With VKF_USE_KV_SCALES, elements of fp8 types are divided in
 * fp32 by the number of their head first, after the rotation. Binding kvScales and the fields k.scales and v.scales are
 * those of the calls that read the cache. If a scale is outside [2^-100, 2^100], the stored elements are unspecified.
 *
 * `rows`, `batch`, VKF_USE_NEW_LENGTHS and the strides of newK, newV, q and rotatedQ lead to no new pipelines. One
 * exception: with VKF_USE_ROTARY_POSITIONS, other head strides of newK and q do. Another value of any other field leads
 * to new pipelines. */
typedef struct VkfAppendProblem {
    size_t structSize; /* sizeof(VkfAppendProblem) */
    /* Number of sequences. 0 is INVALID_ARGUMENT. At most 65535, else UNSUPPORTED. batch * kvHeads * rows and
     * batch * queryHeads * rows are at most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t batch;
    uint32_t kvHeads; /* heads of newK, newV, k and v; 0 is INVALID_ARGUMENT; at most 65535, else UNSUPPORTED */
    /* New rows of each sequence. 0 is INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. With
     * VKF_USE_CU_SEQLENS: the new rows of all sequences, one after the other. Binding cuSeqlens, int32 [batch + 1],
     * says where each begins: sequence b has rows cuSeqlens[b] to cuSeqlens[b + 1] - 1. newK, newV, q and rotatedQ then
     * have a batch of 1, and the limits above hold for a batch of 1. */
    uint32_t rows;
    /* Rows of the cache for each sequence: VkfProblem::keys of the calls that read the cache. With 0, every new row is
     * dropped. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t keys;
    uint32_t headDim;  /* columns of newK, k, q and rotatedQ; 0 is INVALID_ARGUMENT; at most 1024, else UNSUPPORTED */
    uint32_t valueDim; /* columns of newV and v; 0 = headDim; at most 1024, else UNSUPPORTED */
    /* Heads of q, which is rotated too. Zero without VKF_USE_QUERIES, and only then, else INVALID_ARGUMENT. At most
     * 65535, else UNSUPPORTED. */
    uint32_t queryHeads;
    /* The arrays that the append has besides newK, newV, k, v and lengths: VKF_USE_BLOCK_TABLE, VKF_USE_CU_SEQLENS,
     * VKF_USE_KV_SCALES, VKF_USE_QUERIES, VKF_USE_NEW_LENGTHS, VKF_USE_ROTARY_TABLES, VKF_USE_ROTARY_POSITIONS. 0 =
     * none. */
    VkfUse use;
    VkfTensor newK;     /* new rows of k: [batch, kvHeads, rows, headDim] */
    VkfTensor newV;     /* new rows of v: [batch, kvHeads, rows, valueDim] */
    VkfTensor k;        /* the cache of k: [batch, kvHeads, keys, headDim], with paging [pages, kvHeads, pageSize,
                           headDim]. Elements must not overlap, else INVALID_ARGUMENT. */
    VkfTensor v;        /* the cache of v: as k, with valueDim columns; its type may differ from k's */
    VkfTensor q;        /* queries: [batch, queryHeads, rows, headDim]; leave zero without VKF_USE_QUERIES */
    VkfTensor rotatedQ; /* rotated queries: the shape of q; leave zero without VKF_USE_QUERIES. Elements must not
                           overlap, else INVALID_ARGUMENT. The rotation is in place if q and rotatedQ have the same type
                           and strides, and are bound to the same address. */
    VkfPaging paging;   /* zero without VKF_USE_BLOCK_TABLE; as in VkfProblem, but an entry of the table that is not
                           in [0, pages) drops its rows */
    VkfRotary rotary;   /* of k and q; zeroed = none */
} VkfAppendProblem;

/* All functions of this header are thread-safe, need no device, allocate nothing and do not block. */

/* Checks that the append is well formed.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT, VKF_ERROR_STRUCT_SIZE, VKF_ERROR_UNSUPPORTED, as the fields say. The message
 * names the first field that is wrong. */
VKF_API VkfResult vkfCheckAppend(const VkfAppendProblem* problem, VkfMessage* message);

/* One of the append's tensors. */
typedef enum VkfAppendRole VKF_INT32_ENUM {
    VKF_APPEND_NEW_K = 0,
    VKF_APPEND_NEW_V = 1,
    VKF_APPEND_K = 2, /* with pages, the layout's batch is the number of pages */
    VKF_APPEND_V = 3, /* with pages, the layout's batch is the number of pages */
    VKF_APPEND_Q = 4,
    VKF_APPEND_ROTATED_Q = 5,
    VKF_APPEND_FORCE_INT32 = 0x7fffffff
} VkfAppendRole;

/* Fills *layout with the layout of one of the append's tensors, defaults filled in: zeros for q and rotatedQ without
 * VKF_USE_QUERIES. The caller sets its structSize.
 *
 * Errors: those of vkfCheckAppend; VKF_ERROR_INVALID_ARGUMENT if `layout` is null or `role` is not a VkfAppendRole;
 * VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetAppendTensorLayout(const VkfAppendProblem* problem, VkfAppendRole role, VkfTensorLayout* layout,
                                           VkfMessage* message);

/* Returns the bytes of VKF_ARRAY_LENGTHS, VKF_ARRAY_NEW_LENGTHS, VKF_ARRAY_BLOCK_TABLE, VKF_ARRAY_COS, VKF_ARRAY_SIN,
 * VKF_ARRAY_CU_SEQLENS, VKF_ARRAY_ROTARY_POSITIONS or VKF_ARRAY_KV_SCALES.
 * 0 = not used: the append does not have the array, or vkfCheckAppend refuses it. */
VKF_API uint64_t vkfGetAppendArrayBytes(const VkfAppendProblem* problem, VkfArray array);

/* Returns a static string: "newK", ... Never NULL; "unknown role" for other values. */
VKF_API const char* vkfAppendRoleString(VkfAppendRole role);

/* Returns a static string: "halves", ... Never NULL; "unknown pairs" for other values. */
VKF_API const char* vkfRotaryPairsString(VkfRotaryPairs pairs);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * vkflash/append.h: what it is to append to a cache of K and V, shared by the library and the CPU reference. It
 * knows no Vulkan.
 *
 * Each sequence of a batch has a length, int32, read on the device: the rows that its cache holds. New row i of it
 * stands at position length + i, is rotated if asked (k, and q beside it; v never), converted to the cache's type and
 * written to that row of the cache. Lengths outside [0, keys] are clamped into it. A row at position `keys` or past it,
 * or in a page that is none, is dropped: nothing is written out of bounds.
 *
 * A decode step is then one command buffer that can be submitted again and again: each layer appends at `lengths`
 * and attends with newLengths, which the append wrote, as its keyLengths; after the last layer vkfCmdAdvance
 * brings lengths to newLengths.
 */
#ifndef VKFLASH_APPEND_H
#define VKFLASH_APPEND_H

#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which two elements of a head make up pair t. */
typedef enum VkfRotaryPairs VKF_INT32_ENUM {
    VKF_ROTARY_OFF = 0,
    VKF_ROTARY_HALVES = 1,      /* t and t + dim / 2, as GPT-NeoX and most published checkpoints have it */
    VKF_ROTARY_INTERLEAVED = 2, /* 2 t and 2 t + 1 */
    VKF_ROTARY_FORCE_INT32 = 0x7fffffff
} VkfRotaryPairs;

/* Rotary position embedding (Su et al. 2021, arXiv 2104.09864): at position p the elements (x, y) of pair t become
 *
 *     (x cos a - y sin a, x sin a + y cos a)        a = p * base^(-2 t / dim)
 *
 * in fp32, with cos and sin to about 1e-7 at any position, or as the caller's tables have them. */
typedef struct VkfRotary {
    VkfRotaryPairs pairs;
    uint32_t dim;       /* the first elements of a head, which are rotated, even; 0 = headDim. The others stay. */
    float base;         /* 0 = 10000; else over 1 */
    uint32_t tableRows; /* 0 = cos and sin are computed. Else bindings cos and sin, fp32 [tableRows, dim / 2], have
                           them, row p for position p; a position past the last row counts as the last. */
} VkfRotary;

/* Tensors are as those of VkfProblem. New rows and q are of type F32, F16 or BF16, and so is rotatedQ; k and v of those
 * types, of Q8_0 or Q4_0. Conversions round to nearest, ties to even, as vkfStoreElement tells; block types are made
 * as by vkfQuantizeBlocks, in blocks of one row. */
typedef struct VkfAppendProblem {
    size_t structSize;
    uint32_t batch;
    uint32_t kvHeads;
    uint32_t rows;       /* new rows of each sequence, at least 1 */
    uint32_t keys;       /* rows of the cache for each sequence: VkfProblem::keys of the calls that read it */
    uint32_t headDim;    /* at most 1024 */
    uint32_t valueDim;   /* 0 = headDim */
    uint32_t queryHeads; /* of q, which is rotated too; 0 = no q */
    uint32_t reserved;   /* 0 */
    VkfTensor newK;      /* [batch, kvHeads, rows, headDim] */
    VkfTensor newV;      /* [batch, kvHeads, rows, valueDim] */
    VkfTensor k;         /* the cache: [batch, kvHeads, keys, headDim], or pages; elements must not overlap */
    VkfTensor v;         /* [batch, kvHeads, keys, valueDim], or pages */
    VkfTensor q;         /* [batch, queryHeads, rows, headDim] */
    VkfTensor rotatedQ;  /* the same; elements must not overlap. In place if it is bound where q is, with the same
                            type and strides. */
    VkfPaging paging;    /* as VkfProblem's. An entry of the table that is not in [0, pages) drops its rows. */
    VkfRotary rotary;
} VkfAppendProblem;

/* VKF_SUCCESS if the problem is well formed. Thread-safe, needs no device. */
VKF_API VkfResult vkfCheckAppend(const VkfAppendProblem* problem, VkfMessage* message);

/* The problem's tensors with defaults filled in; those of q are zero without q. vkfStoredBytes tells their bytes. */
typedef struct VkfAppendLayout {
    VkfTensorLayout newK;
    VkfTensorLayout newV;
    VkfTensorLayout k;
    VkfTensorLayout v;
    VkfTensorLayout q;
    VkfTensorLayout rotatedQ;
} VkfAppendLayout;

/* For a problem that vkfCheckAppend accepts, else all zeros. Thread-safe. */
VKF_API VkfAppendLayout vkfAppendLayout(const VkfAppendProblem* problem);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * vkflash/merge.h: what a merge of partial results is, shared by the library and the CPU reference. It
 * knows no Vulkan.
 *
 * Attention over some of the keys leaves o and lse. Results over any number of such parts, made by whatever
 * computed them, are one result over all keys:
 *
 *     lse = ln sum exp(lse_k)        o = sum exp(lse_k - lse) o_k
 *
 * lse is the natural logarithm. A part with lse = -infinity is empty and counts nothing, whatever its o holds, NaN
 * included; an lse of +infinity, which some libraries give an empty row, counts as -infinity. Where all parts
 * are empty, o = 0 and lse = -infinity. So a long prompt shared by many requests can be attended to once, and
 * keys may lie on several devices.
 */
#ifndef VKFLASH_MERGE_H
#define VKFLASH_MERGE_H

#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts lie in one array, at a fixed distance. For results of two attention calls with B = 2, H = 8, Nq = 1, Dv =
 * 128, all dense, the second call's o is bound 2 * 8 * 1 * 128 elements behind the first's, its lse 2 * 8 * 1
 * floats, and parts = 2, batch = 2, heads = 8, rows = 1, dim = 128, all else zero. */
typedef struct VkfMergeProblem {
    size_t structSize;
    uint32_t parts; /* at least 1 */
    uint32_t batch;
    uint32_t heads;         /* query heads */
    uint32_t rows;          /* query rows */
    uint32_t dim;           /* valueDim of the parts */
    VkfBool lse;            /* lse is an output too: fp32, dense [batch, heads, rows] */
    VkfTensor part;         /* each o_k: [batch, heads, rows, dim], of type F32, F16 or BF16 */
    VkfTensor o;            /* the same; elements must not overlap */
    uint64_t partStride;    /* elements from one o_k to the next; 0 = as far as one reaches */
    uint64_t lsePartStride; /* floats from one lse_k, dense [batch, heads, rows], to the next; 0 = batch * heads *
                               rows */
} VkfMergeProblem;

/* VKF_SUCCESS if the problem is well formed. Thread-safe, needs no device. */
VKF_API VkfResult vkfCheckMerge(const VkfMergeProblem* problem, VkfMessage* message);

/* The problem's tensors with defaults filled in. */
typedef struct VkfMergeLayout {
    VkfTensorLayout part; /* of one part */
    VkfTensorLayout o;
    uint64_t partStride;
    uint64_t lsePartStride;
    uint64_t partElements; /* from the first of all parts to one past the last; 0 if empty */
    uint64_t lseElements;  /* the same of lse_k */
} VkfMergeLayout;

/* For a problem that vkfCheckMerge accepts, else all zeros. Thread-safe. */
VKF_API VkfMergeLayout vkfMergeLayout(const VkfMergeProblem* problem);

#ifdef __cplusplus
}
#endif

#endif

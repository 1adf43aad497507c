/* SPDX-License-Identifier: MIT
 *
 * vkflash/merge_problem.h: merges partial results of attention. The library and the CPU reference share this
 * description, which needs no Vulkan. vkfCreateMerge and vkfCmdMerge (merge.h) run it on the device,
 * vkfReferenceMerge on the CPU.
 *
 * Attention over some of the keys gives a partial result: o_k and lse_k. Partial results over disjoint keys, made by
 * any library, merge into one result over all keys:
 *
 *     lse = ln sum exp(lse_k)        o = sum exp(lse_k - lse) o_k
 *
 * lse is the natural logarithm; with VKF_USE_BASE_2_LSE each lse_k is log2. Two uses: many requests share a long
 * prompt, which is attended to once; or the keys lie on several devices.
 *
 * - A partial result with lse_k = -infinity is empty. It adds nothing, whatever its o_k holds, NaN included.
 * - An lse_k of +infinity counts as -infinity. Some libraries give it to an empty row.
 * - Where all partial results are empty, o = 0 and lse = -infinity.
 * - An lse_k that is NaN makes its row NaN.
 *
 * The rules for all structs in problem.h hold here too: zero is the default, structSize, bits enable arrays, the short
 * names of errors.
 */
#ifndef VKFLASH_MERGE_PROBLEM_H
#define VKFLASH_MERGE_PROBLEM_H

#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One merge. All partial results lie in one array, at a fixed distance.
 *
 * Example: two attention calls with B = 2, H = 8, Nq = 1, Dv = 128, all dense.
 *
 * - The second call's o is bound 2 * 8 * 1 * 128 elements after the first call's o.
 * - The second call's lse is bound 2 * 8 * 1 floats after the first call's lse.
 * - The merge has structSize, partials = 2, batch = 2, heads = 8, rows = 1 and dim = 128. All else is 0.
 *
 * Types other than F32 need storageBuffer16BitAccess: vkfCreateMerge returns UNSUPPORTED without it.
 *
 * The types of partial and o, and `use`, are specialization constants: another value leads to a new pipeline. `dim` and
 * `partials` do so only in large steps: the kernel's shape takes dim / 4 and partials / 8, rounded up to powers of two.
 * All other fields are push constants. */
typedef struct VkfMergeProblem {
    size_t structSize; /* sizeof(VkfMergeProblem) */
    /* Number of partial results. 0 is INVALID_ARGUMENT. At most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t partials;
    /* Number of sequences. 0 is INVALID_ARGUMENT. batch * heads * rows is at most 2^30 - 65536, else UNSUPPORTED. */
    uint32_t batch;
    uint32_t heads; /* query heads; 0 makes an empty output, without an error */
    uint32_t rows;  /* query rows; 0 makes an empty output */
    /* Columns of o and of the partial results: VkfProblem::valueDim. 0 is INVALID_ARGUMENT. At most 65536, else
     * UNSUPPORTED. */
    uint32_t dim;
    /* VKF_USE_LSE = lse is an output too. VKF_USE_BASE_2_LSE = each lse_k is a logarithm to base 2. */
    VkfUse use;
    /* Each o_k: [batch, heads, rows, dim], of type F32, F16 or BF16, else UNSUPPORTED. */
    VkfTensor partial;
    /* The merged o: [batch, heads, rows, dim], of type F32, F16 or BF16, else UNSUPPORTED. The type may differ from
     * that of `partial`. Elements must not overlap, else INVALID_ARGUMENT. */
    VkfTensor o;
    /* Elements from one o_k to the next. 0 = as many as one o_k spans. All of them together span at most
     * 2^62 - 1 elements, else INVALID_ARGUMENT. */
    uint64_t partialStride;
    /* Floats from one lse_k to the next. Each lse_k is fp32, dense [batch, heads, rows]. 0 = batch * heads * rows.
     * Limit as for partialStride. */
    uint64_t lsePartialStride;
} VkfMergeProblem;

/* All functions of this header are thread-safe, need no device, allocate nothing and do not block. */

/* Checks that the merge is well formed.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT, VKF_ERROR_STRUCT_SIZE, VKF_ERROR_UNSUPPORTED, as the fields say. The message
 * names the first field that is wrong. */
VKF_API VkfResult vkfCheckMerge(const VkfMergeProblem* problem, VkfMessage* message);

/* One of the merge's tensors. */
typedef enum VkfMergeRole VKF_INT32_ENUM {
    VKF_MERGE_PARTIAL = 0, /* one o_k */
    VKF_MERGE_O = 1,       /* the merged o */
    VKF_MERGE_FORCE_INT32 = 0x7fffffff
} VkfMergeRole;

/* Fills *layout with the layout of one of the merge's tensors, defaults filled in. The caller sets its structSize.
 *
 * Errors: those of vkfCheckMerge; VKF_ERROR_INVALID_ARGUMENT if `layout` is null or `role` is not a VkfMergeRole;
 * VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetMergeTensorLayout(const VkfMergeProblem* problem, VkfMergeRole role, VkfTensorLayout* layout,
                                          VkfMessage* message);

/* Returns the bytes of VKF_ARRAY_LSE or VKF_ARRAY_PARTIAL_LSE, from the first one to one past the last one that is read
 * or written. 0 = not used: the merge does not have the array, or vkfCheckMerge refuses it. */
VKF_API uint64_t vkfGetMergeArrayBytes(const VkfMergeProblem* problem, VkfArray array);

/* How all partial results of a merge lie in memory, defaults filled in. */
typedef struct VkfMergeLayout {
    size_t structSize;
    uint64_t partialStride;    /* elements from one o_k to the next */
    uint64_t lsePartialStride; /* floats from one lse_k to the next */
    uint64_t partialElements;  /* elements from the first of all o_k to one past the last; 0 if empty */
    uint64_t lseElements;      /* floats from the first of all lse_k to one past the last; 0 if empty */
} VkfMergeLayout;

/* Fills *layout. The caller sets its structSize.
 *
 * Errors: those of vkfCheckMerge; VKF_ERROR_INVALID_ARGUMENT if `layout` is null; VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetMergeLayout(const VkfMergeProblem* problem, VkfMergeLayout* layout, VkfMessage* message);

/* Returns a static string: "partial" or "o". Never NULL; "unknown role" for other values. */
VKF_API const char* vkfMergeRoleString(VkfMergeRole role);

#ifdef __cplusplus
}
#endif

#endif

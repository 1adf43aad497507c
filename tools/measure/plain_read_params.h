/* SPDX-License-Identifier: MIT
 *
 * What plain_read.comp and the program that runs it must agree on. */
#ifndef VKF_PLAIN_READ_PARAMS_H
#define VKF_PLAIN_READ_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
namespace vkf::shared {
using PlainReadAddress = uint64_t;
using PlainReadCount = uint32_t;
#else
#define PlainReadAddress uvec2
#define PlainReadCount uint
#endif

#define VKF_READ_WORKGROUP_SIZE 512
#define VKF_READS 8
#define VKF_READ_WORKGROUP_WORDS (VKF_READ_WORKGROUP_SIZE * VKF_READS)

struct PlainReadParams {
    PlainReadAddress array[2];
    PlainReadCount words[2];   /* 16-byte words in each array */
    PlainReadCount workgroups; /* workgroups for the first array; the others read the second array */
    PlainReadCount reserved;
};

#ifdef __cplusplus
static_assert(sizeof(PlainReadParams) == 32);
} // namespace vkf::shared
#endif

#endif

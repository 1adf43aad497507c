/* SPDX-License-Identifier: MIT
 *
 * vkflash/types.h: version, export macro, result codes and messages.
 * Everything else in the public interface includes this file. It knows no Vulkan.
 */
#ifndef VKFLASH_TYPES_H
#define VKFLASH_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* The build reads the version from these three lines; it is written nowhere else. */
#define VKF_VERSION_MAJOR 0
#define VKF_VERSION_MINOR 2
#define VKF_VERSION_PATCH 0

#if defined(VKF_SHARED) && defined(_WIN32)
#if defined(VKF_BUILDING)
#define VKF_API __declspec(dllexport)
#else
#define VKF_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define VKF_API __attribute__((visibility("default")))
#else
#define VKF_API
#endif

/* Every enumeration is an int32_t, so that any value a caller writes into one can be read and refused.
 * In C their last member sees to the size. */
#ifdef __cplusplus
#define VKF_INT32_ENUM : int32_t
#else
#define VKF_INT32_ENUM
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. Every function that can fail returns one of these, and takes an optional
 * VkfMessage that says in words which field was wrong and what the limit is. A call that fails has
 * changed nothing: no handle is written, no command is recorded. */
typedef enum VkfResult VKF_INT32_ENUM {
    VKF_SUCCESS = 0,
    VKF_ERROR_INVALID_ARGUMENT = -1,  /* a value that no device could accept */
    VKF_ERROR_UNSUPPORTED = -2,       /* a valid problem that this device, path or version cannot do */
    VKF_ERROR_MISSING_FEATURE = -3,   /* the device lacks, or was created without, a needed feature */
    VKF_ERROR_STRUCT_SIZE = -4,       /* structSize is not one that this version knows */
    VKF_ERROR_BINDING_TOO_SMALL = -5, /* scratch or a tensor's memory is shorter than the plan needs */
    VKF_ERROR_OUT_OF_HOST_MEMORY = -6,
    VKF_ERROR_OUT_OF_DEVICE_MEMORY = -7,
    VKF_ERROR_DEVICE_LOST = -8,
    VKF_ERROR_VULKAN = -9, /* another Vulkan call failed; the message names call and code */
    VKF_RESULT_FORCE_INT32 = 0x7fffffff
} VkfResult;

/* Room for one sentence, always terminated by a zero byte. Functions write it only when they fail.
 * The caller owns it, so errors need no allocation and no per-thread state. */
#define VKF_MESSAGE_CAPACITY 256
typedef struct VkfMessage {
    char text[VKF_MESSAGE_CAPACITY];
} VkfMessage;

/* A short English text for a result code ("unsupported"), never NULL. Thread-safe. */
VKF_API const char* vkfResultString(VkfResult result);

/* VKF_VERSION_MAJOR << 22 | MINOR << 12 | PATCH of the library that was linked. Thread-safe. */
VKF_API uint32_t vkfVersion(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * vkflash/tuning.h: checks tuning data, which an application passes in VkfContextCreateInfo::tuning.
 *
 * Tuning data names the tiles for classes of problems. `vkflash tune` measures on one device and writes the data; files
 * of several devices may be joined. It is text with one entry on each line. Tuning data changes times, never results:
 * the library accepts only entries that give correct results.
 *
 * - The library checks the entries of other devices and then ignores them. A device is its vendor ID, device ID and
 *   driver ID. The driver's version may differ from the measured one; the entries stay valid, but the fastest tile may
 *   be another one then.
 * - Among the entries about a problem, the library uses the first one whose tile fits the device's shared memory,
 *   invocations and subgroups. If there is none, the library chooses a tile itself.
 * - VkfProblem::kvSplits, if not 0, takes precedence over the key splits of an entry.
 *
 * Tuning data also holds element layouts of cooperative matrices (matrix_layout.h). A wrong element layout would change
 * results, so vkfCreateContext checks their form and does not use them. To use them:
 *
 * 1. Create a context with the tuning data, and read its layouts with vkfGetTuningMatrixLayout. Destroy the context.
 * 2. Test the layouts on the device, as matrix_layout.h says.
 * 3. Create another context with the tuning data, and with the layouts in VkfContextCreateInfo::matrixLayouts.
 *
 * vkf::host::Device (host.hpp) does all of this.
 */
#ifndef VKFLASH_TUNING_H
#define VKFLASH_TUNING_H

#include "vkflash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks tuning data for any device. vkfCreateContext returns the same results for the same text. Thread-safe, needs no
 * device.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or malformed text; the message has the line and the field),
 * VKF_ERROR_UNSUPPORTED (a format version other than 1), VKF_ERROR_OUT_OF_HOST_MEMORY. */
VKF_API VkfResult vkfCheckTuning(const char* tuning, size_t tuningBytes, VkfMessage* message);

/* Number of entries of VkfContextCreateInfo::tuning for the context's device. 0 for NULL. Thread-safe. */
VKF_API uint32_t vkfGetTuningEntryCount(VkfContext context);

/* Number of element layouts in VkfContextCreateInfo::tuning for the context's device. They do not count as entries. 0
 * for NULL. Thread-safe. */
VKF_API uint32_t vkfGetTuningMatrixLayoutCount(VkfContext context);

/* Copies element layout `index` of VkfContextCreateInfo::tuning for the context's device. vkfCheckMatrixLayout accepts
 * it, but nothing has tested it on the device. Thread-safe, allocates nothing.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or index at or above vkfGetTuningMatrixLayoutCount). */
VKF_API VkfResult vkfGetTuningMatrixLayout(VkfContext context, uint32_t index, VkfMatrixLayout* layout,
                                           VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif

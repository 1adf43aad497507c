/* SPDX-License-Identifier: MIT
 *
 * Runs an attention call in C. */
#ifndef ATTEND_H
#define ATTEND_H

#include "call.h"

VkfContext createContext(const Gpu* gpu);

/* Poisons o and lse, computes them, and waits for the device. */
void attend(const Gpu* gpu, VkfContext context, const Call* call);

VkfBinding bindingOf(const Array* array);

#endif

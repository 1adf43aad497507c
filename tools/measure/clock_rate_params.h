/* SPDX-License-Identifier: MIT
 *
 * What clock_rate.comp and the program that runs it must agree on. */
#ifndef VKF_CLOCK_RATE_PARAMS_H
#define VKF_CLOCK_RATE_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
namespace vkf::shared {
using ClockRateAddress = uint64_t;
#else
#define ClockRateAddress uvec2
#endif

#define VKF_CLOCK_RATE_INVOCATIONS 32
/* Turns of 16 dependent operations with 4 cycles each on an H200: 41,000 cycles, 21 us at 1980 MHz. */
#define VKF_CLOCK_RATE_TURNS 640

struct ClockRateParams {
    ClockRateAddress result;
};

#ifdef __cplusplus
struct ClockRateResult {
    uint32_t cycles;
    float last; /* end of the chain; keeps the compiler from removing it */
};
static_assert(sizeof(ClockRateParams) == 8);
} // namespace vkf::shared
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * Limits of scores in kernels. src/problem/score_limits.hpp has them for the reference, which includes no shader. */
#ifndef VKF_SCORE_LIMITS_H
#define VKF_SCORE_LIMITS_H

/* 2^96. A slope of ALiBi counts as this one at most, so that its product with any distance is finite. */
#define VKF_LARGEST_SLOPE 7.922816251426433759e28f

/* Natural scores below this size have a whole number of log2 as running maximum, if probabilities are rounded. Larger
 * ones have too few bits for that. */
#define VKF_LARGEST_WHOLE_MAXIMUM 4096.0f

#endif

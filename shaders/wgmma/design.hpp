// SPDX-License-Identifier: MIT
//
// Choices that were measured against each other. A compiler flag may set each of them.
#ifndef VKF_WGMMA_DESIGN_HPP
#define VKF_WGMMA_DESIGN_HPP

// Whether the next tile is in flight to the producer's registers while it waits for a slot. Otherwise cp.async copies it
// to its slot directly.
#ifndef VKF_FETCHES_AHEAD
#define VKF_FETCHES_AHEAD 0
#endif

// A tile is divided into so many slices of keys. The probabilities of a slice are made while the product p v of the
// slice before it runs.
#ifndef VKF_SLICES
#define VKF_SLICES 1
#endif

// Whether m moves in every tile. Otherwise m moves only where a score exceeds it by more than RESCALE_THRESHOLD.
#ifndef VKF_RESCALES_ALWAYS
#define VKF_RESCALES_ALWAYS 0
#endif

// Of 16 exponentials of full tiles, so many are polynomials.
#ifndef VKF_POLYNOMIALS
#define VKF_POLYNOMIALS 0
#endif

// For experiments only, with wrong results: bit 0 leaves out copies, bit 1 the exponentials.
#ifndef VKF_LEAVES_OUT
#define VKF_LEAVES_OUT 0
#endif

#endif

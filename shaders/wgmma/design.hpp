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

// Whether the loop over full tiles starts the scores of the next tile right after the product p v of this tile.
#ifndef VKF_CHAINS_PRODUCTS
#define VKF_CHAINS_PRODUCTS 0
#endif

// Whether m moves in every tile. Otherwise m moves only where a score exceeds it by more than RESCALE_THRESHOLD.
#ifndef VKF_RESCALES_ALWAYS
#define VKF_RESCALES_ALWAYS 0
#endif

// Of 16 exponentials of full tiles, so many are polynomials.
#ifndef VKF_POLYNOMIALS
#define VKF_POLYNOMIALS 0
#endif

#endif

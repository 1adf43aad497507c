/* SPDX-License-Identifier: MIT
 *
 * Lists of tiles of the backward pass (backward/tile_lists.glsl): sizes, for the host and the kernels. */
#ifndef VKF_TILE_LISTS_H
#define VKF_TILE_LISTS_H

/* Words of 16 bytes of a list of up to `tiles` tiles, the first of which says where its parts end. */
#define VKF_LIST_WORDS(tiles) (1 + ((tiles) + 3) / 4)

/* The array of lists of a kernel is [maps, bands, owned tiles]. */
#define VKF_LIST_NUMBER(map, bands, band, owned_tiles, owned_tile)                                                     \
    (((map) * (bands) + (band)) * (owned_tiles) + (owned_tile))

/* Most tiles of a list: list_tiles.comp has seven words of shared memory for 32 of them. */
#define VKF_MAX_LIST_TILES 16384

/* VKF_ID_READ_ROWS: others may read all stored tiles. */
#define VKF_READS_ALL 0xffffffffu

#endif

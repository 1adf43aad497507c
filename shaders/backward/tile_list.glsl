// SPDX-License-Identifier: MIT
//
// A list of tiles in memory (backward/tile_lists.glsl).
#ifndef VKF_TILE_LIST_GLSL
#define VKF_TILE_LIST_GLSL

#include "shared/tile_lists.h"

layout(constant_id = VKF_ID_TILE_LISTS) const uint TILE_LISTS = 0; // of this kernel: bytes behind the map, in sixteens
layout(constant_id = VKF_ID_LISTED_TILES) const uint LISTED_TILES = 1; // most tiles of a list

layout(buffer_reference, std430, buffer_reference_align = 16) buffer TileList {
    uint full; // positions at which the full tiles, the partial ones and the list end
    uint seen;
    uint read;
    uint padding;
    uint tile[];
};

uvec2 listAddress(const uint number) {
    uvec2 lists = add64(VKF_TABLE_ADDRESS(tile_map), multiply64(TILE_LISTS, 16));
    return add64(lists, multiply64(number, VKF_LIST_WORDS(LISTED_TILES) * 16));
}

#endif

// SPDX-License-Identifier: MIT
//
// Reads tuning data (VkfContextCreateInfo::tuning). Tuning data is a text:
//
//     vkflash tuning 1
//     # a comment, up to the end of the line
//     device vendor=0x10de device=0x2335 driver=4
//     coopmat type=f16 masked=no headDim=128 valueDim=128 rows=726..1448 keys=726..1448 heads=12..22 subgroups=4
//         rowTiles=2 keyTiles=2 splits=2
//     scalar type=f32 masked=yes headDim=64 valueDim=64 rows=1..512 keys=1..512 heads=8 groups=8 lanes=16
//         threadRows=4 threadKeys=4 chunkDim4=8 chunkKeys=16
//     coopmat-dq type=f16 masked=no headDim=128 valueDim=128 rows=726..1448 keys=726..1448 heads=12..22 subgroups=8
//         ownedTiles=1 steps=2 stages=2 depthSubgroups=1
//     matrix type=f16 rows=16 columns=16 depth=16 lanes=32 result=0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0
//         left=0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0 right=1.0,8.0,0.8/2.0,4.0,0.1,0.2,0.4
//
// An entry is one line; two lines show one entry here. An entry belongs to the device line before it. Its fields stand
// in any order, each once. A range A..B includes both ends; one number is a range too. Without `splits`, an entry of
// path scalar has splits=1.
//
// The code has other names for some fields of the text: rowMatrices for rowTiles, keyUnits of CoopmatTile for keyTiles,
// and ownedMatrices for ownedTiles.
//
// coopmat-dq, coopmat-dk-dv, coopmat-dk and coopmat-dv are kernels of the backward pass, by the gradients that they
// write. rows, keys and heads are those of the forward call.
//
// A line `matrix` has an element layout (VkfMatrixLayout). For each of the three matrices it has the bits of the
// element, a slash, and the bits of the lane. A bit is what it adds: rows, a point, columns. The line does not count as
// an entry.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <vkflash/tuning.h>
#include <vkflash/vkflash.h>

#include "device/identity.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// Reads what the text has for one device. Checks the lines of other devices too, and drops them. Refuses what is not
// well formed, and names the line and the field.
VkfResult readTuning(std::string_view text, const DeviceIdentity& device, TuningData* data, VkfMessage* message);

// Returns the fields of a tile as an entry writes them.
std::string tileText(const TunedScalarTile& tile);
std::string tileText(const TunedCoopmatTile& tile);
std::string tileText(const TunedBackwardTile& tile);
// For tiles that have no entries: the same text of other numbers.
std::string tileText(std::initializer_list<std::pair<const char*, uint32_t>> numbers);

} // namespace vkf

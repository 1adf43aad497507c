// SPDX-License-Identifier: MIT
//
// Reads tuning data (VkfContextCreateInfo::tuning). A text:
//
//     vkflash tuning 1
//     # from a number sign on: for people
//     device vendor=0x10de device=0x2335 driver=4
//     coopmat type=f16 masked=no headDim=128 valueDim=128 rows=726..1448 keys=726..1448 heads=12..22 subgroups=4
//         rowTiles=2 keyTiles=2 splits=2
//     scalar type=f32 masked=yes headDim=64 valueDim=64 rows=1..512 keys=1..512 heads=8 groups=8 lanes=16
//         threadRows=4 threadKeys=4 chunkDim4=8 chunkKeys=16
//
// (an entry is one line; the last two are broken here for width). Entries belong to the device line before them.
// Fields stand in any order, each once; a range A..B holds both ends, one number is a range of itself. splits=1 of path
// scalar may be left out.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <vkflash/vkflash.h>

#include "device/identity.hpp"
#include "tiles/tuning_entry.hpp"

namespace vkf {

// The entries for one device, in their order; those of other devices are checked and dropped. Refuses whatever is
// not well formed, naming line and field.
VkfResult readTuning(std::string_view text, const DeviceIdentity& device, std::vector<TuningEntry>* entries,
                     VkfMessage* message);

// The fields of a tile as an entry writes them.
std::string tileText(const TunedScalarTile& tile);
std::string tileText(const TunedMatrixTile& tile);
// The same of tiles that have no entries.
std::string tileText(std::initializer_list<std::pair<const char*, uint32_t>> numbers);

} // namespace vkf

// SPDX-License-Identifier: MIT
//
// Rounds sums in fp32 to the type of a gradient: a merge of one partial result.
#pragma once

#include "device/tensors.hpp"

namespace vkf::mpi {

class Conversion {
public:
    // For `rows` rows of `dim` numbers. Does nothing without rows.
    Conversion(Gpu& gpu, uint64_t rows, uint32_t dim, VkfType type);

    void record(VkCommandBuffer commands, const VkfBinding& from, const VkfBinding& to) const;

private:
    Gpu& gpu_;
    uint64_t rows_;
    Memory zeros_; // the lse of the rows: each has a weight of 1
    Merge merge_;
};

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
//
// Memory of each rank that all ranks see, because they are processes of one node. Devices read and write it.
#pragma once

#include "device/gpu.hpp"
#include "ranks/communicator.hpp"

namespace vkf::mpi {

class NodeWindow {
public:
    NodeWindow(const Communicator& ranks, const Gpu& gpu) : ranks_(ranks), gpu_(gpu) {}
    NodeWindow(const NodeWindow&) = delete;
    NodeWindow& operator=(const NodeWindow&) = delete;
    // Collective, unless a rank has failed or an exception is under way.
    ~NodeWindow();

    // Allocates `bytes[r]` bytes for rank r. Returns false on all ranks, and holds nothing, if that is not possible:
    // ranks on several nodes, too little shared memory, or a device that does not take it. Collective.
    bool allocate(const std::vector<uint64_t>& bytes);
    // Memory of a rank, as commands of this rank's device see it.
    const Memory& of(int rank) const { return memories_[static_cast<size_t>(rank)]; }

private:
    bool fits(const std::vector<uint64_t>& bytes) const;
    bool importAll(const std::vector<uint64_t>& bytes);
    void release() noexcept;

    const Communicator& ranks_;
    const Gpu& gpu_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<Memory> memories_;
};

} // namespace vkf::mpi

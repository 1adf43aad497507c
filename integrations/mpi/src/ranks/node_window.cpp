// SPDX-License-Identifier: MIT
#include "ranks/node_window.hpp"

#include <exception>
#include <numeric>

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace vkf::mpi {
namespace {

// Shared memory that this node has left. Memory beyond it would end the process at the first access.
uint64_t sharedBytesLeft() {
#if defined(__linux__)
    struct statvfs status {};
    if (statvfs("/dev/shm", &status) == 0) {
        return uint64_t{status.f_bavail} * status.f_frsize;
    }
#endif
    return 0;
}

} // namespace

NodeWindow::~NodeWindow() {
    memories_.clear();
    // The ranks meet in release(). Where an error ends the caller, the other ranks may not come.
    if (std::uncaught_exceptions() == 0 && !ranks_.hasFailed()) {
        release();
    }
}

void NodeWindow::release() noexcept {
    memories_.clear();
    if (window_ != MPI_WIN_NULL) {
        MPI_Win_free(&window_);
    }
}

bool NodeWindow::fits(const std::vector<uint64_t>& bytes) const {
    const uint64_t all = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
    return ranks_.isOneNode() && gpu_.importAlignment() != 0 && sharedBytesLeft() / 2 > all;
}

bool NodeWindow::allocate(const std::vector<uint64_t>& bytes) {
    if (!ranks_.allHave(fits(bytes))) {
        return false;
    }
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void* own = nullptr;
    // Room to begin at a multiple of the alignment.
    const uint64_t size = gpu_.roundedForImport(bytes[static_cast<size_t>(ranks_.rank())]) + gpu_.importAlignment();
    const int result = MPI_Win_allocate_shared(static_cast<MPI_Aint>(size), 1, info, ranks_.handle(),
                                               static_cast<void*>(&own), &window_);
    MPI_Info_free(&info);
    if (!ranks_.allHave(result == MPI_SUCCESS)) {
        window_ = MPI_WIN_NULL; // cannot be freed, because not all ranks have one
        return false;
    }
    if (!ranks_.allHave(importAll(bytes))) {
        release();
        return false;
    }
    return true;
}

bool NodeWindow::importAll(const std::vector<uint64_t>& bytes) {
    try {
        for (int rank = 0; rank < ranks_.size(); ++rank) {
            MPI_Aint size = 0;
            int unit = 0;
            void* base = nullptr;
            checkMpi(MPI_Win_shared_query(window_, rank, &size, &unit, static_cast<void*>(&base)),
                     "MPI_Win_shared_query");
            // All processes map whole pages, so that the first multiple of a page is the same place for all.
            const auto address = gpu_.roundedForImport(reinterpret_cast<uintptr_t>(base));
            memories_.push_back(
                Memory::import(gpu_, static_cast<std::byte*>(base) + (address - reinterpret_cast<uintptr_t>(base)),
                               gpu_.roundedForImport(bytes[static_cast<size_t>(rank)])));
        }
        return true;
    } catch (const host::Error&) {
        return false;
    }
}

} // namespace vkf::mpi

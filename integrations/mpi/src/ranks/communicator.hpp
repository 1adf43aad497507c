// SPDX-License-Identifier: MIT
//
// The ranks of a call: what they say to each other besides tensors, and how the failure of one reaches the others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

#include <vkflash/host.hpp>

namespace vkf::mpi {

// What must be equal on all ranks: names and values.
using Agreement = std::vector<std::pair<std::string, std::string>>;

class Communicator {
public:
    // Makes communicators of its own from `parent`. Collective.
    explicit Communicator(MPI_Comm parent);
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

    int rank() const { return rank_; }
    int size() const { return size_; }
    int localRank() const { return localRank_; } // number among the ranks of this node
    bool isOneNode() const { return nodeSize_ == size_; }
    // Whether this rank or another one has failed, so that the ranks do not meet again.
    bool hasFailed() const { return !announced_.empty(); }
    // Whether a condition holds on every rank. Collective.
    bool allHave(bool condition) const;
    MPI_Comm handle() const { return tensors_; }

    // Calls `work` on each rank. If it throws on one rank, every rank throws a host::Error of the first such rank, with
    // its number. Collective.
    void together(const std::function<void()>& work) const;
    // Throws the same host::Error on every rank if a value differs between ranks. Collective.
    void agree(const Agreement& values) const;
    // Calls `work`, which waits for other ranks. If it throws, the other ranks hear of it and throw too.
    void guarded(const std::function<void()>& work);
    // Throws if another rank has failed, or if its process on this node has died.
    void checkOthers() const;
    // A number of each rank, by rank. Collective.
    std::vector<int64_t> gathered(int64_t own) const;
    // Number of the node of this rank: the lowest rank on it.
    int node() const { return node_; }

private:
    // A rank of this node.
    struct Neighbour {
        int rank = 0;
        int64_t process = 0;
    };

    std::string broadcast(std::string text, int from) const;
    void findNeighbours(MPI_Comm node);
    void checkNeighbours() const;
    [[noreturn]] void failAs(int rank, const std::string& text) const;
    void announce(const std::string& text);

    MPI_Comm tensors_ = MPI_COMM_NULL;
    MPI_Comm failures_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
    int localRank_ = 0;
    int nodeSize_ = 1;
    int node_ = 0;
    std::vector<Neighbour> neighbours_; // empty if this rank cannot see their processes
    mutable std::chrono::steady_clock::time_point lookedAtNeighbours_{};
    mutable std::string announced_; // why the ranks must end; stays in memory until MPI has sent it
    mutable std::vector<std::vector<int64_t>> abandoned_; // memory of collective calls that will never end
    std::vector<MPI_Request> announcements_;              // nobody waits for them: the other ranks may be gone
};

// Throws host::Error if the call failed.
void checkMpi(int result, const char* call);

} // namespace vkf::mpi

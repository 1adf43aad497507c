// SPDX-License-Identifier: MIT
//
// Bytes that travel between ranks while kernels run. Messages go in pieces, so that copies to the device begin before a
// message has arrived as a whole, and so that no count passes the 31 bits of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "device/gpu.hpp"
#include "ranks/communicator.hpp"

namespace vkf::mpi {

enum class Tag : int { block = 1, gradients = 2, home = 3, exchange = 4, taken = 5 };

class Traffic {
public:
    // Called for each piece that has arrived.
    using Arrived = std::function<void(uint64_t offset, uint64_t bytes)>;
    // A message on its way. 0 = none, which has always arrived.
    using Ticket = size_t;

    // `watch` is called now and then while the ranks wait.
    explicit Traffic(Communicator& ranks, std::function<void()> watch = {}) : ranks_(ranks), watch_(std::move(watch)) {}
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    ~Traffic();

    // Messages with one tag arrive in the order in which they were sent. The memory belongs to MPI until the end.
    Ticket send(int to, Tag tag, const std::byte* from, uint64_t bytes);
    Ticket receive(int from, Tag tag, std::byte* to, uint64_t bytes, Arrived arrived = {});
    bool isDone(Ticket ticket) const { return ticket == 0 || messages_[ticket - 1].open == 0; }

    // Waits, while messages go on. Throws host::Error if another rank fails meanwhile.
    void await(const std::function<bool()>& reached);
    void await(Ticket ticket);
    void await(const Moment& moment);
    // Waits for a message. Returns the seconds after `busy` had passed, in which the device had nothing to do.
    double awaitIdle(Ticket ticket, const Moment& busy);
    double awaitIdle(const Moment& moment, const Moment& busy);
    // Waits until all ranks are here.
    void awaitAll();
    // Gathers `bytes` bytes of each rank on all ranks.
    void gather(const std::byte* own, std::byte* all, uint64_t bytes);
    // Counts bytes that came from another rank without a message.
    void countShared(uint64_t bytes) { sentBytes_ += bytes; }
    // Waits for all messages.
    void finish();

    uint64_t sentBytes() const { return sentBytes_; }

private:
    struct Message {
        uint64_t open = 0; // pieces on their way
        Arrived arrived;
    };
    struct Piece {
        Ticket message;
        uint64_t offset;
        uint64_t bytes;
    };
    Ticket begin(Arrived arrived);
    void awaitCollective();
    double awaitIdleUntil(const std::function<bool()>& reached, const Moment& busy);
    void progress();

    Communicator& ranks_;
    std::function<void()> watch_;
    std::vector<Message> messages_;
    std::vector<MPI_Request> requests_;
    std::vector<Piece> pieces_; // of requests_
    std::vector<int> completed_;
    uint64_t sentBytes_ = 0;
    MPI_Request collective_ = MPI_REQUEST_NULL;
};

} // namespace vkf::mpi

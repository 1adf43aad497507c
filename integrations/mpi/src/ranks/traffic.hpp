// SPDX-License-Identifier: MIT
//
// Bytes that travel between ranks while kernels run. Messages go in pieces, so that copies to the device begin before a
// message has arrived as a whole, and so that no count passes the 31 bits of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "device/gpu.hpp"
#include "ranks/communicator.hpp"

namespace vkf::mpi {

// Blocks have tags from theirs on.
enum class Tag : int { gradients = 1, taken = 2, home = 3, homeIsFree = 4, exchange = 5, block = 6 };

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

    // Calls `work` once `ready` says so, while this object waits for something. Works are called in the order in which
    // they came: each waits for those before it.
    void when(std::function<bool()> ready, std::function<void()> work);
    void when(const Moment& moment, std::function<void()> work);

    // Waits, while messages go on. Throws host::Error if another rank fails meanwhile.
    void await(const std::function<bool()>& reached);
    void await(Ticket ticket);
    void await(const Moment& moment);
    // Waits, and returns the seconds after `busy` had passed, in which the device had nothing to do.
    double awaitIdle(const std::function<bool()>& reached, const Moment& busy);
    double awaitIdle(Ticket ticket, const Moment& busy);
    double awaitIdle(const Moment& moment, const Moment& busy);
    // Waits until all ranks are here.
    void awaitAll();
    // Gathers `bytes` bytes of each rank on all ranks.
    void gather(const std::byte* own, std::byte* all, uint64_t bytes);
    // Counts bytes that came from another rank without a message.
    void countShared(uint64_t bytes) { sentBytes_ += bytes; }
    // Waits for all messages and works.
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
    struct Work {
        std::function<bool()> isReady;
        std::function<void()> run;
    };
    Ticket begin(Arrived arrived);
    void awaitCollective();
    void progress();
    void progressMessages();
    void progressWorks();

    Communicator& ranks_;
    std::function<void()> watch_;
    std::deque<Message> messages_; // keep their places while `arrived` begins another one
    std::vector<MPI_Request> requests_;
    std::vector<Piece> pieces_; // of requests_
    std::vector<int> completed_;
    std::deque<Work> works_;
    uint64_t sentBytes_ = 0;
    MPI_Request collective_ = MPI_REQUEST_NULL;
};

} // namespace vkf::mpi

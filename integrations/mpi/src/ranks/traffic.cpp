// SPDX-License-Identifier: MIT
#include "ranks/traffic.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace vkf::mpi {
namespace {

constexpr uint64_t pieceBytes = uint64_t{32} << 20;
// How long a wait looks without a pause. Later it leaves the processor to other ranks of the node.
constexpr std::chrono::milliseconds busyTime{2};
// Looks between two questions after the failure of another rank.
constexpr int looksAtOthers = 64;

bool hasPassed(const Moment& moment) { return moment.queue == nullptr || moment.queue->wait(moment.value, 0); }

} // namespace

Traffic::~Traffic() {
    for (MPI_Request& each : requests_) {
        if (each != MPI_REQUEST_NULL) {
            MPI_Cancel(&each);
            MPI_Request_free(&each);
        }
    }
}

Traffic::Ticket Traffic::begin(Arrived arrived) {
    messages_.push_back({0, std::move(arrived)});
    return messages_.size();
}

Traffic::Ticket Traffic::send(int to, Tag tag, const std::byte* from, uint64_t bytes) {
    const Ticket ticket = begin({});
    for (uint64_t offset = 0; offset < bytes; offset += pieceBytes) {
        const uint64_t size = std::min(pieceBytes, bytes - offset);
        requests_.push_back(MPI_REQUEST_NULL);
        checkMpi(MPI_Isend(from + offset, static_cast<int>(size), MPI_BYTE, to, static_cast<int>(tag), ranks_.handle(),
                           &requests_.back()),
                 "MPI_Isend");
        pieces_.push_back({ticket, offset, size});
        messages_.back().open++;
    }
    sentBytes_ += bytes;
    return ticket;
}

Traffic::Ticket Traffic::receive(int from, Tag tag, std::byte* to, uint64_t bytes, Arrived arrived) {
    const Ticket ticket = begin(std::move(arrived));
    for (uint64_t offset = 0; offset < bytes; offset += pieceBytes) {
        const uint64_t size = std::min(pieceBytes, bytes - offset);
        requests_.push_back(MPI_REQUEST_NULL);
        checkMpi(MPI_Irecv(to + offset, static_cast<int>(size), MPI_BYTE, from, static_cast<int>(tag), ranks_.handle(),
                           &requests_.back()),
                 "MPI_Irecv");
        pieces_.push_back({ticket, offset, size});
        messages_.back().open++;
    }
    return ticket;
}

void Traffic::progress() {
    progressMessages();
    progressWorks();
}

void Traffic::progressMessages() {
    if (requests_.empty()) {
        return;
    }
    completed_.resize(requests_.size());
    int count = 0;
    checkMpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(),
                          MPI_STATUSES_IGNORE),
             "MPI_Testsome");
    if (count <= 0) {
        return;
    }
    completed_.resize(static_cast<size_t>(count));
    std::sort(completed_.begin(), completed_.end(), std::greater<>());
    std::vector<Piece> arrived;
    for (const int number : completed_) {
        arrived.push_back(pieces_[static_cast<size_t>(number)]);
        requests_.erase(requests_.begin() + number);
        pieces_.erase(pieces_.begin() + number);
    }
    std::reverse(arrived.begin(), arrived.end());
    for (const Piece& piece : arrived) {
        Message& message = messages_[piece.message - 1];
        message.open--;
        if (message.arrived) {
            message.arrived(piece.offset, piece.bytes);
        }
    }
}

void Traffic::progressWorks() {
    while (!works_.empty() && works_.front().isReady()) {
        const std::function<void()> run = std::move(works_.front().run);
        works_.pop_front();
        run(); // may add others
    }
}

void Traffic::when(std::function<bool()> ready, std::function<void()> work) {
    works_.push_back({std::move(ready), std::move(work)});
}

void Traffic::when(const Moment& moment, std::function<void()> work) {
    when([moment] { return hasPassed(moment); }, std::move(work));
}

void Traffic::await(const std::function<bool()>& reached) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    for (int looks = 0;; ++looks) {
        progress();
        if (reached()) {
            return;
        }
        if (looks % looksAtOthers == 0) {
            ranks_.checkOthers();
            if (watch_) {
                watch_();
            }
        }
        if (Clock::now() - begin > busyTime) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        } else {
            std::this_thread::yield();
        }
    }
}

void Traffic::await(Ticket ticket) {
    await([&] { return isDone(ticket); });
}

void Traffic::await(const Moment& moment) {
    await([&] { return hasPassed(moment); });
}

double Traffic::awaitIdle(const std::function<bool()>& reached, const Moment& busy) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point idleSince = Clock::time_point::max();
    await([&] {
        const bool isReached = reached();
        if (!isReached && idleSince == Clock::time_point::max() && hasPassed(busy)) {
            idleSince = Clock::now();
        }
        return isReached;
    });
    return idleSince == Clock::time_point::max() ? 0 : std::chrono::duration<double>(Clock::now() - idleSince).count();
}

double Traffic::awaitIdle(Ticket ticket, const Moment& busy) {
    return awaitIdle([&] { return isDone(ticket); }, busy);
}

double Traffic::awaitIdle(const Moment& moment, const Moment& busy) {
    return awaitIdle([&] { return hasPassed(moment); }, busy);
}

void Traffic::awaitCollective() {
    await([&] {
        int done = 0;
        checkMpi(MPI_Test(&collective_, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
    });
}

void Traffic::awaitAll() {
    checkMpi(MPI_Ibarrier(ranks_.handle(), &collective_), "MPI_Ibarrier");
    awaitCollective();
}

void Traffic::gather(const std::byte* own, std::byte* all, uint64_t bytes) {
    const auto count = static_cast<int>(bytes);
    checkMpi(MPI_Iallgather(own, count, MPI_BYTE, all, count, MPI_BYTE, ranks_.handle(), &collective_),
             "MPI_Iallgather");
    awaitCollective();
}

void Traffic::finish() {
    await([&] { return requests_.empty() && works_.empty(); });
}

} // namespace vkf::mpi

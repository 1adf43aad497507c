// SPDX-License-Identifier: MIT
//
// How fast blocks travel between ranks: each part of their way alone, on all ranks at once.
#include <algorithm>
#include <chrono>
#include <functional>

#include "ranks/node_window.hpp"
#include "ranks/traffic.hpp"
#include "state.hpp"

namespace vkf::mpi {
namespace {

// A block on the device of each rank, and where it travels.
class Link {
public:
    Link(State& state, uint64_t bytes, Transport transport)
        : state_(state), gpu_(*state.gpu), bytes_(bytes), next_((state.ranks.rank() + 1) % state.ranks.size()),
          previous_((state.ranks.rank() + state.ranks.size() - 1) % state.ranks.size()), window_(state.ranks, gpu_) {
        state_.ranks.together([&] {
            onDevice_ = Memory(gpu_, bytes_, Place::device);
            arrived_ = Memory(gpu_, bytes_, Place::device);
        });
        isShared_ = transport == Transport::automatic &&
                    window_.allocate(std::vector<uint64_t>(static_cast<size_t>(state_.ranks.size()), bytes_));
        state_.ranks.together([&] {
            if (!isShared_) {
                out_ = Memory(gpu_, bytes_, Place::host);
                in_ = Memory(gpu_, bytes_, Place::host);
            }
        });
    }

    LinkSpeed measure() {
        LinkSpeed speed;
        speed.isShared = isShared_;
        const Memory& own = isShared_ ? window_.of(state_.ranks.rank()) : out_;
        const Memory& from = isShared_ ? window_.of(previous_) : in_;
        const auto toHost = [&] { return copy(gpu_.toHost(), onDevice_, own); };
        const auto toDevice = [&] { return copy(gpu_.toDevice(), from, arrived_); };
        speed.toHost = timed([&](Traffic& traffic) { traffic.await(toHost()); });
        if (!isShared_) {
            speed.messages = timed([&](Traffic& traffic) {
                traffic.receive(previous_, Tag::block, in_.mapped(), bytes_);
                traffic.send(next_, Tag::block, out_.mapped(), bytes_);
                traffic.finish();
            });
        }
        speed.toDevice = timed([&](Traffic& traffic) { traffic.await(toDevice()); });
        speed.bothWays = timed([&](Traffic& traffic) {
            const Moment out = toHost();
            traffic.await(toDevice());
            traffic.await(out);
        });
        const bool alwaysBoth = !isShared_ || state_.ranks.size() == 2;
        speed.slowest = alwaysBoth ? speed.bothWays : speed.toDevice;
        speed.slowest = isShared_ ? speed.slowest : std::min(speed.slowest, speed.messages);
        return speed;
    }

private:
    Moment copy(Queue& queue, const Memory& from, const Memory& to) const {
        return queue.submit([&](VkCommandBuffer commands) { gpu_.copy(commands, from, 0, to, 0, bytes_); });
    }

    // Bytes a second of the best of several tries.
    double timed(const std::function<void(Traffic&)>& work) {
        using Clock = std::chrono::steady_clock;
        constexpr int tries = 4; // the first one touches the memory
        double best = 0;
        for (int i = 0; i < tries; ++i) {
            Traffic traffic(state_.ranks);
            traffic.awaitAll();
            const Clock::time_point start = Clock::now();
            work(traffic);
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            best = std::max(best, static_cast<double>(bytes_) / seconds);
        }
        return best;
    }

    State& state_;
    Gpu& gpu_;
    uint64_t bytes_;
    int next_;
    int previous_;
    Memory onDevice_, arrived_; // the block of this rank, and that of the rank before
    Memory out_, in_;           // mapped, for messages
    NodeWindow window_;
    bool isShared_ = false;
};

} // namespace

LinkSpeed Ranks::measureLink(uint64_t bytes, Transport transport) {
    if (size() == 1 || bytes == 0) {
        return {};
    }
    Link link(*state_, bytes, transport);
    LinkSpeed speed;
    state_->guarded([&] { speed = link.measure(); });
    return speed;
}

} // namespace vkf::mpi

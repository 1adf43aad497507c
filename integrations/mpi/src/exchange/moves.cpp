// SPDX-License-Identifier: MIT
#include "exchange/moves.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace vkf::mpi {

ExchangeMoves::ExchangeMoves(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), ranks_(static_cast<uint32_t>(state.ranks.size())),
      rank_(static_cast<uint32_t>(state.ranks.rank())), batch_(tensorBatch(whole)), queryRows_(whole.queryRows),
      keys_(whole.keys), out_(ranks_), in_(ranks_), window_(state.ranks, gpu_) {
    for (uint32_t i = 0; i < ranks_; ++i) {
        parts_.push_back(partOf(whole, distribution, lengths, ranks_, i));
    }
}

RunReport ExchangeMoves::run(std::initializer_list<const MovedMemory*> inputs, const std::function<void()>& compute,
                             uint64_t submissions, std::initializer_list<const MovedMemory*> outputs,
                             const Progress& progress) {
    using Clock = std::chrono::steady_clock;
    const auto secondsSince = [](Clock::time_point start) {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    return state_.run([&](RunReport& report) {
        const Clock::time_point start = Clock::now();
        Traffic traffic(state_.ranks, gpu_.watch(progress, submissions));
        if (isShared_) {
            shareParts(traffic, inputs);
        }
        for (const MovedMemory* each : isShared_ ? Moved() : inputs) {
            toHeads(traffic, each->tensor, each->part, each->heads);
        }
        traffic.await(gpu_.toDevice().last());
        report.waited = secondsSince(start);
        compute();
        traffic.await(gpu_.kernels().last());
        const Clock::time_point computed = Clock::now();
        if (isShared_) {
            shareHeads(traffic, outputs);
        }
        for (const MovedMemory* each : isShared_ ? Moved() : outputs) {
            toParts(traffic, each->tensor, each->heads, each->part);
        }
        traffic.await(gpu_.toDevice().last());
        report.waited += secondsSince(computed);
        report.sentBytes = traffic.sentBytes();
        report.computed = 1;
    });
}

void ExchangeMoves::connect(Transport transport, Moved inputs, Moved outputs) {
    std::vector<uint64_t> bytes(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        Layout in;
        Layout out;
        for (const MovedMemory* each : inputs) {
            in.add(partBytesOf(each->tensor, rank));
        }
        for (const MovedMemory* each : outputs) {
            out.add(headsBytes(each->tensor));
        }
        bytes[rank] = std::max(in.bytes(), out.bytes());
    }
    isShared_ = transport == Transport::automatic && ranks_ > 1 && window_.allocate(bytes);
}

std::string ExchangeMoves::text() const {
    return "head exchange of " + std::to_string(ranks_) + " ranks by " + (isShared_ ? "shared memory" : "messages");
}

std::vector<VkBufferCopy> ExchangeMoves::regionsOf(const MovedTensor& tensor, uint32_t partRank, uint32_t headRank,
                                                   uint64_t partAt, uint64_t headsAt, bool toHeads) const {
    const uint32_t heads = tensor.heads / ranks_;
    const uint64_t rows = tensor.along == Along::rows ? queryRows_ : keys_;
    std::vector<VkBufferCopy> regions;
    for (const Chunk& chunk : chunksOf(tensor, partRank)) {
        for (uint64_t i = 0; i < batch_; ++i) {
            for (uint32_t head = 0; head < heads; ++head) {
                // In the part: [batch, all heads, rows of the chunk]. In the heads: [batch, heads, all rows].
                const uint64_t headInPart = i * tensor.heads + uint64_t{headRank} * heads + head;
                uint64_t inPart = partAt + headInPart * chunk.rows * tensor.rowBytes;
                for (const SequenceRange& range : chunk.ranges) {
                    const uint64_t inHeads =
                        headsAt + ((i * heads + head) * rows + range.packedFirst) * tensor.rowBytes;
                    const uint64_t bytes = range.count * tensor.rowBytes;
                    if (bytes > 0) {
                        regions.push_back({toHeads ? inPart : inHeads, toHeads ? inHeads : inPart, bytes});
                    }
                    inPart += bytes;
                }
            }
        }
        partAt += batch_ * tensor.heads * chunk.rows * tensor.rowBytes;
    }
    return regions;
}

void ExchangeMoves::copyRegions(const Memory& from, const Memory& to, const std::vector<VkBufferCopy>& regions) {
    if (!regions.empty()) {
        gpu_.toDevice().submit(
            [&](VkCommandBuffer commands) {
                gpu_.functions().CmdCopyBuffer(commands, from.handle(), to.handle(),
                                               static_cast<uint32_t>(regions.size()), regions.data());
            },
            {gpu_.kernels().last()});
    }
}

void ExchangeMoves::shareParts(Traffic& traffic, Moved inputs) {
    traffic.awaitAll(); // nobody reads the window of the run before
    traffic.await(gpu_.toHost().submit(
        [&](VkCommandBuffer commands) {
            Layout layout;
            for (const MovedMemory* each : inputs) {
                const Range range = layout.add(each->part.bytes());
                gpu_.copy(commands, each->part, 0, window_.of(static_cast<int>(rank_)), range.at, range.bytes);
            }
        },
        {gpu_.kernels().last(), gpu_.toDevice().last()}));
    traffic.awaitAll(); // all windows are there
    for (uint32_t i = 0; i < ranks_; ++i) {
        // Each rank begins with another one, so that not all of them read the same.
        const uint32_t from = (rank_ + i) % ranks_;
        Layout layout;
        for (const MovedMemory* each : inputs) {
            const uint64_t at = layout.add(partBytesOf(each->tensor, from)).at;
            const bool isOwn = from == rank_;
            copyRegions(isOwn ? each->part : window_.of(static_cast<int>(from)), each->heads,
                        regionsOf(each->tensor, from, rank_, isOwn ? 0 : at, 0, true));
            traffic.countShared(isOwn ? 0 : bytesOf(each->tensor, from));
        }
    }
}

void ExchangeMoves::shareHeads(Traffic& traffic, Moved outputs) {
    traffic.awaitAll(); // all ranks have read the inputs
    traffic.await(gpu_.toHost().submit(
        [&](VkCommandBuffer commands) {
            Layout layout;
            for (const MovedMemory* each : outputs) {
                const Range range = layout.add(each->heads.bytes());
                gpu_.copy(commands, each->heads, 0, window_.of(static_cast<int>(rank_)), range.at, range.bytes);
            }
        },
        {gpu_.kernels().last()}));
    traffic.awaitAll(); // all windows are there
    for (uint32_t i = 0; i < ranks_; ++i) {
        const uint32_t from = (rank_ + i) % ranks_;
        Layout layout;
        for (const MovedMemory* each : outputs) {
            const uint64_t at = layout.add(each->heads.bytes()).at;
            const bool isOwn = from == rank_;
            copyRegions(isOwn ? each->heads : window_.of(static_cast<int>(from)), each->part,
                        regionsOf(each->tensor, rank_, from, 0, isOwn ? 0 : at, false));
            traffic.countShared(isOwn ? 0 : bytesOf(each->tensor, rank_));
        }
    }
}

const std::vector<Chunk>& ExchangeMoves::chunksOf(const MovedTensor& tensor, uint32_t rank) const {
    return tensor.along == Along::rows ? parts_[rank].rows : parts_[rank].keys;
}

// Bytes of the rows of a rank, of the heads that one rank computes.
uint64_t ExchangeMoves::bytesOf(const MovedTensor& tensor, uint32_t rank) const {
    uint64_t rows = 0;
    for (const Chunk& chunk : chunksOf(tensor, rank)) {
        rows += chunk.rows;
    }
    return batch_ * (tensor.heads / ranks_) * rows * tensor.rowBytes;
}

uint64_t ExchangeMoves::headsBytes(const MovedTensor& tensor) const {
    const uint64_t rows = tensor.along == Along::rows ? queryRows_ : keys_;
    return batch_ * (tensor.heads / ranks_) * rows * tensor.rowBytes;
}

// Copies the rows of a rank between this rank's heads of the whole sequence and what the two ranks exchange.
void ExchangeMoves::copyRows(const MovedTensor& tensor, uint32_t rank, std::byte* heads, std::byte* packed,
                             bool pack) const {
    const uint64_t rows = tensor.along == Along::rows ? queryRows_ : keys_;
    for (const RowRun& run : runsOf(chunksOf(tensor, rank), batch_, tensor.heads / ranks_, rows)) {
        std::byte* place = heads + run.first * tensor.rowBytes;
        const uint64_t bytes = run.count * tensor.rowBytes;
        std::memcpy(pack ? packed : place, pack ? place : packed, bytes);
        packed += bytes;
    }
}

void ExchangeMoves::exchange(Traffic& traffic) {
    for (uint32_t i = 0; i < ranks_; ++i) {
        // Each rank begins with another one, so that not all of them send to the same.
        const uint32_t to = (rank_ + i) % ranks_;
        const uint32_t from = (rank_ + ranks_ - i) % ranks_;
        if (i == 0) {
            in_[rank_] = out_[rank_];
        } else {
            traffic.receive(static_cast<int>(from), Tag::exchange, in_[from].data(), in_[from].size());
            traffic.send(static_cast<int>(to), Tag::exchange, out_[to].data(), out_[to].size());
        }
    }
    traffic.finish();
}

void ExchangeMoves::needStaging(uint64_t bytes) {
    if (staging_.bytes() < bytes) {
        staging_ = Memory();
        staging_ = Memory(gpu_, bytes, Place::host);
    }
}

std::byte* ExchangeMoves::fetch(Traffic& traffic, const Memory& from, uint64_t bytes) {
    needStaging(bytes);
    traffic.await(
        gpu_.toHost().submit([&](VkCommandBuffer commands) { gpu_.copy(commands, from, 0, staging_, 0, bytes); },
                             {gpu_.kernels().last(), gpu_.toDevice().last()}));
    return staging_.mapped();
}

void ExchangeMoves::deliver(Traffic& traffic, const Memory& to, uint64_t bytes) {
    traffic.await(gpu_.toDevice().submit(
        [&](VkCommandBuffer commands) { gpu_.copy(commands, staging_, 0, to, 0, bytes); }, {gpu_.kernels().last()}));
}

void ExchangeMoves::toHeads(Traffic& traffic, const MovedTensor& tensor, const Memory& part, const Memory& heads) {
    const std::byte* from = fetch(traffic, part, partBytes(tensor));
    for (std::vector<std::byte>& each : out_) {
        each.clear();
    }
    const uint32_t headsOfRank = tensor.heads / ranks_;
    for (const Chunk& chunk : chunksOf(tensor, rank_)) {
        const uint64_t bytes = chunk.rows * tensor.rowBytes * headsOfRank;
        for (uint64_t i = 0; i < batch_; ++i) {
            for (std::vector<std::byte>& each : out_) {
                each.insert(each.end(), from, from + bytes);
                from += bytes;
            }
        }
    }
    for (uint32_t i = 0; i < ranks_; ++i) {
        in_[i].resize(bytesOf(tensor, i));
    }
    exchange(traffic);
    needStaging(headsBytes(tensor));
    for (uint32_t i = 0; i < ranks_; ++i) {
        copyRows(tensor, i, staging_.mapped(), in_[i].data(), false);
    }
    deliver(traffic, heads, headsBytes(tensor));
}

void ExchangeMoves::toParts(Traffic& traffic, const MovedTensor& tensor, const Memory& heads, const Memory& part) {
    std::byte* from = fetch(traffic, heads, headsBytes(tensor));
    for (uint32_t i = 0; i < ranks_; ++i) {
        out_[i].resize(bytesOf(tensor, i));
        copyRows(tensor, i, from, out_[i].data(), true);
        in_[i].resize(bytesOf(tensor, rank_));
    }
    exchange(traffic);
    needStaging(partBytes(tensor));
    std::byte* to = staging_.mapped();
    uint64_t done = 0; // bytes of each rank's answer
    for (const Chunk& chunk : chunksOf(tensor, rank_)) {
        const uint64_t bytes = chunk.rows * tensor.rowBytes * (tensor.heads / ranks_);
        for (uint64_t i = 0; i < batch_; ++i) {
            for (const std::vector<std::byte>& each : in_) {
                std::memcpy(to, each.data() + done, bytes);
                to += bytes;
            }
            done += bytes;
        }
    }
    deliver(traffic, part, partBytes(tensor));
}

} // namespace vkf::mpi

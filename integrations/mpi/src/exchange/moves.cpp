// SPDX-License-Identifier: MIT
#include "exchange/moves.hpp"

#include <chrono>
#include <cstring>

namespace vkf::mpi {

ExchangeMoves::ExchangeMoves(State& state, const VkfProblem& whole, Distribution distribution, const Lengths& lengths)
    : state_(state), gpu_(*state.gpu), ranks_(static_cast<uint32_t>(state.ranks.size())),
      rank_(static_cast<uint32_t>(state.ranks.rank())), batch_(tensorBatch(whole)), queryRows_(whole.queryRows),
      keys_(whole.keys) {
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
        for (const MovedMemory* each : inputs) {
            toHeads(traffic, each->tensor, each->part, each->heads);
        }
        report.waited = secondsSince(start);
        compute();
        traffic.await(gpu_.kernels().last());
        const Clock::time_point computed = Clock::now();
        for (const MovedMemory* each : outputs) {
            toParts(traffic, each->tensor, each->heads, each->part);
        }
        report.waited += secondsSince(computed);
        report.sentBytes = traffic.sentBytes();
        report.computed = 1;
    });
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

void ExchangeMoves::exchange(Traffic& traffic, const Buffers& out, Buffers& in) const {
    for (uint32_t i = 0; i < ranks_; ++i) {
        // Each rank begins with another one, so that not all of them send to the same.
        const uint32_t to = (rank_ + i) % ranks_;
        const uint32_t from = (rank_ + ranks_ - i) % ranks_;
        if (i == 0) {
            in[rank_] = out[rank_];
        } else {
            traffic.receive(static_cast<int>(from), Tag::exchange, in[from].data(), in[from].size());
            traffic.send(static_cast<int>(to), Tag::exchange, out[to].data(), out[to].size());
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
    Buffers out(ranks_);
    const uint32_t headsOfRank = tensor.heads / ranks_;
    for (const Chunk& chunk : chunksOf(tensor, rank_)) {
        const uint64_t bytes = chunk.rows * tensor.rowBytes * headsOfRank;
        for (uint64_t i = 0; i < batch_; ++i) {
            for (std::vector<std::byte>& each : out) {
                each.insert(each.end(), from, from + bytes);
                from += bytes;
            }
        }
    }
    Buffers in(ranks_);
    for (uint32_t i = 0; i < ranks_; ++i) {
        in[i].resize(bytesOf(tensor, i));
    }
    exchange(traffic, out, in);
    needStaging(headsBytes(tensor));
    for (uint32_t i = 0; i < ranks_; ++i) {
        copyRows(tensor, i, staging_.mapped(), in[i].data(), false);
    }
    deliver(traffic, heads, headsBytes(tensor));
}

void ExchangeMoves::toParts(Traffic& traffic, const MovedTensor& tensor, const Memory& heads, const Memory& part) {
    std::byte* from = fetch(traffic, heads, headsBytes(tensor));
    Buffers out(ranks_);
    Buffers in(ranks_);
    for (uint32_t i = 0; i < ranks_; ++i) {
        out[i].resize(bytesOf(tensor, i));
        copyRows(tensor, i, from, out[i].data(), true);
        in[i].resize(bytesOf(tensor, rank_));
    }
    exchange(traffic, out, in);
    needStaging(partBytes(tensor));
    std::byte* to = staging_.mapped();
    uint64_t done = 0; // bytes of each rank's answer
    for (const Chunk& chunk : chunksOf(tensor, rank_)) {
        const uint64_t bytes = chunk.rows * tensor.rowBytes * (tensor.heads / ranks_);
        for (uint64_t i = 0; i < batch_; ++i) {
            for (const std::vector<std::byte>& each : in) {
                std::memcpy(to, each.data() + done, bytes);
                to += bytes;
            }
            done += bytes;
        }
    }
    deliver(traffic, part, partBytes(tensor));
}

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
#include "whole.hpp"

#include <cstring>
#include <random>

namespace vkf::test {

Whole shapedLike(const VkfProblem& problem, VkfType type, uint32_t heads, uint32_t rows, uint32_t dim) {
    Whole whole{type, has(problem, VKF_USE_CU_SEQLENS) ? 1 : problem.batch, heads, rows, dim};
    whole.bytes.resize(whole.size());
    return whole;
}

void fillRandom(Whole& tensor, uint32_t seed) {
    std::mt19937 random(seed);
    for (uint64_t i = 0; i < tensor.size() / vkfTypeBytes(tensor.type); ++i) {
        vkfStoreElement(tensor.type, tensor.bytes.data(), i, static_cast<double>(random()) / 0x80000000 - 1);
    }
}

Bytes partOf(const Whole& whole, const std::vector<mpi::Chunk>& chunks) {
    Bytes part;
    for (const mpi::RowRun& run : mpi::runsOf(chunks, whole.batch, whole.heads, whole.rows)) {
        const auto begin = whole.bytes.begin() + static_cast<std::ptrdiff_t>(run.first * whole.rowBytes());
        part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(run.count * whole.rowBytes()));
    }
    return part;
}

void collect(Whole& whole, const Bytes& part, const std::vector<mpi::Chunk>& chunks) {
    Bytes own(whole.size());
    uint64_t at = 0;
    for (const mpi::RowRun& run : mpi::runsOf(chunks, whole.batch, whole.heads, whole.rows)) {
        std::memcpy(own.data() + run.first * whole.rowBytes(), part.data() + at, run.count * whole.rowBytes());
        at += run.count * whole.rowBytes();
    }
    whole.bytes.resize(whole.size());
    // Every byte comes from one rank, and is 0 on the others.
    MPI_Allreduce(own.data(), whole.bytes.data(), static_cast<int>(own.size()), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

} // namespace vkf::test

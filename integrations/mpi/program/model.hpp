// SPDX-License-Identifier: MIT
//
// What a call over ranks should take, from the speed of one GPU and of the links alone.
#pragma once

#include <vkflash/mpi.hpp>

namespace vkf::mpi::program {

enum class Pass { forward, backward };

// Machines and their links.
struct Cluster {
    uint32_t ranks = 1;
    double operations = 0; // a second, of one GPU on the whole call
    double bandwidth = 0;  // bytes a second from each rank to the next, all at once
    double latency = 0;    // seconds that each transfer takes besides
    uint32_t groups = 1;   // of heads, which the ring takes one after the other
};

// Multiplications and additions of the visible pairs of rows and keys.
double operationsOf(const VkfProblem& problem, Pass pass);

// Seconds of the slowest rank of a ring: kernels wait for blocks, and copies of a block for the place of the block two
// before it.
double ringSeconds(const VkfProblem& problem, Distribution distribution, Pass pass, const Cluster& cluster);
// Seconds of a head exchange, whose copies do not hide. 0 where the KV heads do not divide by the ranks.
double exchangeSeconds(const VkfProblem& problem, Pass pass, const Cluster& cluster);
// Rows of the shortest sequence of which all copies of the ring hide, with as many keys as rows.
double hidingRows(const VkfProblem& problem, Pass pass, const Cluster& cluster);

} // namespace vkf::mpi::program

// SPDX-License-Identifier: MIT
//
// A parallel loop without a thread pool: threads live for one loop, and the calling thread is one of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace vkf::reference {

// Runs body(worker, item) for every item, with worker in [0, threads). Items start in their order. Calls progress(done)
// with the number of items done, from the calling thread. If a function throws, no more items start, and the first
// exception goes to the caller.
template <typename Body, typename Progress>
void parallelFor(uint32_t threads, uint64_t items, const Body& body, const Progress& progress) {
    std::atomic<uint64_t> next{0};
    std::atomic<uint64_t> done{0};
    std::atomic<bool> failed{false};
    std::exception_ptr exception; // of the thread that set `failed`
    const auto work = [&](uint32_t worker) {
        try {
            for (uint64_t item = next++; item < items && !failed; item = next++) {
                body(worker, item);
                done++;
                if (worker == 0) {
                    progress(done.load());
                }
            }
        } catch (...) {
            if (!failed.exchange(true)) {
                exception = std::current_exception();
            }
        }
    };

    std::vector<std::thread> helpers;
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(threads, items));
    helpers.reserve(wanted);
    try {
        for (uint32_t worker = 1; worker < wanted; worker++) {
            helpers.emplace_back(work, worker);
        }
    } catch (...) {
        // No thread or no memory for one: the threads that run take all items.
    }
    work(0);
    for (std::thread& helper : helpers) {
        helper.join();
    }
    if (exception) {
        std::rethrow_exception(exception);
    }
    progress(items);
}

} // namespace vkf::reference

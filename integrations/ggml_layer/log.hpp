// SPDX-License-Identifier: MIT
//
// The layer's one setting, the environment variable VKFLASH_GGML_LAYER, and what the layer tells about its work.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace vkf::layer {

// What VKFLASH_GGML_LAYER says. README.md lists the values.
enum class Mode {
    off,    // the layer passes everything through
    quiet,  // it works, and only reports errors; this is the default
    log,    // it also writes what it does to stderr
    strict, // an attention call that it cannot take ends the program
};

// Reads the variable once. An unknown value counts as quiet, with a message.
Mode mode();

// Writes a line that begins with the layer's name to stderr.
void report(const std::string& text);
// Reports in modes `log` and `strict` only.
void tell(const std::string& text);
// Why the layer cannot work on a device, so that all calls of the device pass through. Does not return in mode
// `strict`.
void reportIdle(const std::string& reason);

// Counts attention kernels and calls of the process. Thread-safe. On destruction, at the end of the program or when the
// loader unloads the layer, it writes the numbers if the mode is `log` or `strict`.
class Tally {
public:
    ~Tally();
    void recognised() { kernels_.fetch_add(1, std::memory_order_relaxed); }
    void replaced() { replaced_.fetch_add(1, std::memory_order_relaxed); }
    // A call of ggml's kernel stays as it is. Each reason is logged once. Does not return in mode `strict`.
    void passedThrough(const std::string& reason);

private:
    std::atomic<uint64_t> kernels_{0};
    std::atomic<uint64_t> replaced_{0};
    std::atomic<uint64_t> passed_{0};
    std::mutex mutex_;
    std::set<std::string> reasons_;
};

Tally& tally();

} // namespace vkf::layer

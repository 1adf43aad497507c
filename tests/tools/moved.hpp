// SPDX-License-Identifier: MIT
//
// Reads an entry of the traffic model.
#pragma once

#include <string>

#include "model/traffic.hpp"

namespace vkf::test {

// Read and written bytes of one entry; -1 if there is none.
struct Moved {
    double read;
    double written;

    bool operator==(const Moved&) const = default;
};

inline Moved moved(const tools::Traffic& traffic, const std::string& what) {
    for (const tools::TrafficEntry& entry : traffic.entries) {
        if (entry.what == what) {
            return {entry.read, entry.written};
        }
    }
    return {-1, -1};
}

} // namespace vkf::test

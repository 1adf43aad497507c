// SPDX-License-Identifier: MIT
//
// The rows of `vkflash_lab variants`. A row says how it changes a plain problem, with which base row it is compared,
// and which ratio it aims at.
#pragma once

#include <string>
#include <vector>

#include "measure/call_runs.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

enum class Workload {
    prefill, // as many rows as keys; the bench times whole runs
    decode,  // one row against a long cache; the bench times chains of calls
};

enum class AimOf {
    nothing, // no aim
    time,    // time relative to the base: `limit` at most
    rate,    // operations a second relative to the base: `limit` at least
};

struct Aim {
    AimOf of = AimOf::nothing;
    double limit = 0;
};

struct Variant {
    const char* name;
    Workload workload;
    void (*apply)(ExtraCall& call); // changes the plain call of the workload
    const char* base;               // name of the row to compare with; nullptr = none
    Aim aim;
};

// The rows with these names, and their bases, in the order of the table. An empty list means all rows. Throws
// ProgramError about --only for an unknown name.
std::vector<Variant> selectVariants(const std::vector<std::string>& names);

// The row with this name. Throws ProgramError like selectVariants.
const Variant& variantNamed(const std::string& name);

} // namespace vkf::tools

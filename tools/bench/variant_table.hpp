// SPDX-License-Identifier: MIT
//
// The rows of `vkflash bench variants`: what each makes of a plain problem, beside which row it is timed, and how near
// it is meant to come.
#ifndef VKFLASH_TOOLS_VARIANT_TABLE_HPP
#define VKFLASH_TOOLS_VARIANT_TABLE_HPP

#include <string>
#include <vector>

#include "bench/call_extras.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

enum class Workload {
    prefill, // as many rows as keys: whole runs are timed
    decode,  // one row against a long cache: chains of calls are timed
};

// A call to be made: the plain one of its workload until a variant changes it.
struct VariantCall {
    VkfProblem problem;
    CallExtras extras{};
    double pairsOfHead = 0; // (query row, key) pairs that a head sees; 0 = as the plan counts them
};

enum class AimOf {
    nothing, // a figure for information
    time,    // at most this share of the base's
    rate,    // at least this share of the base's operations a second
};

struct Aim {
    AimOf of = AimOf::nothing;
    double limit = 0;
};

struct Variant {
    const char* name;
    Workload workload;
    void (*apply)(VariantCall& call);
    const char* base; // name of the row that it is timed beside; nullptr = it is a base itself
    Aim aim;
};

// Of the names that are given, and their bases, in the table's order; of no names all. ProgramError names --only.
std::vector<Variant> selectVariants(const std::vector<std::string>& names);

// The same of one name.
const Variant& variantNamed(const std::string& name);

} // namespace vkf::tools

#endif

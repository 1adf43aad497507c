// SPDX-License-Identifier: MIT
//
// A Vulkan implementation that fails on demand. It stands between the library and the loader of the test device, and
// counts the objects. Outputs of a failed call are garbage, as Vulkan allows. Allocations of the implementation behind
// it never fail (support/allocations.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <vulkan/vulkan_core.h>

#include <vkflash/types.h>

namespace vkf::test {

// What goes wrong. Calls are counted from the begin of a Faults object.
struct Fault {
    std::string function{};             // the function that fails; empty = none does
    uint64_t call = 0;                  // which of its calls fails, from 0 on
    VkResult result = VK_ERROR_UNKNOWN; // what this call returns
    bool forever = false;               // all later calls of the function fail too
    std::string missing{};              // a function that the implementation lacks; empty = it has all
};

// Who compiles pipelines. Made-up pipelines take no time, and nothing can be recorded with them. They must be destroyed
// while the Faults object lives.
enum class Compiler { real, madeUp };

// From its construction to its destruction, the calls go wrong as `fault` says. One object at a time.
class Faults {
public:
    explicit Faults(Fault fault = {}, Compiler compiler = Compiler::real);
    ~Faults();
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;

    // Names of the calls that can fail, in order.
    const std::vector<std::string>& calls() const;
    // Names of the functions that the library asked for, each once.
    const std::vector<std::string>& functions() const;
    // Whether the fault came.
    bool happened() const;
    // Calls of a function, failed ones too.
    uint64_t count(const std::string& function) const;

    // Returns the objects that were created through the wrappers and still live, and destructions of objects that did
    // not exist, one for each line. Forgets them, so that a later call does not report them again.
    static std::string takeLeftovers();
};

// The entry of the implementation that fails on demand. Works without a Faults object too: then nothing fails.
PFN_vkVoidFunction VKAPI_CALL faultyEntry(VkInstance instance, const char* name);

// The errors that a function may return, by the Vulkan specification.
std::vector<VkResult> errorsOf(const std::string& function);

// The library's code for an error of Vulkan.
VkfResult libraryResult(VkResult result);

} // namespace vkf::test

// SPDX-License-Identifier: MIT
//
// The test program's operator new counts its calls, and fails on demand. So a test can check that code does not
// allocate, or what code does when it cannot.
#pragma once

#include <cstddef>

namespace vkf::test {

// Calls of operator new by this thread so far, in all its forms.
size_t allocationCount() noexcept;

// While it lives, one allocation of this thread fails: the one with number `index`, from 0 on. The operator throws
// std::bad_alloc, or returns null in its nothrow forms. One object at a time.
class FailingAllocation {
public:
    explicit FailingAllocation(size_t index) noexcept;
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;

    bool happened() const noexcept;
};

// While it lives, allocations of this thread work and do not count towards a FailingAllocation. For code that is not
// under test, such as a driver.
class AllocationsWork {
public:
    AllocationsWork() noexcept;
    ~AllocationsWork();
    AllocationsWork(const AllocationsWork&) = delete;
    AllocationsWork& operator=(const AllocationsWork&) = delete;
};

} // namespace vkf::test

// SPDX-License-Identifier: MIT
//
// The test program's operator new counts, so that a test can say what must not allocate.
#pragma once

#include <cstddef>

namespace vkf::test {

// Calls of operator new, in all its forms, by this thread so far.
size_t allocationCount() noexcept;

} // namespace vkf::test

// SPDX-License-Identifier: MIT
//
// The test program's operator new counts its calls. So a test can check that code does not allocate.
#pragma once

#include <cstddef>

namespace vkf::test {

// Calls of operator new by this thread so far, in all its forms.
size_t allocationCount() noexcept;

} // namespace vkf::test

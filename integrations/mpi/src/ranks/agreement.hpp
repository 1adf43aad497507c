// SPDX-License-Identifier: MIT
//
// What the ranks compare before anything travels.
#pragma once

#include "ranks/communicator.hpp"

#include <vkflash/mpi.hpp>

namespace vkf::mpi {

// The fields of the whole call, the split and the lengths, by name.
Agreement agreementOf(const VkfProblem& whole, const Split& split, const Lengths& lengths);
// The version of the library.
Agreement versionAgreement();

} // namespace vkf::mpi

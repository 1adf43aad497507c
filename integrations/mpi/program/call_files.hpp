// SPDX-License-Identifier: MIT
//
// The inputs of a call in files, of which this rank reads its part. `run` and `backward` share them.
#pragma once

#include <array>

#include "cli/inputs.hpp"
#include "part_files.hpp"
#include "session.hpp"

namespace vkf::mpi::program {

class CallFiles {
public:
    // Opens q, k and v, and loads the small inputs. Throws ProgramError.
    CallFiles(const tools::InputFiles& files, const tools::MathOptions& math);

    const VkfProblem& problem() const { return problem_; }
    Lengths lengths() const;
    FileLayout layoutOf(VkfTensorRole role, VkfType type) const;
    FileLayout lseLayout() const;
    // q, k and v of this rank. Kept until the next call.
    PartInputs read(const Part& part);
    const tools::Inputs& shapes() const { return inputs_; }

private:
    std::vector<MappedFile> files_;
    tools::Inputs inputs_; // without the elements of q, k and v
    VkfProblem problem_{};
    std::array<Bytes, 3> parts_;
};

} // namespace vkf::mpi::program

// SPDX-License-Identifier: MIT
//
// The problem of a study: tensors from files with the flags of `run`, or random tensors with the flags of `verify`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "cli/options.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

struct StudyInputOptions {
    InputFiles files;
    ShapeOptions shape;
    MathOptions math;
    uint64_t seed = 1;
    bool randomLengths = false;
    std::optional<double> blockDensity;
    const CLI::App* command = nullptr; // the command of these flags
};

// Adds all flags except those of masks and scores. Each study adds the ones that it needs.
void addStudyInputOptions(CLI::App& command, StudyInputOptions& options);

class StudyInputs {
public:
    // Throws ProgramError with flag, file and limit.
    explicit StudyInputs(const StudyInputOptions& options);
    StudyInputs(const StudyInputs&) = delete;
    StudyInputs& operator=(const StudyInputs&) = delete;

    const VkfProblem& problem() const { return problem_; } // with lse
    host::HostTensors tensors();                           // o and lse are scratch memory
    uint64_t rows() const { return uint64_t{problem_.batch} * problem_.queryHeads * problem_.queryRows; }
    uint32_t valueDim() const { return problem_.valueDim != 0 ? problem_.valueDim : problem_.headDim; }
    std::string text() const; // "2 heads, 1024 rows, 1024 keys, D = 64, f16"

private:
    void load(const StudyInputOptions& options);

    VkfProblem problem_{};
    std::optional<Inputs> files_;
    std::optional<RandomTensors> random_;
    std::vector<uint32_t> blockMask_; // from a file
    std::vector<std::byte> o_;
    std::vector<float> lse_;
};

// The results of an fp64 algorithm of the reference. runReference shows a progress bar.
struct ReferenceResult {
    std::vector<double> o;
    std::vector<double> lse;
};
ReferenceResult runReference(StudyInputs& inputs, VkfReferenceOptions options, const std::string& label);

} // namespace vkf::tools

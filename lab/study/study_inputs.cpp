// SPDX-License-Identifier: MIT
#include "study/study_inputs.hpp"

#include <array>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/verdict.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr std::array<const char*, 11> randomFlags = {"--block-density", "--batch", "--heads",         "--kv-heads",
                                                     "--rows",          "--keys",  "--dim",           "--value-dim",
                                                     "--type",          "--seed",  "--random-lengths"};

} // namespace

void addStudyInputOptions(CLI::App& command, StudyInputOptions& options) {
    options.command = &command;
    options.shape.heads = 2;
    addInputOptions(command, options.files);
    addShapeOptions(command, options.shape);
    command.remove_option(command.get_option("--lse")); // a study always computes lse
    addMaskBlockOption(command, options.math.maskBlock);
    command.add_flag("--random-lengths", options.randomLengths, "use a random number of keys for each sequence");
    command.add_option("--block-density", options.blockDensity,
                       "share of open blocks of the block mask (default: 0.5)");
    addValue(command, "--seed", options.seed, "seed of the random numbers");
}

StudyInputs::StudyInputs(const StudyInputOptions& options) {
    if (filesGiven(options.files).empty()) {
        if (options.blockDensity)
            checkDensity(*options.blockDensity, options.math.maskBlock);
        problem_ = makeProblem(options.shape, options.math);
        enable(problem_, VKF_USE_KEY_LENGTHS, options.randomLengths);
    } else {
        load(options);
    }
    enable(problem_, VKF_USE_LSE);
    if (files_) {
        const VkfTensorLayout layout = vkf::layoutOf(problem_, VKF_TENSOR_O);
        o_.resize(layout.elements * vkfTypeBytes(layout.type));
        lse_.resize(rows());
    } else {
        random_.emplace(problem_, options.seed, options.blockDensity.value_or(0.5));
    }
}

void StudyInputs::load(const StudyInputOptions& options) {
    for (const char* flag : randomFlags)
        if (options.command->get_option(flag)->count() != 0)
            failInput("{}: is about random tensors, but {} {} is given", flag, filesGiven(options.files)[0].flag,
                      filesGiven(options.files)[0].path);
    files_ = loadInputs(options.files);
    problem_ = fileProblem(*files_, options.math, {});
    VkfMessage message{};
    if (vkfCheckProblem(&problem_, &message) != VKF_SUCCESS)
        failInput("{}: {}", files_->source, message.text);
    blockMask_ = packBlockMask(*files_, problem_);
}

host::HostTensors StudyInputs::tensors() {
    if (random_)
        return random_->pointers(problem_);
    host::HostTensors tensors{.q = files_->q.bytes.data(), .k = files_->k.bytes.data(), .v = files_->v.bytes.data()};
    handOptional(*files_, tensors);
    tensors.blockMask = blockMask_.data();
    tensors.o = o_.data();
    tensors.lse = lse_.data();
    return tensors;
}

std::string StudyInputs::text() const {
    const VkfProblem& p = problem_;
    const std::string sequences = p.batch == 1 ? "" : fmt::format("{} sequences, ", p.batch);
    const std::string dims =
        valueDim() == p.headDim ? std::to_string(p.headDim) : fmt::format("{}/{}", p.headDim, valueDim());
    return fmt::format("{}{} head{}, {} rows, {} keys, D = {}, {}{}", sequences, p.queryHeads,
                       p.queryHeads == 1 ? "" : "s", p.queryRows, p.keys, dims, vkfTypeName(p.q.type),
                       has(p, VKF_USE_CAUSAL) ? ", causal" : "");
}

ReferenceResult runReference(StudyInputs& inputs, VkfReferenceOptions options, const std::string& label) {
    ReferenceResult result;
    result.lse.resize(inputs.rows());
    result.o.resize(inputs.rows() * inputs.valueDim());
    Progress progress(label);
    options.progress = [](void* user, double share) { static_cast<Progress*>(user)->update(share); };
    options.user = &progress;
    const VkfReferenceInputs memory = referenceInputs(inputs.tensors());
    VkfMessage message{};
    if (const VkfResult status =
            vkfReferenceAttention(&inputs.problem(), &memory, &options, result.o.data(), result.lse.data(), &message);
        status != VKF_SUCCESS)
        throw host::Error(status, fmt::format("the CPU reference failed: {}", message.text));
    return result;
}

} // namespace vkf::tools

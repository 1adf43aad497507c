// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "cli/error.hpp"

namespace vkf::mpi::program {
namespace {

bool brokenDown = false;
int standardErrors = -1; // a copy of stderr

void silence(int stream) {
    if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
        dup2(nowhere, stream);
        close(nowhere);
    }
}

} // namespace

void addSplitOptions(CLI::App& command, SplitOptions& options) {
    command
        .add_option("--distribution", options.distribution,
                    "rows and keys of a rank: contiguous, zigzag (default: zigzag for causal calls)")
        ->type_name("NAME");
    command
        .add_option("--method", options.method,
                    "how ranks work together: ring, heads (default: the one that moves fewer bytes)")
        ->type_name("NAME");
    command
        .add_option("--transport", options.transport,
                    "how blocks of the ring travel: messages (default: shared memory where all ranks are on one node)")
        ->type_name("NAME");
}

Split splitOf(const SplitOptions& options, const VkfProblem& problem) {
    Split split;
    if (options.distribution == "zigzag" || (options.distribution == "auto" && has(problem, VKF_USE_CAUSAL))) {
        split.distribution = Distribution::zigzag;
    } else if (options.distribution != "contiguous" && options.distribution != "auto") {
        tools::failInput("--distribution {}: takes one of auto, contiguous, zigzag", options.distribution);
    }
    if (options.method == "ring") {
        split.method = Method::ring;
    } else if (options.method == "heads") {
        split.method = Method::headExchange;
    } else if (options.method != "auto") {
        tools::failInput("--method {}: takes one of auto, ring, heads", options.method);
    }
    if (options.transport == "messages") {
        split.transport = Transport::messages;
    } else if (options.transport != "auto") {
        tools::failInput("--transport {}: takes one of auto, messages", options.transport);
    }
    return split;
}

const char* distributionName(Distribution distribution) {
    return distribution == Distribution::zigzag ? "zigzag" : "contiguous";
}

const char* methodName(Method method) {
    switch (method) {
    case Method::ring:
        return "ring";
    case Method::headExchange:
        return "heads";
    default:
        return "auto";
    }
}

Ranks openRanks(const tools::DeviceFlags& flags, MPI_Comm communicator) {
    host::DeviceOptions options;
    options.select = flags.device;
    options.validation = flags.validation;
    options.tuning = tools::loadTuning(flags.tuning);
    options.onValidationMessage = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
    return Ranks(communicator, options);
}

void silenceOtherRanks() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        standardErrors = dup(STDERR_FILENO);
        silence(STDOUT_FILENO);
        silence(STDERR_FILENO);
    }
}

void together(const Ranks& ranks, const std::function<void()>& work) {
    ranks.together([&] {
        try {
            work();
        } catch (const tools::ProgramError& error) {
            throw host::Error(VKF_ERROR_INVALID_ARGUMENT, error.what());
        }
    });
}

RunReport travelling(const std::function<RunReport()>& run) {
    try {
        return run();
    } catch (...) {
        brokenDown = true;
        if (standardErrors >= 0) {
            dup2(standardErrors, STDERR_FILENO);
        }
        throw;
    }
}

bool hasBrokenDown() { return brokenDown; }

} // namespace vkf::mpi::program

// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "cli/error.hpp"

namespace vkf::mpi::program {
namespace {

std::unique_ptr<Ranks> openedRanks; // outlives the errors of a command
int standardErrors = -1;            // a copy of stderr
bool isAlone = false;               // this rank ends by an error, and the others do not

bool haveFailed() { return openedRanks && openedRanks->hasFailed(); }

// Whether the other ranks come here too, as after an error that all have. Otherwise they wait for this rank.
bool othersCome() {
    constexpr std::chrono::seconds patience(5);
    const auto end = std::chrono::steady_clock::now() + patience;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    int all = 0;
    while (MPI_Test(&request, &all, MPI_STATUS_IGNORE) == MPI_SUCCESS && all == 0 &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return all != 0;
}

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
    command
        .add_option("--head-groups", options.headGroups,
                    "groups of KV heads that the ring takes one after the other (default: chosen)")
        ->type_name("N");
    command.add_flag("--share-device", options.shareDevice, "let several ranks use one GPU, to try things out");
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
    split.headGroups = options.headGroups;
    return split;
}

Ranks openRanks(const tools::DeviceFlags& flags, const SplitOptions& split) {
    openedRanks = std::make_unique<Ranks>(MPI_COMM_WORLD, tools::deviceOptions(flags));
    const Ranks& ranks = *openedRanks;
    const bool isGpu = ranks.deviceSummary().kind != host::DeviceKind::cpu;
    together(ranks, [&] {
        if (isGpu && ranks.ranksOnDevice() > 1 && !split.shareDevice) {
            tools::failInput("{} ranks share the device {}; start as many ranks as there are devices, or allow it with "
                             "--share-device",
                             ranks.ranksOnDevice(), ranks.deviceSummary().name);
        }
    });
    if (isGpu && ranks.ranksOnDevice() > 1) {
        fmt::print(stderr, "NOTE: {} ranks share the device {}. Times say nothing about as many GPUs.\n",
                   ranks.ranksOnDevice(), ranks.deviceSummary().name);
    }
    return ranks;
}

std::string sharedText(const Ranks& ranks) {
    return ranks.ranksOnDevice() > 1 ? fmt::format(", {} of them on this device", ranks.ranksOnDevice()) : "";
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

tools::Action overRanks(std::function<void()> command) {
    return [command = std::move(command)] {
        try {
            command();
        } catch (...) {
            isAlone = !haveFailed() && !othersCome();
            if ((haveFailed() || isAlone) && standardErrors >= 0) {
                dup2(standardErrors, STDERR_FILENO);
            }
            if (isAlone) {
                int rank = 0;
                MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                fmt::print(stderr, "vkflash_mpi: rank {}: an error of this rank alone ends all ranks\n", rank);
            }
            throw;
        }
    };
}

bool closeRanks() {
    if (haveFailed() || isAlone) {
        static_cast<void>(openedRanks.release()); // its device may never finish
        return true;
    }
    openedRanks.reset();
    return false;
}

} // namespace vkf::mpi::program

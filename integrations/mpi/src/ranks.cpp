// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>

#include "ranks/agreement.hpp"
#include "state.hpp"

namespace vkf::mpi {
namespace {

// Ranks of one node take the devices of the best kind in turn.
std::string selectByLocalRank(int localRank, PFN_vkGetInstanceProcAddr load) {
    std::vector<host::DeviceSummary> usable;
    for (host::DeviceSummary& device : host::listDevices(load)) {
        if (device.usable == VKF_SUCCESS) {
            usable.push_back(std::move(device));
        }
    }
    if (usable.empty()) {
        return ""; // host::Device says what is missing
    }
    host::DeviceKind best = usable.front().kind;
    for (const host::DeviceSummary& device : usable) {
        best = std::min(best, device.kind);
    }
    std::erase_if(usable, [&](const host::DeviceSummary& device) { return device.kind != best; });
    return std::to_string(usable[static_cast<size_t>(localRank) % usable.size()].index);
}

} // namespace

State::State(MPI_Comm communicator, const host::DeviceOptions& options) : ranks(communicator) {
    ranks.agree(versionAgreement());
    ranks.together([&] {
        host::DeviceOptions own = options;
        if (own.select.empty()) {
            own.select = selectByLocalRank(ranks.localRank(), options.getInstanceProcAddr);
        }
        gpu = std::make_unique<Gpu>(own);
    });
    const std::vector<int64_t> devices = ranks.gathered(static_cast<int64_t>(gpu->identity()));
    const std::vector<int64_t> nodes = ranks.gathered(ranks.node());
    const auto own = static_cast<size_t>(ranks.rank());
    for (size_t i = 0; i < devices.size(); ++i) {
        ranksOnDevice += i != own && devices[i] == devices[own] && nodes[i] == nodes[own] ? 1 : 0;
    }
}

State::~State() {
    if (gpu != nullptr && gpu->isGivenUp()) {
        static_cast<void>(gpu.release());
    }
}

void State::guarded(const std::function<void()>& work) {
    try {
        ranks.guarded(work);
    } catch (...) {
        gpu->settle();
        throw;
    }
}

RunReport State::run(const std::function<void(RunReport&)>& work) {
    using Clock = std::chrono::steady_clock;
    RunReport report;
    const Clock::time_point start = Clock::now();
    guarded([&] { work(report); });
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return report;
}

Ranks::Ranks(MPI_Comm communicator, const host::DeviceOptions& options)
    : state_(std::make_shared<State>(communicator, options)) {}

int Ranks::rank() const noexcept { return state_->ranks.rank(); }

int Ranks::size() const noexcept { return state_->ranks.size(); }

const host::DeviceSummary& Ranks::deviceSummary() const noexcept { return state_->gpu->base().summary(); }

uint64_t Ranks::validationMessageCount() const noexcept { return state_->gpu->base().validationMessageCount(); }

uint32_t Ranks::ranksOnDevice() const noexcept { return state_->ranksOnDevice; }

bool Ranks::hasFailed() const noexcept { return state_->ranks.hasFailed(); }

uint64_t Ranks::peakBytes() const noexcept { return state_->gpu->peakBytes(); }

void Ranks::resetPeakBytes() noexcept { state_->gpu->resetPeakBytes(); }

void Ranks::together(const std::function<void()>& work) const { state_->ranks.together(work); }

} // namespace vkf::mpi

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "cli/error.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/verdict.hpp"
#include "measure/compute_shader.hpp"
#include "measure/memory_use.hpp"
#include "measure/problem_measure.hpp"
#include "measure/problem_memory.hpp"
#include "soak/soak.hpp"
#include "tensors/generator.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr size_t settings = 16; // of the lengths
constexpr size_t maxCallsOfRound = 256;
constexpr double roundSeconds = 0.2;
// Memory may change by this much for reasons of the driver and of the C++ library. A leak of nine bytes a call passes
// it within a million calls.
constexpr uint64_t maxGrowth = 8ULL << 20;

VkfProblem decodeProblem(const host::Device& device) {
    auto problem = make<VkfProblem>();
    problem.batch = 4;
    problem.queryHeads = 8;
    problem.kvHeads = 2;
    problem.queryRows = 1;
    problem.keys = 1024;
    problem.headDim = 64;
    problem.q = problem.k = problem.v = problem.o = dense(VKF_TYPE_F16);
    enable(problem, VKF_USE_KEY_LENGTHS);
    if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS)
        problem.q = problem.k = problem.v = problem.o = dense(VKF_TYPE_F32); // the device stores no 16-bit types
    return problem;
}

// One setting of the lengths, and the output of its calls.
struct Setting {
    std::vector<int32_t> lengths;
    host::Buffer lengthsBuffer, o;
    std::vector<std::byte> first; // the output of the first call
};

class DecodeCalls {
public:
    explicit DecodeCalls(host::Device& device)
        : device_(device), problem_(decodeProblem(device)), plan_(device, problem_), tensors_(problem_, 1),
          q_(uploaded(device, tensors_.q)), k_(uploaded(device, tensors_.k)), v_(uploaded(device, tensors_.v)),
          scratch_(device.createBuffer(plan_.info().scratchBytes)) {
        for (size_t i = 0; i < settings; ++i)
            settings_[i] = settingOf(i);
    }

    // Records and submits calls: each setting once, then settings at random. Returns the first setting whose output
    // differs from that of its first call.
    std::optional<size_t> round(size_t calls);

    // Compares the first outputs with the reference. Throws ProgramError.
    void verifyFirst();

    const std::vector<int32_t>& lengthsOf(size_t setting) const { return settings_[setting].lengths; }

private:
    Setting settingOf(size_t number);
    void record(VkCommandBuffer commands, const Setting& setting);

    host::Device& device_;
    VkfProblem problem_;
    host::Plan plan_;
    RandomTensors tensors_;
    host::Buffer q_, k_, v_, scratch_;
    std::array<Setting, settings> settings_;
    Generator generator_{1};
};

// The first two settings are the longest and the shortest sequences.
Setting DecodeCalls::settingOf(size_t number) {
    Setting setting;
    for (uint32_t i = 0; i < problem_.batch; ++i) {
        const auto random = static_cast<int32_t>(generator_.next() % (problem_.keys + 1));
        setting.lengths.push_back(number == 0 ? static_cast<int32_t>(problem_.keys)
                                              : (number == 1 ? static_cast<int32_t>(i) : random));
    }
    setting.lengthsBuffer = uploaded(device_, setting.lengths);
    setting.o = uploaded(device_, tensors_.o);
    return setting;
}

void DecodeCalls::record(VkCommandBuffer commands, const Setting& setting) {
    auto bindings = make<VkfBindings>();
    bindings.q = q_.binding();
    bindings.k = k_.binding();
    bindings.v = v_.binding();
    bindings.o = setting.o.binding();
    bindings.keyLengths = setting.lengthsBuffer.binding();
    bindings.scratch = scratch_.binding();
    recordAttention(commands, plan_.handle(), bindings);
    recordComputeBarrier(device_, commands);
}

std::optional<size_t> DecodeCalls::round(size_t calls) {
    for (const Setting& setting : settings_)
        device_.fill(setting.o, notANumber);
    device_.submit([&](VkCommandBuffer commands) {
        for (size_t i = 0; i < calls; ++i)
            record(commands, settings_[i < settings ? i : generator_.next() % settings]);
    });
    std::vector<std::byte> o(tensors_.o.size());
    for (size_t i = 0; i < settings; ++i) {
        device_.download(o.data(), settings_[i].o, o.size());
        if (settings_[i].first.empty())
            settings_[i].first = o;
        else if (settings_[i].first != o)
            return i;
    }
    return std::nullopt;
}

void DecodeCalls::verifyFirst() {
    for (Setting& setting : settings_) {
        host::HostTensors tensors = tensors_.pointers(problem_);
        tensors.keyLengths = setting.lengths.data();
        tensors.o = setting.first.data();
        requirePassed(verifyResult(problem_, tensors, plan_.info()),
                      fmt::format("{}, lengths {}", plan_.info().description, fmt::join(setting.lengths, ", ")));
    }
}

// A CPU's device memory is host memory, and its driver counts what other processes use.
std::optional<uint64_t> memoryOf(const host::Device& device) {
    return device.summary().kind == host::DeviceKind::cpu ? std::nullopt : deviceMemoryInUse(device);
}

// What memory grew by since the calls settled. Empty where the system does not tell.
struct Growth {
    std::optional<uint64_t> before, after;

    bool fits() const { return !before || !after || *after <= *before + maxGrowth; }
    std::string text() const {
        if (!before || !after)
            return "unknown";
        return bytesText(static_cast<double>(*after > *before ? *after - *before : 0));
    }
};

} // namespace

SoakReport soakDecode(const DeviceFlags& flags, uint64_t calls, const Deadline& deadline) {
    Progress progress("decode calls");
    host::Device device = openDevice(flags);
    DecodeCalls decode(device);
    SoakReport report;
    Growth deviceGrowth, hostGrowth;
    uint64_t done = 0;
    size_t callsOfRound = settings;
    std::optional<size_t> changed;
    while (done == 0 || (done < calls && deadline.share() < 1 && !changed)) {
        const Stopwatch roundTime;
        const uint64_t left = std::max<uint64_t>(calls - done, settings);
        const size_t now = std::min<uint64_t>(callsOfRound, left);
        changed = decode.round(now);
        if (done == 0)
            decode.verifyFirst();
        else if (roundTime.seconds() < roundSeconds / 2)
            callsOfRound = std::min(callsOfRound * 2, maxCallsOfRound);
        done += now;
        const double share = std::max(deadline.share(), static_cast<double>(done) / static_cast<double>(calls));
        if (share < 0.25 || !hostGrowth.after) {
            deviceGrowth.before = memoryOf(device);
            hostGrowth.before = hostMemoryInUse();
        }
        deviceGrowth.after = memoryOf(device);
        hostGrowth.after = hostMemoryInUse();
        progress.update(std::min(share, 1.0));
    }
    if (flags.validation)
        checkValidation(device);
    report.clean = !changed && deviceGrowth.fits() && hostGrowth.fits();
    const std::string bits =
        changed ? fmt::format("DIFFERENT BITS at lengths {}", fmt::join(decode.lengthsOf(*changed), ", "))
                : "the same bits from first to last";
    report.text =
        fmt::format("decode   {} recorded calls over {} settings of lengths: {}; memory grew by {} on the device, "
                    "{} on the host{}\n",
                    done, settings, bits, deviceGrowth.text(), hostGrowth.text(),
                    deviceGrowth.fits() && hostGrowth.fits() ? "" : ", MORE THAN 8 MiB");
    return report;
}

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
//
// Which runs of a measurement count by the GPU's clock, how long a measurement goes on to get enough of them, and the
// kernel that measures the clock.
#include <string>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "measure/gpu_clock.hpp"
#include "measure/timing.hpp"
#include "support/device.hpp"

using namespace vkf;
using namespace vkf::tools;
using Catch::Approx;

namespace {

using Samples = std::vector<ClockSample>;

constexpr double full = 1980e6;
constexpr double low = 345e6;

// This many runs of one value at one clock.
Samples runs(size_t count, double value, double clock) { return Samples(count, {value, clock}); }

Samples operator+(Samples first, const Samples& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

struct Expected {
    const char* what;
    Samples samples;
    double highest;
    size_t counted;
    size_t leftOut;
    double clock;
    bool fullClock;
};

} // namespace

TEST_CASE("runs below the full clock do not count where enough others are there", "[clock]") {
    const std::vector<Expected> table = {
        {"no clock is known", runs(9, 1, 0), 0, 9, 0, 0, false},
        {"all are equal", runs(4, 1, full), full, 4, 0, full, true},
        {"two per cent of noise", runs(2, 1, full) + runs(9, 1, 0.98 * full), full, 11, 0, 0.98 * full, true},
        {"four per cent is a lower clock", runs(2, 1, full) + runs(3, 1, 0.96 * full), full, 2, 3, full, true},
        {"a drop in the middle", runs(7, 1, full) + runs(5, 4, low) + runs(6, 1, full), full, 13, 5, full, true},
        {"a rise after a slow start", runs(12, 4, low) + runs(6, 1, full), full, 6, 12, full, true},
        {"ten are enough, however many are slow", runs(10, 1, full) + runs(90, 4, low), full, 10, 90, full, true},
        {"nine of a hundred are too few", runs(9, 1, full) + runs(91, 4, low), full, 100, 0, low, false},
        {"a third is enough", runs(2, 1, full) + runs(4, 4, low), full, 2, 4, full, true},
        {"less than a third is too few", runs(1, 1, full) + runs(3, 4, low), full, 4, 0, low, false},
        {"all are below what was seen before", runs(20, 4, low), full, 20, 0, low, false},
        {"a clock that could not be read", runs(6, 1, full) + runs(1, 1, 0), full, 6, 1, full, true},
    };
    for (const Expected& expected : table) {
        INFO(expected.what);
        const CountedSamples counted = countedSamples(expected.samples, expected.highest);
        CHECK(counted.values.size() == expected.counted);
        CHECK(counted.leftOut == expected.leftOut);
        CHECK(counted.clock == expected.clock);
        CHECK(counted.fullClock == expected.fullClock);
    }
}

TEST_CASE("median, least and spread are of the runs that count", "[clock]") {
    const Timing timing = timingOf(runs(4, 4, low) + runs(1, 1, full) + runs(1, 2, full), full);
    CHECK(timing.runs == 2);
    CHECK(timing.leftOut == 4);
    CHECK(timing.median == 1.5);
    CHECK(timing.least == 1);
    CHECK(timing.most == 2);
    CHECK(timing.spread == Approx(1 / 1.5));
}

TEST_CASE("a row says its clock, and what did not count", "[clock]") {
    CHECK(clockText(timingOf(runs(3, 1, 0), 0)).empty());
    CHECK(clockText(timingOf(runs(3, 1, full), full)) == "  1980 MHz");
    CHECK(clockText(timingOf(runs(12, 4, low) + runs(10, 1, full), full)) == "  1980 MHz, 12 runs left out");
    CHECK(clockText(timingOf(runs(12, 4, low), full)) == "  345 MHz, unsteady: all runs count");
}

TEST_CASE("measuring goes on while too few runs were at full clock", "[clock]") {
    size_t made = 0;
    const TimingOptions options = {.warmUps = 0, .maxRuns = 5, .seconds = 60};
    const auto risingAfter = [&](size_t slow) {
        made = 0;
        return [&made, slow] { return ++made <= slow ? ClockSample{4, low} : ClockSample{1, full}; };
    };
    // The first runs are at the highest clock so far, until a higher one comes.
    Timing timing = measure(risingAfter(3), options, 0);
    CHECK(made == 5);
    CHECK(timing.runs == 2);
    CHECK(timing.leftOut == 3);
    // Now the first runs are known to be slow: a third of nine.
    timing = measure(risingAfter(6), options, full);
    CHECK(made == 9);
    CHECK(timing.median == 1);
    CHECK(timing.leftOut == 6);
    // A clock of the warm-up counts as seen.
    made = 0;
    const auto fallingThenRising = [&] { return ++made == 1 || made > 7 ? ClockSample{1, full} : ClockSample{4, low}; };
    timing = measure(fallingThenRising, {.warmUps = 1, .maxRuns = 5, .seconds = 60}, 0);
    CHECK(timing.leftOut == 6);
    CHECK(timing.median == 1);
}

TEST_CASE("measuring ends after three times its time though the clock stays low", "[clock]") {
    const TimeBudget none(5, 0);
    CHECK_FALSE(none.allowsAnother(1, true));
    CHECK_FALSE(none.allowsAnother(1, false));
    const TimeBudget some(5, 60);
    CHECK(some.allowsAnother(4, true));
    CHECK_FALSE(some.allowsAnother(5, true));
    CHECK(some.allowsAnother(5, false));
    const Timing timing = measure([] { return ClockSample{4, low}; }, {.maxRuns = 5, .seconds = 0.01}, full);
    CHECK(timing.runs > 5);
    CHECK(timing.leftOut == 0);
    CHECK_FALSE(timing.fullClock);
}

TEST_CASE("runs without clocks are measured as often as was asked for", "[clock]") {
    size_t made = 0;
    const auto run = [&] { return static_cast<double>(++made); };
    const Timing timing = measure(run, {.warmUps = 2, .maxRuns = 5, .seconds = 60});
    CHECK(made == 7);
    CHECK(timing.runs == 5);
    CHECK(timing.median == 5);
    CHECK(timing.clock == 0);
}

TEST_CASE("a kernel counts the cycles of its own clock", "[clock][gpu]") {
    host::Device& device = test::testDevice();
    if (!device.hasShaderClock() || device.summary().timestampPeriod == 0.0F) {
        SKIP("the device has no shader clock or no timestamps");
    }
    const ClockRate rate(device);
    const auto seconds =
        device.submit([](VkCommandBuffer) {}, [&](VkCommandBuffer commands) { rate.record(commands); });
    const double clock = rate.clock(seconds[1]);
    CHECK(clock > 1e5); // some drivers count by a clock of their own
    CHECK(clock < 1e10);
    CHECK(rate.clock(0) == 0);
    CHECK(rate.clock(1e-12) == 0); // as if the counter had wrapped around
}

TEST_CASE("the clock of a CPU is not taken for that of a GPU", "[clock][gpu]") {
    host::Device& device = test::testDevice();
    GpuClock clock(device);
    const ClockSample sample = clock.submit([](VkCommandBuffer) {});
    if (device.summary().kind == host::DeviceKind::cpu || !device.hasShaderClock()) {
        CHECK(sample.clock == 0);
    }
    CHECK(clock.highest() == sample.clock);
}

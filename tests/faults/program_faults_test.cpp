// SPDX-License-Identifier: MIT
//
// Calls of Vulkan and allocations that fail under the program `vkflash`. It ends with one line that names the fault,
// and writes no file.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "support/device.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"

using namespace vkf::test;
using Catch::Matchers::IsEmpty;

namespace {

// Sets variables of the environment, which programs inherit.
class Environment {
public:
    explicit Environment(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
        for (const auto& [name, value] : variables_) {
            setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~Environment() {
        for (const auto& [name, value] : variables_) {
            unsetenv(name.c_str());
        }
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    std::map<std::string, std::string> variables_;
};

std::string pathOfLoader() {
    Dl_info info{};
    REQUIRE(dladdr(reinterpret_cast<void*>(testDevice().getInstanceProcAddr()), &info) != 0);
    return info.dli_fname;
}

struct Case {
    const char* function;
    int call;
    VkResult result;
    const char* words; // of the message
};

ProgramResult runFaulty(const Workplace& place, const Case& fault, const std::string& arguments) {
    const Environment environment({{"LD_PRELOAD", VKFLASH_TEST_FAULTY_LOADER},
                                   {"VKFLASH_FAULTY_REAL", pathOfLoader()},
                                   {"VKFLASH_FAULTY_FUNCTION", fault.function},
                                   {"VKFLASH_FAULTY_CALL", std::to_string(fault.call)},
                                   {"VKFLASH_FAULTY_RESULT", std::to_string(fault.result)}});
    return place.run(arguments + " --device llvmpipe");
}

const std::string faultyRun = usual + " --lse lse.npy";

} // namespace

TEST_CASE("a Vulkan call that fails ends the program with one line and no file", "[faults]") {
    if (testDevice().summary().kind != vkf::host::DeviceKind::cpu) {
        SKIP("the calls are those of a run on llvmpipe");
    }
    const Workplace place;
    writeUsual(place);
    const std::vector<std::string> files = place.files();
    for (const Case& fault : {Case{"vkCreateInstance", 0, VK_ERROR_INITIALIZATION_FAILED, "vkCreateInstance"},
                              Case{"vkEnumeratePhysicalDevices", 1, VK_ERROR_OUT_OF_HOST_MEMORY, "vkEnumeratePhysical"},
                              Case{"vkCreateDevice", 0, VK_ERROR_DEVICE_LOST, "vkCreateDevice"},
                              Case{"vkCreatePipelineLayout", 0, VK_ERROR_OUT_OF_HOST_MEMORY, "vkCreatePipelineLayout"},
                              Case{"vkCreateComputePipelines", 0, VK_ERROR_UNKNOWN, "vkCreateComputePipelines"},
                              Case{"vkCreateBuffer", 2, VK_ERROR_OUT_OF_DEVICE_MEMORY, "does not fit into the memory"},
                              Case{"vkQueueSubmit", 0, VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
                              Case{"vkQueueSubmit", 4, VK_ERROR_OUT_OF_HOST_MEMORY, "vkQueueSubmit"},
                              Case{"vkWaitForFences", 3, VK_ERROR_DEVICE_LOST, "vkWaitForFences"},
                              Case{"vkWaitForFences", 5, VK_ERROR_DEVICE_LOST, "vkWaitForFences"}}) {
        INFO(fault.function << ", call " << fault.call);
        const ProgramResult result = runFaulty(place, fault, faultyRun);
        INFO(result.err);
        CHECK(result.status == 1);
        CHECK_THAT(result.out, IsEmpty());
        CHECK(isOneLine(result.err));
        CHECK(result.err.find("vkflash: ") == 0);
        CHECK(result.err.find(fault.words) != std::string::npos);
        CHECK(place.files() == files);
    }
    // A fault that does not come changes nothing.
    CHECK(runFaulty(place, {"vkQueueSubmit", 1000, VK_ERROR_DEVICE_LOST, ""}, faultyRun).status == 0);
    CHECK(place.files().size() == files.size() + 2);
}

TEST_CASE("a bench that loses its device reports what it measured before", "[faults]") {
    if (testDevice().summary().kind != vkf::host::DeviceKind::cpu) {
        SKIP("the calls are those of a bench on llvmpipe");
    }
    const Workplace place;
    bool reported = false;
    // Some submission after that of the first problem fails.
    for (int call = 8; call < 200 && !reported; call += 4) {
        const ProgramResult result =
            runFaulty(place, {"vkQueueSubmit", call, VK_ERROR_DEVICE_LOST, ""},
                      "bench --rows 8,9,10 --dims 8 --types f32 --paths scalar --heads 1 --runs 1 --json b.json");
        INFO("call " << call << "\n" << result.err);
        REQUIRE(result.status == 1);
        const auto report = nlohmann::json::parse(place.read("b.json"));
        CHECK(report["results"].size() + report["leftOut"].size() == 3);
        REQUIRE(!report["leftOut"].empty());
        CHECK(report["leftOut"].back()["reason"].get<std::string>().find("the bench ended here") == 0);
        reported = report["results"].size() == 1 && report["leftOut"].size() == 2;
    }
    CHECK(reported);
}

TEST_CASE("an allocation that fails ends the program with one line and no file", "[faults]") {
    if (testDevice().summary().kind != vkf::host::DeviceKind::cpu) {
        SKIP("the calls are those of a run on llvmpipe");
    }
    const Workplace place;
    writeUsual(place);
    const std::vector<std::string> files = place.files();
    int failed = 0;
    for (long allocation = 0; place.files() == files; allocation += 1 + allocation / 8) {
        INFO("allocation " << allocation);
        const Environment environment(
            {{"LD_PRELOAD", VKFLASH_TEST_FAULTY_MEMORY}, {"VKFLASH_FAULTY_ALLOCATION", std::to_string(allocation)}});
        const ProgramResult result = place.run(usual + " --lse lse.npy --device llvmpipe");
        INFO(result.err);
        if (result.status == 0) {
            break; // the program made fewer allocations
        }
        failed++;
        CHECK(result.status == 1);
        CHECK_THAT(result.out, IsEmpty());
        CHECK(isOneLine(result.err));
        CHECK(result.err.find("vkflash: ") == 0);
        CHECK(result.err.find("out of host memory") != std::string::npos);
    }
    CHECK(failed > 20);
    CHECK(place.files().size() == files.size() + 2);
}

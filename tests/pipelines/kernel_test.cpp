// SPDX-License-Identifier: MIT
//
// The table of kernels against the shaders that the build embeds.
#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "pipelines/shader_table.hpp"
#include "pipelines/spirv.hpp"
#include "pipelines/variant.hpp"

namespace {

std::vector<bool> choices(vkf::Built built) {
    return built == vkf::Built::both ? std::vector<bool>{false, true} : std::vector<bool>{built == vkf::Built::with};
}

std::vector<vkf::Variant> variantsOf(const vkf::KernelTraits& traits) {
    std::vector<vkf::Variant> variants;
    for (const bool storage16 : choices(traits.storage16)) {
        for (const bool subgroups : choices(traits.subgroups)) {
            for (const bool viaShared : choices(traits.viaShared)) {
                vkf::Variant variant;
                variant.kernel = traits.kernel;
                variant.storage16 = storage16;
                variant.subgroups = subgroups;
                variant.viaShared = viaShared;
                variants.push_back(variant);
            }
        }
    }
    return variants;
}

// The kernels without those that a launch starts.
std::vector<vkf::KernelTraits> kernelsOfSpirv() {
    std::vector<vkf::KernelTraits> kernels;
    std::copy_if(vkf::kernelTable.begin(), vkf::kernelTable.end(), std::back_inserter(kernels),
                 [](const vkf::KernelTraits& traits) { return !traits.launched; });
    return kernels;
}

std::set<uint32_t> capabilitiesOf(const vkf::ShaderBinary& binary) {
    constexpr uint32_t opCapability = 17;
    std::set<uint32_t> capabilities;
    const std::vector<uint32_t> module = binary.words();
    vkf::forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
        if (opcode == opCapability) {
            capabilities.insert(words[1]);
        }
    });
    return capabilities;
}

} // namespace

TEST_CASE("the table of kernels names every embedded shader and no other", "[planning]") {
    std::set<std::string> promised;
    for (const vkf::KernelTraits& traits : kernelsOfSpirv()) {
        for (const vkf::Variant& variant : variantsOf(traits)) {
            CHECK(promised.insert(vkf::shaderName(variant)).second);
        }
    }
    std::set<std::string> embedded;
    for (const vkf::ShaderBinary& binary : std::span(vkf::shaderBinaries, vkf::shaderBinariesCount)) {
        embedded.insert(binary.name);
    }
    CHECK(promised == embedded);
}

TEST_CASE("a kernel's shaders need the extensions that its row of the table says", "[planning]") {
    // SPIR-V's unified specification, section 3.31, and SPV_KHR_cooperative_matrix.
    constexpr uint32_t groupNonUniform = 61;
    constexpr uint32_t storageBuffer16BitAccess = 4433;
    constexpr uint32_t cooperativeMatrix = 6022;
    for (const vkf::KernelTraits& traits : kernelsOfSpirv()) {
        for (const vkf::Variant& variant : variantsOf(traits)) {
            const std::string name = vkf::shaderName(variant);
            CAPTURE(name);
            const vkf::ShaderBinary* binary = vkf::findShader({vkf::shaderBinaries, vkf::shaderBinariesCount}, name);
            REQUIRE(binary != nullptr);
            if (binary->units == nullptr) {
                continue; // an old glslang left it out
            }
            const std::set<uint32_t> capabilities = capabilitiesOf(*binary);
            CHECK(capabilities.contains(cooperativeMatrix) == traits.matrices);
            CHECK(capabilities.contains(groupNonUniform) == variant.subgroups);
            CHECK(capabilities.contains(storageBuffer16BitAccess) == variant.storage16);
        }
    }
}

// SPDX-License-Identifier: MIT
//
// Flags (shaders/common/compilers.glsl): where several invocations may store to one place in memory, they store
// atomically. A plain store there is a data race by Vulkan's memory model. No driver shows it as a wrong result, so the
// test reads SPIR-V.
#include <map>
#include <set>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "pipelines/shader_table.hpp"
#include "pipelines/spirv.hpp"

namespace {

using Words = std::span<const uint32_t>;

// Counts what a module does with flags. In shared memory a flag is a uint, or an array of one or two of them. In
// buffers it is where a kernel stores a constant other than 0.
//
// One invocation is elected for a plain store if the store's block is what `if (x == 0)` guards, or `if (x < 2)` for an
// array of two.
struct FlagStores {
    size_t atomic = 0;
    size_t elected = 0;
    size_t racing = 0;

    explicit FlagStores(const std::vector<uint32_t>& module) {
        vkf::forEachInstruction(std::span(module), [&](uint32_t opcode, Words words) {
            declare(opcode, words);
            followBranches(opcode, words);
            if (opcode == vkf::opStore) {
                countStore(words[1], words[2]);
            } else if (opcode == vkf::opAtomicStore || (opcode >= opAtomicExchange && opcode <= opAtomicXor)) {
                atomic++;
            }
        });
    }

private:
    // SPIR-V's unified specification, sections 3.7 and 3.42.
    static constexpr uint32_t opAtomicExchange = 229;
    static constexpr uint32_t opAtomicXor = 242;
    static constexpr uint32_t physicalStorageBuffer = 5349;
    static constexpr uint32_t maxFlags = 2; // of an array

    std::set<uint32_t> uints;
    std::map<uint32_t, uint32_t> constants;      // value of each 32-bit constant
    std::map<uint32_t, uint32_t> flagTypes;      // number of flags of a type that is one or an array of them
    std::map<uint32_t, uint32_t> sharedPointers; // number of flags of a type of pointers to them
    std::set<uint32_t> bufferPointers;
    std::map<uint32_t, uint32_t> sharedFlags; // number of flags behind a pointer
    std::set<uint32_t> bufferPlaces;
    std::map<uint32_t, uint32_t> elections; // the number of invocations for which a condition is true
    std::map<uint32_t, uint32_t> guarded;   // of a block
    uint32_t present = 0;                   // of the present block; 0 = many

    static uint32_t valueOr0(const std::map<uint32_t, uint32_t>& map, uint32_t key) {
        const auto found = map.find(key);
        return found == map.end() ? 0 : found->second;
    }

    void declare(uint32_t opcode, Words words) {
        if (opcode == vkf::opTypeInt && words[2] == 32 && words[3] == 0) {
            uints.insert(words[1]);
            flagTypes[words[1]] = 1;
        } else if (opcode == vkf::opConstant && uints.count(words[1]) != 0) {
            constants[words[2]] = words[3];
        } else if (opcode == vkf::opTypeArray && uints.count(words[2]) != 0) {
            const uint32_t length = valueOr0(constants, words[3]);
            if (length != 0 && length <= maxFlags) {
                flagTypes[words[1]] = length;
            }
        } else if (opcode == vkf::opTypePointer && words[2] == vkf::workgroupStorage &&
                   flagTypes.count(words[3]) != 0) {
            sharedPointers[words[1]] = flagTypes[words[3]];
        } else if (opcode == vkf::opTypePointer && words[2] == physicalStorageBuffer) {
            bufferPointers.insert(words[1]);
        } else if (opcode == vkf::opVariable && sharedPointers.count(words[1]) != 0) {
            sharedFlags[words[2]] = sharedPointers[words[1]];
        } else if (opcode == vkf::opAccessChain && sharedFlags.count(words[3]) != 0) {
            sharedFlags[words[2]] = sharedFlags[words[3]];
        } else if (opcode == vkf::opAccessChain && bufferPointers.count(words[1]) != 0) {
            bufferPlaces.insert(words[2]);
        }
    }

    void followBranches(uint32_t opcode, Words words) {
        if (opcode == vkf::opIEqual && (isConstant(words[3], 0) || isConstant(words[4], 0))) {
            elections[words[2]] = 1;
        } else if (opcode == vkf::opULessThan && isConstant(words[4], maxFlags)) {
            elections[words[2]] = maxFlags;
        } else if (opcode == vkf::opBranchConditional) {
            guarded[words[2]] = valueOr0(elections, words[1]);
        } else if (opcode == vkf::opLabel) {
            present = valueOr0(guarded, words[1]);
        }
    }

    bool isConstant(uint32_t id, uint32_t value) const {
        const auto found = constants.find(id);
        return found != constants.end() && found->second == value;
    }

    void countStore(uint32_t pointer, uint32_t object) {
        if (const uint32_t flags = valueOr0(sharedFlags, pointer); flags != 0) {
            (present != 0 && present <= flags ? elected : racing)++;
        } else if (bufferPlaces.count(pointer) != 0 && valueOr0(constants, object) != 0) {
            racing++;
        }
    }
};

const vkf::ShaderBinary* builtShader(const char* name) {
    const vkf::ShaderBinary* const found = vkf::findShader({vkf::shaderBinaries, vkf::shaderBinariesCount}, name);
    REQUIRE(found != nullptr);
    return found->units == nullptr ? nullptr : found;
}

// A shader in which every invocation, or those of `if (x == y)`, store 1 to a shared uint.
std::vector<uint32_t> storing(uint32_t y, uint32_t storageClass) {
    return {
        0x07230203,
        0x00010500,
        0,
        20,
        0, // header
        4 << 16 | 21U,
        1,
        32,
        0, // uint
        4 << 16 | 32U,
        2,
        storageClass,
        1, // pointer to it
        4 << 16 | 43U,
        1,
        3,
        0, // 0
        4 << 16 | 43U,
        1,
        4,
        1, // 1
        4 << 16 | 59U,
        2,
        5,
        storageClass, // variable
        2 << 16 | 248U,
        6, // block
        5 << 16 | 65U,
        2,
        7,
        5,
        3, // place
        5 << 16 | 170U,
        8,
        9,
        10,
        y, // x == y
        4 << 16 | 250U,
        9,
        11,
        12, // if
        2 << 16 | 248U,
        11, // then
        3 << 16 | 62U,
        7,
        4, // store 1
        2 << 16 | 248U,
        12, // end
    };
}

} // namespace

TEST_CASE("flags that several invocations may set are stored atomically", "[planning]") {
    for (const vkf::ShaderBinary& binary : std::span(vkf::shaderBinaries, vkf::shaderBinariesCount)) {
        if (binary.units != nullptr) {
            CAPTURE(binary.name);
            CHECK(FlagStores(binary.words()).racing == 0);
        }
    }
}

TEST_CASE("the kernels that set flags have atomic stores, and elect one invocation to clear them", "[planning]") {
    for (const char* const name :
         {"attention_coopmat_subgroups_storage16", "attention_decode_matrix_subgroups_storage16",
          "attention_latent_subgroups_storage16", "standard_output_coopmat_subgroups_storage16",
          "backward_scalar_storage16", "backward_coopmat_subgroups_storage16"}) {
        CAPTURE(name);
        if (const vkf::ShaderBinary* const binary = builtShader(name); binary != nullptr) {
            const FlagStores stores(binary->words());
            CHECK(stores.atomic > 0);
            CHECK(stores.elected > 0);
        }
    }
    for (const char* const name : {"attention_bf16x3_subgroups_storage16", "backward_sums_subgroups_storage16"}) {
        CAPTURE(name);
        if (const vkf::ShaderBinary* const binary = builtShader(name); binary != nullptr) {
            CHECK(FlagStores(binary->words()).atomic > 0);
        }
    }
}

TEST_CASE("a plain store by many invocations is found", "[planning]") {
    constexpr uint32_t physicalStorageBuffer = 5349;
    constexpr uint32_t zero = 3; // ids of constants
    constexpr uint32_t one = 4;
    CHECK(FlagStores(storing(one, vkf::workgroupStorage)).racing == 1);
    CHECK(FlagStores(storing(zero, vkf::workgroupStorage)).racing == 0);
    CHECK(FlagStores(storing(zero, vkf::workgroupStorage)).elected == 1);
    CHECK(FlagStores(storing(zero, physicalStorageBuffer)).racing == 1);
    std::vector<uint32_t> atomic = storing(one, vkf::workgroupStorage);
    atomic.resize(atomic.size() - 5); // the store and the last block
    atomic.insert(atomic.end(), {5 << 16 | 228U, 7, one, zero, one});
    CHECK(FlagStores(atomic).racing == 0);
    CHECK(FlagStores(atomic).atomic == 1);
}

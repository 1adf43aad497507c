// SPDX-License-Identifier: MIT
#include "pipelines/rolled_loops.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <span>

#include "pipelines/spirv.hpp"

namespace vkf {
namespace {

// Numbers of the unified SPIR-V specification.
constexpr uint32_t physicalStorageBuffer = 5349;
constexpr size_t controlOperand = 3;
constexpr uint32_t unroll = 1;
constexpr uint32_t dontUnroll = 2;

void roll(std::span<uint32_t> loopMerge) {
    if ((loopMerge[controlOperand] & unroll) != 0) {
        loopMerge[controlOperand] ^= unroll | dontUnroll;
    }
}

// Which instructions of a module use memory through addresses.
class MemoryUses {
public:
    explicit MemoryUses(std::span<const uint32_t> module) {
        uint32_t function = 0;
        forEachInstruction(module, [&](uint32_t opcode, std::span<const uint32_t> words) {
            if (opcode == opTypePointer && words[2] == physicalStorageBuffer) {
                pointers_.insert(words[1]);
            } else if (opcode == opFunction) {
                function = words[2];
            } else if (opcode == opFunctionCall) {
                calls_[function].insert(words[3]);
            } else if (makesAddress(opcode, words)) {
                functions_.insert(function);
            }
        });
        for (size_t before = 0; before != functions_.size();) { // callers of such functions, and their callers
            before = functions_.size();
            for (const auto& [caller, called] : calls_) {
                for (const uint32_t one : called) {
                    if (functions_.contains(one)) {
                        functions_.insert(caller);
                    }
                }
            }
        }
    }

    bool by(uint32_t opcode, std::span<const uint32_t> words) const {
        return makesAddress(opcode, words) || (opcode == opFunctionCall && functions_.contains(words[3]));
    }

private:
    bool makesAddress(uint32_t opcode, std::span<const uint32_t> words) const {
        return (opcode == opAccessChain || opcode == opConvertUToPtr || opcode == opBitcast) &&
               pointers_.contains(words[1]);
    }

    std::set<uint32_t> pointers_;  // types of pointers to such memory
    std::set<uint32_t> functions_; // that use it, themselves or in what they call
    std::map<uint32_t, std::set<uint32_t>> calls_;
};

void rollAll(std::span<uint32_t> module) {
    forEachInstruction(module, [](uint32_t opcode, std::span<uint32_t> words) {
        if (opcode == opLoopMerge) {
            roll(words);
        }
    });
}

void rollArithmetic(std::span<uint32_t> module) {
    struct Loop {
        std::span<uint32_t> merge; // the instruction that has the hint
        bool usesMemory = false;
    };
    const MemoryUses uses(module);
    std::vector<Loop> open; // glslang writes the block behind a loop right after the loop's own blocks
    forEachInstruction(module, [&](uint32_t opcode, std::span<uint32_t> words) {
        if (opcode == opLoopMerge) {
            open.push_back({words});
        } else if (opcode == opLabel && !open.empty() && words[1] == open.back().merge[1]) {
            if (!open.back().usesMemory) {
                roll(open.back().merge);
            }
            open.pop_back();
        } else if (uses.by(opcode, words)) {
            for (Loop& loop : open) {
                loop.usesMemory = true;
            }
        }
    });
}

} // namespace

std::vector<uint32_t> withLoops(Loops loops, std::vector<uint32_t> module) {
    switch (loops) {
    case Loops::asWritten:
        break;
    case Loops::rolledArithmetic:
        rollArithmetic(module);
        break;
    case Loops::rolled:
        rollAll(module);
        break;
    }
    return module;
}

} // namespace vkf

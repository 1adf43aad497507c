// SPDX-License-Identifier: MIT
#include "spirv.hpp"

#include <map>
#include <vector>

namespace vkf::layer {
namespace {

// Numbers of the SPIR-V specification.
constexpr uint32_t magic = 0x07230203;
constexpr size_t headerWords = 5;
enum Op : uint32_t {
    opTypeInt = 21,
    opTypeFloat = 22,
    opTypeStruct = 30,
    opTypePointer = 32,
    opVariable = 59,
    opDecorate = 71,
    opMemberDecorate = 72,
};
enum Decoration : uint32_t { specId = 1, binding = 33, descriptorSet = 34, offset = 35 };
constexpr uint32_t storageClassPushConstant = 9;

using Words = std::span<const uint32_t>;

// What later instructions refer to.
struct Declarations {
    std::map<uint32_t, char> scalars;                  // type -> its letter
    std::map<uint32_t, std::vector<uint32_t>> structs; // type -> types of its members
    std::map<uint32_t, uint32_t> pointers;             // type -> type that it points to
    std::map<uint32_t, uint32_t> sets, bindings;       // variable -> number
    std::map<uint64_t, uint32_t> offsets;              // struct and member -> offset
    uint32_t pushConstants = 0;                        // pointer type of the variable
};

uint64_t memberKey(uint32_t type, uint32_t member) { return uint64_t{type} << 32 | member; }

uint64_t bit(uint32_t number) { return uint64_t{1} << (number < 32 ? number : 32); }

void readDecoration(Words words, Declarations& known, ModuleInterface& read) {
    if (words.size() < 4) {
        return;
    }
    switch (words[2]) {
    case specId:
        read.constants |= bit(words[3]);
        break;
    case binding:
        known.bindings[words[1]] = words[3];
        break;
    case descriptorSet:
        known.sets[words[1]] = words[3];
        break;
    default:
        break;
    }
}

// `words` are those of one instruction, the first with its number.
void readInstruction(uint32_t op, Words words, Declarations& known, ModuleInterface& read) {
    switch (op) {
    case opTypeInt:
        known.scalars[words[1]] = words.size() > 2 && words[2] == 32 ? 'u' : '?';
        break;
    case opTypeFloat:
        known.scalars[words[1]] = words.size() > 2 && words[2] == 32 ? 'f' : '?';
        break;
    case opTypeStruct:
        known.structs[words[1]].assign(words.begin() + 2, words.end());
        break;
    case opTypePointer:
        if (words.size() > 3) {
            known.pointers[words[1]] = words[3];
        }
        break;
    case opVariable:
        if (words.size() > 3 && words[3] == storageClassPushConstant) {
            known.pushConstants = words[1];
        }
        break;
    case opDecorate:
        readDecoration(words, known, read);
        break;
    case opMemberDecorate:
        if (words.size() > 4 && words[3] == offset) {
            known.offsets[memberKey(words[1], words[2])] = words[4];
        }
        break;
    default:
        break;
    }
}

std::string pushConstantsOf(const Declarations& known) {
    std::string letters;
    const auto pointer = known.pointers.find(known.pushConstants);
    const auto block = pointer == known.pointers.end() ? known.structs.end() : known.structs.find(pointer->second);
    if (block == known.structs.end()) {
        return letters;
    }
    for (const uint32_t member : block->second) {
        const auto number = static_cast<uint32_t>(letters.size());
        const auto place = known.offsets.find(memberKey(block->first, number));
        const auto scalar = known.scalars.find(member);
        const bool packed = place != known.offsets.end() && place->second == number * sizeof(uint32_t);
        letters += packed && scalar != known.scalars.end() ? scalar->second : '?';
    }
    return letters;
}

} // namespace

ModuleInterface readInterface(Words words) {
    ModuleInterface read;
    if (words.size() < headerWords || words[0] != magic) {
        return read;
    }
    Declarations known;
    for (size_t at = headerWords; at < words.size();) {
        const uint32_t length = words[at] >> 16;
        if (length < 2 || length > words.size() - at) {
            if (length != 1) {
                return {};
            }
        } else {
            readInstruction(words[at] & 0xffff, words.subspan(at, length), known, read);
        }
        at += length;
    }
    for (const auto& [variable, number] : known.bindings) {
        const auto set = known.sets.find(variable);
        read.bindings |= set != known.sets.end() && set->second == 0 ? bit(number) : bit(32);
    }
    read.pushConstants = pushConstantsOf(known);
    return read;
}

} // namespace vkf::layer

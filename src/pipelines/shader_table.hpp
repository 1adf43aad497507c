// SPDX-License-Identifier: MIT
//
// The SPIR-V of every variant in shaders/variants.json. The build generates the table. Most words of SPIR-V are common
// words or small numbers, so that packed words take two fifths of the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pipelines/common_words.hpp"

namespace vkf {

struct ShaderBinary {
    const char* name;
    const uint8_t* units; // null if the variant is missing
    size_t unitCount;
    const char* missingReason; // why the variant is missing, or null

    // Returns the words of all units:
    //
    //     below 207     number of a common word
    //     207 to 254    207 + the higher byte of a word below 12288; the next unit is the lower byte
    //     255           the next four units are the bytes of a word, the lowest first
    std::vector<uint32_t> words() const {
        constexpr uint32_t wholeWord = 255;
        std::vector<uint32_t> words;
        words.reserve(unitCount);
        for (size_t i = 0; i < unitCount; i++) {
            const uint32_t unit = units[i];
            if (unit < commonWords.size()) {
                words.push_back(commonWords[unit]);
            } else if (unit < wholeWord) {
                words.push_back((unit - static_cast<uint32_t>(commonWords.size())) << 8 | units[++i]);
            } else {
                words.push_back(uint32_t{units[i + 1]} | uint32_t{units[i + 2]} << 8 | uint32_t{units[i + 3]} << 16 |
                                uint32_t{units[i + 4]} << 24);
                i += 4;
            }
        }
        return words;
    }
};

extern const ShaderBinary shaderBinaries[];
extern const size_t shaderBinariesCount;

// The shaders of src/host/matrices/shaders.json, which are in the host library.
extern const ShaderBinary hostShaderBinaries[];
extern const size_t hostShaderBinariesCount;

// The shaders of tools/measure/shaders.json, which are in the program.
extern const ShaderBinary toolShaderBinaries[];
extern const size_t toolShaderBinariesCount;

// Returns the variant of that name, or null if there is none. The SPIR-V of the variant may be missing.
inline const ShaderBinary* findShader(std::span<const ShaderBinary> shaders, std::string_view name) {
    const auto found = std::find_if(shaders.begin(), shaders.end(),
                                    [name](const ShaderBinary& shader) { return shader.name == name; });
    return found == shaders.end() ? nullptr : &*found;
}

} // namespace vkf

// SPDX-License-Identifier: MIT
#include "functions/file_writer.hpp"

#include <string_view>

#include "base/functions_format.hpp"
#include "base/hash.hpp"

namespace vkf::functions {
namespace {

class Writer {
public:
    void number(uint64_t value, size_t count) {
        for (size_t i = 0; i < count; i++) {
            bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
        }
    }

    void word(uint32_t value) { number(value, sizeof value); }

    // The text, and zero bytes up to the capacity.
    void text(std::string_view text, size_t capacity) {
        for (size_t i = 0; i < capacity; i++) {
            bytes_.push_back(i < text.size() ? static_cast<std::byte>(text[i]) : std::byte{0});
        }
    }

    // Writes the checksum into its place and returns everything.
    std::vector<std::byte> finish() {
        const uint64_t checksum = hashOf(std::span(bytes_).subspan(checkedOffset));
        for (size_t i = 0; i < sizeof checksum; i++) {
            bytes_[checksumOffset + i] = static_cast<std::byte>(checksum >> (8 * i) & 0xff);
        }
        return std::move(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
};

} // namespace

std::vector<std::byte> fileOf(VkfFunctionSet functions, const std::vector<VkfFunctionArray>& arrays, uint64_t key,
                              std::span<const CompiledKernel> kernels) {
    Writer writer;
    writer.text({functionsMagic, sizeof functionsMagic}, sizeof functionsMagic);
    writer.word(functionsFormatVersion);
    writer.word(vkfVersion());
    writer.number(0, checkedOffset - checksumOffset);
    writer.number(key, sizeof key);
    writer.word(functions);
    writer.word(static_cast<uint32_t>(arrays.size()));
    writer.word(static_cast<uint32_t>(kernels.size()));
    writer.word(0);
    for (const VkfFunctionArray& array : arrays) {
        writer.text({array.name, sizeof array.name}, sizeof array.name);
        writer.word(static_cast<uint32_t>(array.element));
        writer.word(0);
    }
    for (const CompiledKernel& kernel : kernels) {
        writer.text(kernel.name, kernelNameBytes);
        writer.number(kernel.words.size(), 8);
        writer.number(0, 8);
    }
    for (const CompiledKernel& kernel : kernels) {
        for (const uint32_t word : kernel.words) {
            writer.word(word);
        }
    }
    return writer.finish();
}

} // namespace vkf::functions

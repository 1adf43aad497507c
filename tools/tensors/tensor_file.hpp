// SPDX-License-Identifier: MIT
//
// Tensors in files. Readers and writers of the formats work on bytes alone (npy.hpp,
// safetensors.hpp), so that tests and fuzzers need no file system; this header adds the common types
// and the way from a path to a tensor.
#ifndef VKFLASH_TOOLS_TENSOR_FILE_HPP
#define VKFLASH_TOOLS_TENSOR_FILE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace vkf::tools {

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian and are used as they are");

// A file that is not what its format says. The text is one sentence without the file's name: the
// caller knows flag and file.
class FormatError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class ElementType { f32, f16, bf16, i32, i64, u8, boolean };

size_t elementBytes(ElementType type);
const char* elementName(ElementType type); // "f32"

using Shape = std::vector<uint64_t>;

// The most dimensions a tensor may have, as in NumPy.
inline constexpr size_t maxRank = 32;

// "[1, 4, 256, 64]"
std::string shapeText(const Shape& shape);

// Elements times bytes of each; nothing if that does not fit 64 bits (dimensions of zero aside).
std::optional<uint64_t> tensorBytes(const Shape& shape, uint64_t bytesOfElement);

// A tensor inside a file's bytes: valid as long as they are.
struct TensorView {
    ElementType type = ElementType::f32;
    Shape shape;
    std::span<const std::byte> data; // of any alignment
};

// A tensor of its own, aligned for its elements.
struct Tensor {
    ElementType type = ElementType::f32;
    Shape shape;
    std::vector<std::byte> bytes;

    TensorView view() const { return {type, shape, bytes}; }
};

enum class FileFormat { npy, safetensors };

// From the extension; nothing if it is neither.
std::optional<FileFormat> formatOf(const std::filesystem::path& path);

// The whole file. FormatError if it is a directory, a pipe, unreadable, or larger than the machine's
// memory.
std::vector<std::byte> readFile(const std::filesystem::path& path);

Tensor loadNpy(const std::filesystem::path& path);

// The tensors of those names, in that order. FormatError if one is absent or of a type that is not
// among ElementType.
std::vector<Tensor> loadSafetensors(const std::filesystem::path& path, std::span<const std::string> names);

} // namespace vkf::tools

#endif

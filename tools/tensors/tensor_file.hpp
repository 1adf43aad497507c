// SPDX-License-Identifier: MIT
//
// Tensors in files. The readers and writers of the formats (npy.hpp, safetensors.hpp) work on bytes, so tests and
// fuzzers need no file system. This header has the common types and loads a tensor from a path.
#pragma once

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

// The path of a name in UTF-8. On Windows, a path that is made of a std::string alone has other characters.
inline std::filesystem::path pathOf(const std::string& name) { return std::u8string(name.begin(), name.end()); }

// A file does not follow its format. The text is one sentence without the file's name, because the caller knows flag
// and file.
class FormatError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class ElementType { f32, f16, bf16, i32, i64, u8, boolean };

size_t elementBytes(ElementType type);
const char* elementName(ElementType type); // "f32"

using Shape = std::vector<uint64_t>;

// The maximum number of dimensions of a tensor, as in NumPy.
inline constexpr size_t maxRank = 32;

// "[1, 4, 256, 64]"
std::string shapeText(const Shape& shape);

// Number of elements times bytes of an element. Empty if the product does not fit 64 bits. Dimensions of zero do not
// count in this check.
std::optional<uint64_t> tensorBytes(const Shape& shape, uint64_t bytesOfElement);

// A tensor inside the bytes of a file. Valid as long as these bytes are.
struct TensorView {
    ElementType type = ElementType::f32;
    Shape shape;
    std::span<const std::byte> data; // any alignment
};

// A tensor with its own memory, aligned for its elements.
struct Tensor {
    ElementType type = ElementType::f32;
    Shape shape;
    std::vector<std::byte> bytes;

    TensorView view() const { return {type, shape, bytes}; }
};

enum class FileFormat { npy, safetensors };

// The format by the extension. Empty for other extensions.
std::optional<FileFormat> formatOf(const std::filesystem::path& path);

// Reads a whole file. Throws FormatError if it is a directory, a pipe, unreadable, or larger than the machine's memory.
std::vector<std::byte> readFile(const std::filesystem::path& path);

Tensor loadNpy(const std::filesystem::path& path);

// The tensors with these names, in this order. Throws FormatError if one is absent or has a type that is not in
// ElementType.
std::vector<Tensor> loadSafetensors(const std::filesystem::path& path, std::span<const std::string> names);

} // namespace vkf::tools

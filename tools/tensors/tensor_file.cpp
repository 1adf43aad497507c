// SPDX-License-Identifier: MIT
#include "tensors/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensors/npy.hpp"
#include "tensors/safetensors.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX // mingw-w64 defines it for C++
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace vkf::tools {

namespace {

struct ElementTraits {
    size_t bytes;
    const char* name;
};

constexpr std::array<ElementTraits, 7> elementTraits = {
    {{4, "f32"}, {2, "f16"}, {2, "bf16"}, {4, "i32"}, {8, "i64"}, {1, "u8"}, {1, "bool"}}};

const ElementTraits& traitsOf(ElementType type) { return elementTraits.at(static_cast<size_t>(type)); }

uint64_t physicalMemoryBytes() {
#if defined(_WIN32)
    MEMORYSTATUSEX memory{};
    memory.dwLength = sizeof(memory);
    if (GlobalMemoryStatusEx(&memory) != 0)
        return memory.ullTotalPhys;
#elif defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long pageBytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && pageBytes > 0)
        return static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageBytes);
#endif
    return UINT64_MAX;
}

// The program refuses a file of this size or more. Reading it would use swap and slow down the machine, and no array of
// a 32-bit program can hold it.
uint64_t memoryLimit() { return std::min<uint64_t>(physicalMemoryBytes(), PTRDIFF_MAX); }

std::FILE* openToRead(const std::filesystem::path& path) {
#if defined(_WIN32)
    return _wfopen(path.c_str(), L"rb"); // only wide names can name every file
#else
    return std::fopen(path.c_str(), "rb");
#endif
}

uint64_t readableSize(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    switch (status.type()) {
    case std::filesystem::file_type::regular:
        break;
    case std::filesystem::file_type::not_found:
        throw FormatError("no such file");
    case std::filesystem::file_type::directory:
        throw FormatError("is a directory, not a file");
    case std::filesystem::file_type::none:
        throw FormatError(fmt::format("cannot be read: {}", error.message()));
    default:
        throw FormatError("is not a regular file: pipes and devices cannot be read");
    }
    const uint64_t size = std::filesystem::file_size(path, error);
    if (error)
        throw FormatError(fmt::format("cannot be read: {}", error.message()));
    if (size >= memoryLimit())
        throw FormatError(fmt::format("has {} bytes, the limit is this machine's memory of {}", size, memoryLimit()));
    return size;
}

Tensor copyOf(const TensorView& view) {
    return {view.type, view.shape, std::vector<std::byte>(view.data.begin(), view.data.end())};
}

// Reads a file that a caller gave as tensors. People give archives of NumPy and PyTorch, too.
std::vector<std::byte> readTensors(const std::filesystem::path& path) {
    std::vector<std::byte> bytes = readFile(path);
    constexpr std::string_view zip = "PK\x03\x04";
    if (bytes.size() >= zip.size() && std::memcmp(bytes.data(), zip.data(), zip.size()) == 0)
        throw FormatError("is a zip archive: unzip a .npz file and give the .npy files in it; save a .pt file of "
                          "PyTorch again with safetensors.torch.save_file");
    return bytes;
}

} // namespace

size_t elementBytes(ElementType type) { return traitsOf(type).bytes; }

const char* elementName(ElementType type) { return traitsOf(type).name; }

std::string shapeText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::optional<uint64_t> tensorBytes(const Shape& shape, uint64_t bytesOfElement) {
    uint64_t bytes = bytesOfElement;
    bool empty = false;
    for (const uint64_t extent : shape) {
        // The other dimensions of an empty tensor must still have a product that fits 64 bits.
        if (extent == 0) {
            empty = true;
            continue;
        }
        if (bytes > UINT64_MAX / extent)
            return std::nullopt;
        bytes *= extent;
    }
    return empty ? 0 : bytes;
}

std::optional<FileFormat> formatOf(const std::filesystem::path& path) {
    if (path.extension() == ".npy")
        return FileFormat::npy;
    if (path.extension() == ".safetensors")
        return FileFormat::safetensors;
    return std::nullopt;
}

std::vector<std::byte> readFile(const std::filesystem::path& path) {
    const uint64_t size = readableSize(path);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(openToRead(path), std::fclose);
    if (!file)
        throw FormatError(fmt::format("cannot be opened: {}", std::strerror(errno)));
    try {
        std::vector<std::byte> bytes(size);
        if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
            throw FormatError(std::ferror(file.get()) ? fmt::format("cannot be read: {}", std::strerror(errno))
                                                      : std::string("became shorter while it was read"));
        return bytes;
    } catch (const std::bad_alloc&) {
        throw FormatError(fmt::format("has {} bytes, but that much memory cannot be allocated", size));
    }
}

Tensor loadNpy(const std::filesystem::path& path) {
    const std::vector<std::byte> bytes = readTensors(path);
    return copyOf(parseNpy(bytes));
}

std::vector<Tensor> loadSafetensors(const std::filesystem::path& path, std::span<const std::string> names) {
    const std::vector<std::byte> bytes = readTensors(path);
    const std::vector<NamedTensor> entries = parseSafetensors(bytes);
    std::vector<Tensor> tensors;
    for (const std::string& name : names)
        tensors.push_back(copyOf(findTensor(entries, name)));
    return tensors;
}

} // namespace vkf::tools

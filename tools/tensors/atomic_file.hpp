// SPDX-License-Identifier: MIT
//
// Output files that are complete or absent. A file is written next to its target, flushed to disk, and then renamed
// over the target. An older target stays until the rename.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace vkf::tools {

// The text names what failed and the system's reason. It does not name the file.
class WriteError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Call it before the work. Throws WriteError if a commit to this path could not succeed, as far as that can be known:
// the path is a directory or a device, or its folder is missing or read-only.
void checkWritable(const std::filesystem::path& target);

// Writes one file as a whole. Throws WriteError.
void writeWhole(const std::filesystem::path& target, std::string_view text);

// One output. If it is destroyed without commit, it leaves nothing behind.
class AtomicFile {
public:
    explicit AtomicFile(const std::filesystem::path& target);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(AtomicFile&&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);

    // Renames all files to their targets, or none of them, as far as renaming can guarantee it. If a later rename
    // fails, the targets of the earlier renames are removed.
    static void commit(std::span<AtomicFile> files);

private:
    void flush();

    std::filesystem::path target_;
    std::filesystem::path temporary_; // empty after the rename
    std::FILE* file_ = nullptr;
};

} // namespace vkf::tools

// SPDX-License-Identifier: MIT
//
// Output files that are complete or absent: written beside their target, flushed to disk, then
// renamed over it. Whatever stood there before stays until that moment.
#ifndef VKFLASH_TOOLS_ATOMIC_FILE_HPP
#define VKFLASH_TOOLS_ATOMIC_FILE_HPP

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace vkf::tools {

// The text names what failed and the system's reason, not the file.
class WriteError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// WriteError if an AtomicFile of this path could not be committed, as far as that can be seen before
// the work: a directory in its place, a missing or read-only folder, a device.
void checkWritable(const std::filesystem::path& target);

// One output. Destroyed without commit it leaves nothing behind.
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

    // Puts all files in their places or none of them, as far as renaming can: if a later rename fails,
    // the targets renamed before it are removed.
    static void commit(std::span<AtomicFile> files);

private:
    void flush();

    std::filesystem::path target_;
    std::filesystem::path temporary_; // empty once renamed
    std::FILE* file_ = nullptr;
};

} // namespace vkf::tools

#endif

// SPDX-License-Identifier: MIT
#include "tensors/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <fcntl.h>
#if defined(_WIN32)
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#else
#include <unistd.h>
#endif

namespace vkf::tools {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void failWrite(const char* what) { throw WriteError(fmt::format("{}: {}", what, std::strerror(errno))); }

// Follows a symbolic link: the file behind it is replaced, and the link stays.
fs::path resolved(const fs::path& target) {
    std::error_code error;
    if (!fs::is_symlink(target, error))
        return target;
    const fs::path real = fs::weakly_canonical(target, error);
    return error ? target : real;
}

fs::path folderOf(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

long processNumber() {
#if defined(_WIN32)
    return _getpid();
#else
    return getpid();
#endif
}

// Creates a file for writing. Fails with EEXIST if there is a file of this name.
std::FILE* createFile(const fs::path& path) {
#if defined(_WIN32)
    // The mode "x" is not in every C library of Windows, and only wide names can name every file.
    const int descriptor =
        _wopen(path.c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
    return descriptor < 0 ? nullptr : _fdopen(descriptor, "wb");
#else
    return std::fopen(path.c_str(), "wbx");
#endif
}

// The name of a file beside the target. Other running processes of this program use other names.
fs::path temporaryName(const fs::path& target, int attempt) {
    fs::path name = ".";
    name += target.filename();
    name += fmt::format(".{}-{}.tmp", processNumber(), attempt);
    return folderOf(target) / name;
}

void syncToDisk(std::FILE* file) {
#if defined(_WIN32)
    if (_commit(_fileno(file)) != 0)
        failWrite("cannot be flushed to disk");
#else
    // Some file systems have no fsync and report EINVAL. On these, the rename is the only guarantee.
    if (fsync(fileno(file)) != 0 && errno != EINVAL)
        failWrite("cannot be flushed to disk");
#endif
}

// Makes the rename durable. Not all file systems can do it, but the file is complete in any case.
void syncFolder([[maybe_unused]] const fs::path& folder) {
#if !defined(_WIN32)
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
#endif
}

} // namespace

void checkWritable(const fs::path& target) {
    std::error_code error;
    const fs::path real = resolved(target);
#if defined(_WIN32)
    // A name like NUL is a device in each folder. The system shows this in the full path.
    if (fs::absolute(real).native().starts_with(LR"(\\.\)"))
        throw WriteError("is not a regular file but a device");
#endif
    const fs::file_status status = fs::status(real, error);
    if (fs::is_directory(status))
        throw WriteError("is a directory");
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw WriteError("is not a regular file; the output can only replace a whole file");
    const fs::path folder = folderOf(real);
    if (!fs::is_directory(folder, error))
        throw WriteError(fmt::format("there is no folder {}", folder.string()));
#if !defined(_WIN32)
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        failWrite("cannot be created in its folder");
#endif
}

AtomicFile::AtomicFile(const fs::path& target) : target_(resolved(target)) {
    checkWritable(target_);
    for (int attempt = 0; attempt < 100 && file_ == nullptr; ++attempt) {
        temporary_ = temporaryName(target_, attempt);
        file_ = createFile(temporary_);
        if (file_ == nullptr && errno != EEXIST)
            failWrite("cannot be created");
    }
    if (file_ == nullptr)
        failWrite("cannot be created");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, nullptr)) {}

AtomicFile::~AtomicFile() {
    if (file_ != nullptr)
        std::fclose(file_);
    std::error_code ignored;
    if (!temporary_.empty())
        fs::remove(temporary_, ignored);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    if (bytes.empty())
        return; // data() may be null, which fwrite does not accept
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
        failWrite("cannot be written");
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::flush() {
    if (std::fflush(file_) != 0)
        failWrite("cannot be written");
    syncToDisk(file_);
    if (std::fclose(std::exchange(file_, nullptr)) != 0)
        failWrite("cannot be written");
}

void AtomicFile::commit(std::span<AtomicFile> files) {
    for (AtomicFile& file : files)
        file.flush();
    for (size_t i = 0; i < files.size(); ++i) {
        std::error_code error;
        fs::rename(files[i].temporary_, files[i].target_, error);
        if (error) {
            std::error_code ignored;
            for (const AtomicFile& renamed : files.first(i))
                fs::remove(renamed.target_, ignored);
            throw WriteError(fmt::format("cannot be renamed into place: {}", error.message()));
        }
        files[i].temporary_.clear();
        syncFolder(folderOf(files[i].target_));
    }
}

void writeWhole(const fs::path& target, std::string_view text) {
    AtomicFile file(target);
    file.write(text);
    AtomicFile::commit({&file, 1});
}

} // namespace vkf::tools

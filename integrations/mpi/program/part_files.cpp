// SPDX-License-Identifier: MIT
#include "part_files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/error.hpp"
#include "tensors/atomic_file.hpp"
#include "tensors/npy.hpp"

namespace vkf::mpi::program {
namespace {

using tools::failInput;

// Calls `work(byte of the data, byte of the part, bytes)` for what is contiguous in both.
template <typename Work>
void forEachPiece(const FileLayout& layout, const std::vector<Chunk>& chunks, const Work& work) {
    uint64_t inPart = 0;
    for (const RowRun& run : runsOf(chunks, layout.batch, layout.heads, layout.rows)) {
        const uint64_t together = layout.rowsFirst ? 1 : run.count;
        for (uint64_t i = 0; i < run.count; i += together) {
            work(layout.offsetOf(run.first + i), inPart, together * layout.rowBytes);
            inPart += together * layout.rowBytes;
        }
    }
}

bool writeAt(int file, std::span<const std::byte> bytes, uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t done = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<size_t>(done));
        offset += static_cast<uint64_t>(done);
    }
    return true;
}

} // namespace

uint64_t FileLayout::offsetOf(uint64_t row) const {
    if (!rowsFirst) {
        return row * rowBytes;
    }
    const uint64_t head = row / rows % heads;
    const uint64_t sequence = row / rows / heads;
    return ((sequence * rows + row % rows) * heads + head) * rowBytes;
}

uint64_t FileLayout::partBytes(const std::vector<Chunk>& chunks) const {
    uint64_t count = 0;
    for (const Chunk& chunk : chunks) {
        count += chunk.rows;
    }
    return batch * heads * count * rowBytes;
}

Bytes partOf(std::span<const std::byte> data, const FileLayout& layout, const std::vector<Chunk>& chunks) {
    Bytes part;
    part.reserve(layout.partBytes(chunks));
    forEachPiece(layout, chunks, [&](uint64_t offset, uint64_t, uint64_t bytes) {
        const std::span<const std::byte> piece = data.subspan(offset, bytes);
        part.insert(part.end(), piece.begin(), piece.end());
    });
    return part;
}

void placePart(std::span<std::byte> data, const FileLayout& layout, const std::vector<Chunk>& chunks,
               std::span<const std::byte> part) {
    forEachPiece(layout, chunks, [&](uint64_t offset, uint64_t inPart, uint64_t bytes) {
        std::memcpy(data.data() + offset, part.data() + inPart, bytes);
    });
}

MappedFile::MappedFile(const std::string& name, const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        failInput("{}: {}", name, std::strerror(errno));
    }
    struct stat status {};
    void* memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
    if (memory == MAP_FAILED) {
        failInput("{}: is no file that can be mapped, or empty", name);
    }
    bytes_ = {static_cast<const std::byte*>(memory), static_cast<size_t>(status.st_size)};
    try {
        tensor_ = tools::parseNpy(bytes_);
    } catch (const tools::FormatError& error) {
        munmap(memory, bytes_.size());
        failInput("{}: {}", name, error.what());
    }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), tensor_(std::move(other.tensor_)) {}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) {
        munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
}

SharedFile::SharedFile(const Ranks& ranks, const std::string& flag, const std::string& path, tools::ElementType type,
                       const tools::Shape& shape)
    : ranks_(ranks), name_(flag + " " + path), path_(path), type_(type), shape_(shape) {
    ranks_.together([&] {
        if (ranks_.rank() == 0) {
            try {
                tools::checkWritable(tools::pathOf(path_));
            } catch (const std::runtime_error& error) {
                throw host::Error(VKF_ERROR_INVALID_ARGUMENT, name_ + ": " + error.what());
            }
        }
    });
}

// All ranks open the file of the first one.
void SharedFile::open() {
    std::array<char, 4096> name{};
    ranks_.together([&] {
        if (ranks_.rank() == 0) {
            create();
            if (temporary_.size() >= name.size()) {
                throw host::Error(VKF_ERROR_INVALID_ARGUMENT, name_ + ": the path is too long");
            }
            std::copy(temporary_.begin(), temporary_.end(), name.begin());
        }
    });
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(&dataOffset_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    temporary_ = name.data();
    ranks_.together([&] {
        if (ranks_.rank() != 0) {
            file_ = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
            if (file_ < 0) {
                failed("cannot be opened by all ranks");
            }
        }
    });
}

void SharedFile::create() {
    const std::string header = tools::npyHeader(type_, shape_);
    const std::filesystem::path target = tools::pathOf(path_);
    temporary_ =
        (target.parent_path() / ("." + target.filename().string() + "." + std::to_string(getpid()) + ".tmp")).string();
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) {
        failed("cannot be created");
    }
    dataOffset_ = header.size();
    const auto bytes = tools::tensorBytes(shape_, tools::elementBytes(type_));
    if (!bytes || ftruncate(file_, static_cast<off_t>(header.size() + *bytes)) != 0 ||
        !writeAt(file_, std::as_bytes(std::span(header)), 0)) {
        failed("cannot be written");
    }
}

SharedFile::~SharedFile() {
    if (file_ >= 0) {
        close(file_);
    }
    if (!temporary_.empty()) {
        unlink(temporary_.c_str());
    }
}

void SharedFile::failed(const char* what) const {
    throw host::Error(VKF_ERROR_VULKAN, name_ + ": " + what + ": " + std::strerror(errno));
}

void SharedFile::write(const FileLayout& layout, const std::vector<Chunk>& chunks, std::span<const std::byte> part) {
    open();
    ranks_.together([&] {
        forEachPiece(layout, chunks, [&](uint64_t offset, uint64_t inPart, uint64_t bytes) {
            if (!writeAt(file_, part.subspan(inPart, bytes), dataOffset_ + offset)) {
                failed("cannot be written");
            }
        });
        if (fsync(file_) != 0 && errno != EINVAL) {
            failed("cannot be flushed to disk");
        }
    });
}

void SharedFile::commit() {
    ranks_.together([&] {
        if (ranks_.rank() == 0) {
            if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
                failed("cannot be renamed into place");
            }
        }
    });
    temporary_.clear();
}

} // namespace vkf::mpi::program

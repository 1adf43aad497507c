// SPDX-License-Identifier: MIT
//
// Files of whole tensors, of which each rank reads and writes only the rows of its part.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <vkflash/mpi.hpp>

#include "tensors/tensor_file.hpp"

namespace vkf::mpi::program {

using Bytes = std::vector<std::byte>;

// How the rows of a tensor lie in its file.
struct FileLayout {
    uint64_t batch = 1;
    uint64_t heads = 1;
    uint64_t rows = 0;
    uint64_t rowBytes = 0;
    bool rowsFirst = false; // [batch, rows, heads, dim] instead of [batch, heads, rows, dim]

    // Byte of the file's data at which a row begins. `row` is that of RowRun.
    uint64_t offsetOf(uint64_t row) const;
    // Bytes of the rows of some chunks.
    uint64_t partBytes(const std::vector<Chunk>& chunks) const;
};

// The rows of some chunks, one after the other, from the data of a whole tensor.
Bytes partOf(std::span<const std::byte> data, const FileLayout& layout, const std::vector<Chunk>& chunks);
// Puts them back.
void placePart(std::span<std::byte> data, const FileLayout& layout, const std::vector<Chunk>& chunks,
               std::span<const std::byte> part);

// A .npy file that is mapped: the system reads what is looked at. The constructor finds truncated files.
class MappedFile {
public:
    // Throws ProgramError with the name, which is flag and path.
    MappedFile(const std::string& name, const std::string& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();

    const tools::TensorView& tensor() const { return tensor_; }
    Bytes read(const FileLayout& layout, const std::vector<Chunk>& chunks) const {
        return partOf(tensor_.data, layout, chunks);
    }

private:
    std::span<const std::byte> bytes_;
    tools::TensorView tensor_;
};

// A .npy file that all ranks write. `write` makes it, under a temporary name, so that a rank that dies before leaves
// nothing behind. Without `commit`, each rank that lives removes it.
class SharedFile {
public:
    // Checks that the file can be written. Collective. Throws host::Error on all ranks.
    SharedFile(const Ranks& ranks, const std::string& flag, const std::string& path, tools::ElementType type,
               const tools::Shape& shape);
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile();

    // Makes the file, and writes the rows of this rank. Once. Collective.
    void write(const FileLayout& layout, const std::vector<Chunk>& chunks, std::span<const std::byte> part);
    // Gives the file its name. Collective.
    void commit();

private:
    void open();
    void create();
    [[noreturn]] void failed(const char* what) const;

    const Ranks& ranks_;
    std::string name_; // flag and path
    std::string path_;
    tools::ElementType type_;
    tools::Shape shape_;
    std::string temporary_; // empty before the first write and after the commit
    uint64_t dataOffset_ = 0;
    int file_ = -1;
};

} // namespace vkf::mpi::program

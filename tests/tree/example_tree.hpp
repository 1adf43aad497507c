// SPDX-License-Identifier: MIT
//
// A small tree of files to try the rules about the tree on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace vkf::test {

// Lies in the system's folder for temporary files. The destructor deletes it.
class ExampleTree {
public:
    ExampleTree() : base_(std::filesystem::temp_directory_path() / ("vkflash_tree_test_" + std::to_string(number()))) {}
    ExampleTree(const ExampleTree&) = delete;
    ExampleTree& operator=(const ExampleTree&) = delete;
    ~ExampleTree() {
        std::error_code ignored;
        std::filesystem::remove_all(base_, ignored);
    }

    // The name of the file counts from the root of the tree.
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((base_ / file).parent_path());
        std::ofstream(base_ / file) << text;
    }
    const std::filesystem::path& base() const { return base_; }

private:
    // Differs from the number of other runs at the same time.
    static uint64_t number() {
        return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }

    std::filesystem::path base_;
};

} // namespace vkf::test

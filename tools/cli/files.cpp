// SPDX-License-Identifier: MIT
#include "cli/files.hpp"

#include <filesystem>
#include <system_error>

#include "cli/error.hpp"
#include "tensors/atomic_file.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

std::string readText(const std::string& name, const std::string& file) {
    try {
        const std::vector<std::byte> bytes = readFile(pathOf(file));
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } catch (const FormatError& error) {
        failInput("{}: {}", name, error.what());
    }
}

bool sameFile(const std::string& a, const std::string& b) {
    namespace fs = std::filesystem;
    std::error_code error;
    // weakly_canonical leaves a name without a folder relative if there is no such file.
    const auto whole = [&error](const std::string& name) {
        return fs::weakly_canonical(fs::absolute(pathOf(name), error), error);
    };
    return whole(a) == whole(b) || fs::equivalent(pathOf(a), pathOf(b), error);
}

void checkOutputFile(const char* flag, const std::string& file) {
    try {
        checkWritable(pathOf(file));
    } catch (const WriteError& error) {
        failInput("{} {}: {}", flag, file, error.what());
    }
}

void writeOutputFile(const char* flag, const std::string& file, std::string_view content) {
    try {
        writeWhole(pathOf(file), content);
    } catch (const WriteError& error) {
        fail("{} {}: {}", flag, file, error.what());
    }
}

} // namespace vkf::tools

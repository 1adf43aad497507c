// SPDX-License-Identifier: MIT
#include "cli/files.hpp"

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

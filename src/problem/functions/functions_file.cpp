// SPDX-License-Identifier: MIT
#include "problem/functions/functions_file.hpp"

#include <cstring>

#include "base/functions_format.hpp"
#include "base/hash.hpp"
#include "base/message.hpp"

namespace vkf {
namespace {

using Bytes = std::span<const std::byte>;

// The number in the first `count` bytes at an offset.
uint64_t numberAt(Bytes bytes, size_t offset, size_t count) {
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number |= std::to_integer<uint64_t>(bytes[offset + i]) << (8 * i);
    }
    return number;
}

uint32_t wordAt(Bytes bytes, size_t offset) { return static_cast<uint32_t>(numberAt(bytes, offset, 4)); }

VkfResult failDamaged(VkfMessage* message, const char* what) {
    return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the file of functions is damaged: %s", what);
}

VkfResult checkVersions(Bytes bytes, VkfMessage* message) {
    const uint32_t format = wordAt(bytes, 8);
    const uint32_t written = wordAt(bytes, 12);
    const uint32_t ours = vkfVersion();
    if (format == functionsFormatVersion && written == ours) {
        return VKF_SUCCESS;
    }
    const auto major = [](uint32_t version) { return version >> 22; };
    const auto minor = [](uint32_t version) { return version >> 12 & 0x3ff; };
    const auto patch = [](uint32_t version) { return version & 0xfff; };
    return fail(message, VKF_ERROR_UNSUPPORTED,
                "the file of functions was written by vkflash %u.%u.%u (format %u), but this is %u.%u.%u (format %u); "
                "compile the functions again",
                major(written), minor(written), patch(written), format, major(ours), minor(ours), patch(ours),
                functionsFormatVersion);
}

// Everything before the first array.
VkfResult checkHeader(Bytes bytes, VkfMessage* message) {
    if (bytes.size() < sizeof functionsMagic || std::memcmp(bytes.data(), functionsMagic, sizeof functionsMagic) != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the data is no file of functions of vkflash compile");
    }
    if (bytes.size() < functionsHeaderBytes) {
        return failDamaged(message, "it is too short");
    }
    if (const VkfResult result = checkVersions(bytes, message); result != VKF_SUCCESS) {
        return result;
    }
    if (numberAt(bytes, checksumOffset, 8) != hashOf(bytes.subspan(checkedOffset))) {
        return failDamaged(message, "the checksum is wrong");
    }
    return VKF_SUCCESS;
}

// Reads the words of a kernel that begin at *offset, and moves *offset behind them.
bool readWords(Bytes bytes, uint64_t count, size_t* offset, std::vector<uint32_t>* words) {
    if (count > (bytes.size() - *offset) / sizeof(uint32_t)) {
        return false;
    }
    words->resize(static_cast<size_t>(count));
    for (uint32_t& word : *words) {
        word = wordAt(bytes, *offset);
        *offset += sizeof(uint32_t);
    }
    return true;
}

// A name that fills a field and ends with a zero byte.
template <size_t capacity> bool readName(Bytes bytes, size_t offset, char (&name)[capacity]) {
    std::memcpy(name, bytes.data() + offset, capacity);
    return std::memchr(name, 0, capacity) != nullptr;
}

} // namespace

VkfResult readFunctionsFile(Bytes bytes, FunctionsFile* file, VkfMessage* message) {
    if (const VkfResult result = checkHeader(bytes, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t arrays = wordAt(bytes, 36);
    const uint64_t kernels = wordAt(bytes, 40);
    const uint64_t tables = functionsHeaderBytes + arrays * arrayRowBytes + kernels * kernelRowBytes;
    if (arrays > VKF_MAX_FUNCTION_ARRAYS || tables > bytes.size()) {
        return failDamaged(message, "its tables do not fit");
    }
    file->key = numberAt(bytes, 24, 8);
    file->functions = wordAt(bytes, 32);
    size_t row = functionsHeaderBytes;
    for (uint64_t i = 0; i < arrays; i++, row += arrayRowBytes) {
        VkfFunctionArray array{};
        if (!readName(bytes, row, array.name)) {
            return failDamaged(message, "the name of an array does not end");
        }
        array.element = static_cast<VkfElement>(wordAt(bytes, row + VKF_FUNCTION_NAME_CAPACITY));
        file->arrays.push_back(array);
    }
    auto words = static_cast<size_t>(tables);
    for (uint64_t i = 0; i < kernels; i++, row += kernelRowBytes) {
        char name[kernelNameBytes];
        if (!readName(bytes, row, name) ||
            !readWords(bytes, numberAt(bytes, row + kernelNameBytes, 8), &words, &file->kernels[name])) {
            return failDamaged(message, "a kernel is incomplete");
        }
    }
    return words == bytes.size() ? VKF_SUCCESS : failDamaged(message, "bytes follow its end");
}

} // namespace vkf

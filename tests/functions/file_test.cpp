// SPDX-License-Identifier: MIT
//
// Files of compiled functions, and the objects that the core makes of them.
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <vkflash/functions.h>
#include <vkflash/functions.hpp>

#include "base/functions_format.hpp"
#include "base/hash.hpp"
#include "functions/file_writer.hpp"
#include "problem/functions.hpp"
#include "problem/functions/functions_file.hpp"

namespace {

using vkf::functions::functionArray;
using Bytes = std::vector<std::byte>;

const std::vector<VkfFunctionArray> twoArrays = {functionArray("bias", VKF_ELEMENT_F16),
                                                 functionArray("seen", VKF_ELEMENT_U8)};

Bytes smallFile() {
    const std::vector<vkf::functions::CompiledKernel> kernels = {
        {"one", {0x07230203, 2, 3}}, {"two", {4}}, {"none", {}}};
    return vkf::functions::fileOf(VKF_FUNCTION_SCORE | VKF_FUNCTION_KEEP, twoArrays, 0x123456789abcdef0, kernels);
}

// Writes the right checksum, so that the reader sees the change itself.
Bytes sealed(Bytes bytes) {
    const uint64_t checksum = vkf::hashOf(std::span(bytes).subspan(vkf::checkedOffset));
    for (size_t i = 0; i < 8; i++) {
        bytes[vkf::checksumOffset + i] = static_cast<std::byte>(checksum >> (8 * i) & 0xff);
    }
    return bytes;
}

Bytes changed(size_t offset, uint32_t byte) {
    Bytes bytes = smallFile();
    bytes.at(offset) = static_cast<std::byte>(byte);
    return bytes;
}

struct Loaded {
    VkfFunctions functions = nullptr;
    VkfMessage message{};
    VkfResult result; // after what the call writes

    explicit Loaded(std::span<const std::byte> bytes)
        : result(vkfLoadFunctions(bytes.data(), bytes.size(), &functions, &message)) {}
    Loaded(const Loaded&) = delete;
    Loaded(Loaded&&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    Loaded& operator=(Loaded&&) = delete;
    ~Loaded() { vkfDestroyFunctions(functions); }
};

std::string refusal(const Bytes& bytes, VkfResult expected = VKF_ERROR_INVALID_ARGUMENT) {
    const Loaded loaded(bytes);
    CHECK(loaded.result == expected);
    CHECK(loaded.functions == nullptr);
    return loaded.message.text;
}

VkfResult noKernel(void*, const char*, const uint32_t**, size_t*, VkfMessage*) { return VKF_ERROR_UNSUPPORTED; }

std::string refusal(VkfFunctionsCreateInfo info, VkfResult expected = VKF_ERROR_INVALID_ARGUMENT) {
    VkfFunctions functions = nullptr;
    VkfMessage message{};
    CHECK(vkfCreateFunctions(&info, &functions, &message) == expected);
    CHECK(functions == nullptr);
    return message.text;
}

VkfFunctionsCreateInfo infoOf(const std::vector<VkfFunctionArray>& arrays = twoArrays) {
    VkfFunctionsCreateInfo info{};
    info.structSize = sizeof info;
    info.functions = VKF_FUNCTION_KEEP;
    info.arrayCount = static_cast<uint32_t>(arrays.size());
    info.arrays = arrays.data();
    info.getKernel = noKernel;
    return info;
}

} // namespace

TEST_CASE("a file of functions gives back what was written", "[functions]") {
    const Loaded loaded(smallFile());
    INFO(loaded.message.text);
    REQUIRE(loaded.result == VKF_SUCCESS);
    const VkfFunctions functions = loaded.functions;
    CHECK(vkfGetFunctionSet(functions) == (VKF_FUNCTION_SCORE | VKF_FUNCTION_KEEP));
    CHECK(functions->key == 0x123456789abcdef0);
    VkfFunctionArray arrays[3] = {};
    CHECK(vkfGetFunctionArrays(functions, arrays, 1) == 2);
    CHECK(std::string(arrays[1].name).empty());
    CHECK(vkfGetFunctionArrays(functions, arrays, 3) == 2);
    CHECK(std::string(arrays[0].name) == "bias");
    CHECK(std::string(arrays[1].name) == "seen");
    CHECK(arrays[1].element == VKF_ELEMENT_U8);

    const uint32_t* words = nullptr;
    size_t count = 0;
    VkfMessage message{};
    REQUIRE(functions->getKernel(functions->user, "one", &words, &count, &message) == VKF_SUCCESS);
    CHECK(std::vector<uint32_t>(words, words + count) == std::vector<uint32_t>{0x07230203, 2, 3});
    REQUIRE(functions->getKernel(functions->user, "two", &words, &count, &message) == VKF_SUCCESS);
    CHECK(std::vector<uint32_t>(words, words + count) == std::vector<uint32_t>{4});
    CHECK(functions->getKernel(functions->user, "three", &words, &count, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text).find("has no kernel three") != std::string::npos);
}

TEST_CASE("a compiled file has the kernels that a compilation gives", "[functions]") {
    const vkf::functions::Source source{"bool keep(Position at) { return true; }", "all.glsl", twoArrays};
    std::vector<size_t> reported;
    const Bytes bytes = vkf::functions::compileToFile(source, {"map_tiles", "backward_rows"},
                                                      [&](size_t count) { reported.push_back(count); });
    CHECK(reported == std::vector<size_t>{1, 2});
    const Loaded loaded(bytes);
    REQUIRE(loaded.result == VKF_SUCCESS);
    const vkf::functions::Functions compiled = vkf::functions::compile(source);
    CHECK(loaded.functions->key == compiled.handle()->key);
    for (const char* kernel : {"map_tiles", "backward_rows"}) {
        std::vector<uint32_t> words[2];
        for (size_t i = 0; i < 2; i++) {
            const VkfFunctions functions = i == 0 ? loaded.functions : compiled.handle();
            const uint32_t* begin = nullptr;
            size_t count = 0;
            REQUIRE(functions->getKernel(functions->user, kernel, &begin, &count, nullptr) == VKF_SUCCESS);
            words[i].assign(begin, begin + count);
        }
        CHECK(words[0] == words[1]);
    }
}

TEST_CASE("a damaged file of functions is refused", "[functions]") {
    const Bytes good = smallFile();
    for (size_t bytes = 0; bytes < good.size(); bytes++) {
        const Bytes shorter(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
        const Loaded loaded(shorter);
        INFO(bytes << " bytes");
        CHECK(loaded.result == VKF_ERROR_INVALID_ARGUMENT);
    }
    for (size_t offset = 0; offset < good.size(); offset++) {
        for (const uint32_t flip : {0x01U, 0x80U, 0xffU}) {
            const Loaded loaded(changed(offset, std::to_integer<uint32_t>(good[offset]) ^ flip));
            INFO("byte " << offset << ": " << loaded.message.text);
            CHECK(loaded.result == (offset >= 8 && offset < 16 ? VKF_ERROR_UNSUPPORTED : VKF_ERROR_INVALID_ARGUMENT));
        }
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    CHECK(refusal(sealed(longer)) == "the file of functions is damaged: bytes follow its end");
}

TEST_CASE("a wrong file of functions with a right checksum does no harm", "[functions]") {
    const Bytes good = smallFile();
    for (size_t offset = vkf::checkedOffset; offset < good.size(); offset++) {
        for (const uint32_t byte : {0x00U, 0x01U, 0x7fU, 0xffU}) {
            const Loaded loaded(sealed(changed(offset, byte))); // a sanitizer finds what is read beyond the end
            CHECK((loaded.result == VKF_SUCCESS || loaded.result == VKF_ERROR_INVALID_ARGUMENT));
        }
    }
    CHECK(refusal(sealed(changed(36, 0xff))) == "the file of functions is damaged: its tables do not fit");
    CHECK(refusal(sealed(changed(43, 0xff))) == "the file of functions is damaged: its tables do not fit");
    const size_t kernelRows = vkf::functionsHeaderBytes + 2 * vkf::arrayRowBytes;
    CHECK(refusal(sealed(changed(kernelRows + 71, 0xff))) ==
          "the file of functions is damaged: a kernel is incomplete");
    Bytes name = good;
    std::fill_n(name.begin() + vkf::functionsHeaderBytes, VKF_FUNCTION_NAME_CAPACITY, std::byte{'a'});
    CHECK(refusal(sealed(name)) == "the file of functions is damaged: the name of an array does not end");
    CHECK(refusal(sealed(changed(32, 0))).find("functions has no function") == 0);
    CHECK(refusal(sealed(changed(32, 32))).find("functions has unknown bits") == 0);
    CHECK(refusal(sealed(changed(vkf::functionsHeaderBytes, '-'))).find("is no identifier") != std::string::npos);
}

TEST_CASE("a file of functions of another version is refused with both versions", "[functions]") {
    CHECK(refusal(changed(12, 1), VKF_ERROR_UNSUPPORTED).find("written by vkflash 0.") != std::string::npos);
    CHECK(refusal(changed(12, 1), VKF_ERROR_UNSUPPORTED).find("but this is 0.") != std::string::npos);
    CHECK(refusal(changed(8, 2), VKF_ERROR_UNSUPPORTED).find("(format 2)") != std::string::npos);
    CHECK(refusal(changed(0, 'x')) == "the data is no file of functions of vkflash compile");
}

TEST_CASE("functions of the caller's own are checked", "[functions]") {
    VkfFunctions functions = nullptr;
    VkfFunctionsCreateInfo info = infoOf();
    REQUIRE(vkfCreateFunctions(&info, &functions, nullptr) == VKF_SUCCESS);
    CHECK(vkfGetFunctionSet(functions) == VKF_FUNCTION_KEEP);
    vkfDestroyFunctions(functions);
    vkfDestroyFunctions(nullptr);
    CHECK(vkfGetFunctionSet(nullptr) == 0);
    CHECK(vkfGetFunctionArrays(nullptr, nullptr, 0) == 0);
    CHECK(vkfCreateFunctions(&info, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfCreateFunctions(nullptr, &functions, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfLoadFunctions(nullptr, 0, &functions, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfLoadFunctions("", 0, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);

    info.getKernel = nullptr;
    CHECK(refusal(info) == "info.getKernel is null");
    info = infoOf();
    info.arrays = nullptr;
    CHECK(refusal(info) == "info.arrays is null");
    info = infoOf();
    info.structSize = 0;
    CHECK(refusal(info, VKF_ERROR_STRUCT_SIZE).find("structSize of info is 0") == 0);
    info = infoOf();
    info.functions = VKF_FUNCTION_SCORE_DERIVATIVE;
    CHECK(refusal(info).find("needs VKF_FUNCTION_SCORE") != std::string::npos);
    info.functions = VKF_FUNCTION_SCORE | VKF_FUNCTION_KEEP_BY_HEAD;
    CHECK(refusal(info).find("needs VKF_FUNCTION_KEEP") != std::string::npos);
    CHECK(refusal(infoOf({twoArrays[0], twoArrays[0]})) == "arrays[0] and arrays[1] are both named \"bias\"");
    CHECK(refusal(infoOf(std::vector<VkfFunctionArray>(9, twoArrays[0]))) == "arrayCount is 9, over the limit of 8");
    CHECK(refusal(infoOf({functionArray("", VKF_ELEMENT_F32)})) == "arrays[0].name \"\" is no identifier");
    CHECK(refusal(infoOf({functionArray("a", static_cast<VkfElement>(9))})) ==
          "arrays[0].element is 9, which is no VkfElement");
    VkfFunctionArray reserved = twoArrays[0];
    reserved.reserved = 3;
    CHECK(refusal(infoOf({reserved})) == "arrays[0].reserved is 3; it must be 0");
}

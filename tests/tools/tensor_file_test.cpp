// SPDX-License-Identifier: MIT
//
// Readers and writers of tensor files. Valid files of every kind come back unchanged. Each kind of malformed file is
// refused with a text.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensors/atomic_file.hpp"
#include "tensors/npy.hpp"
#include "tensors/safetensors.hpp"
#include "tensors/tensor_file.hpp"

namespace fs = std::filesystem;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

namespace {

std::span<const std::byte> asBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string littleEndian(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i)
        text.push_back(static_cast<char>(value >> (8 * i)));
    return text;
}

// A .npy file of a given version around a header's text and data, without padding.
std::string npyFile(const std::string& header, const std::string& data, int major = 1) {
    return "\x93NUMPY" + littleEndian(static_cast<uint64_t>(major), 1) + littleEndian(0, 1) +
           littleEndian(header.size(), major == 1 ? 2 : 4) + header + data;
}

std::string npyDict(const std::string& descr, const std::string& order, const std::string& shape) {
    return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr, order, shape);
}

std::string goodDict() { return npyDict("'<f4'", "False", "(2, 3)"); }

std::string safetensorsFile(const std::string& header, const std::string& data) {
    return littleEndian(header.size(), 8) + header + data;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
}

std::string refusalOfNpy(const std::string& file) {
    try {
        parseNpy(asBytes(file));
    } catch (const FormatError& error) {
        return error.what();
    }
    return "accepted";
}

std::string refusalOfSafetensors(const std::string& file) {
    try {
        parseSafetensors(asBytes(file));
    } catch (const FormatError& error) {
        return error.what();
    }
    return "accepted";
}

// A separate folder for one test case.
class ScratchFolder {
public:
    ScratchFolder() {
        for (int i = 0; path_.empty(); ++i) {
            const fs::path candidate = fs::temp_directory_path() / fmt::format("vkflash_tensor_file_test_{}", i);
            if (fs::create_directory(candidate))
                path_ = candidate;
        }
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder(ScratchFolder&&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder() { fs::remove_all(path_); }

    fs::path operator/(const fs::path& name) const { return path_ / name; }
    size_t files() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    fs::path path_;
};

void writeFile(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

#if !defined(_WIN32)
// While this object exists, no file of this process may grow past a size. For writing, that is like a full disk.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit = {bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk(FullDisk&&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    FullDisk& operator=(FullDisk&&) = delete;
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};
#endif

} // namespace

TEST_CASE("a NumPy file of every known type, version and spelling is read", "[files]") {
    struct Case {
        std::string name;
        std::string dict;
        int version;
        ElementType type;
        Shape shape;
    };
    const std::vector<Case> cases = {
        {"float32", npyDict("'<f4'", "False", "(2, 3)"), 1, ElementType::f32, {2, 3}},
        {"float16", npyDict("'<f2'", "False", "(2, 3)"), 1, ElementType::f16, {2, 3}},
        {"int32", npyDict("'<i4'", "False", "(4,)"), 1, ElementType::i32, {4}},
        {"int64", npyDict("'<i8'", "False", "(4,)"), 1, ElementType::i64, {4}},
        {"native order", npyDict("'=f4'", "False", "(2, 3)"), 1, ElementType::f32, {2, 3}},
        {"version 2.0", npyDict("'<f4'", "False", "(2, 3)"), 2, ElementType::f32, {2, 3}},
        {"version 3.0", npyDict("'<f4'", "False", "(2, 3)"), 3, ElementType::f32, {2, 3}},
        {"double quotes", npyDict("\"<f4\"", "False", "(2, 3)"), 1, ElementType::f32, {2, 3}},
        {"Python 2 integers", npyDict("'<f4'", "False", "(2L, 3L)"), 1, ElementType::f32, {2, 3}},
        {"four dimensions", npyDict("'<f2'", "False", "(1, 2, 3, 4)"), 1, ElementType::f16, {1, 2, 3, 4}},
        {"trailing comma in the shape", npyDict("'<f4'", "False", "(2, 3, )"), 1, ElementType::f32, {2, 3}},
        {"a scalar", npyDict("'<f4'", "False", "()"), 1, ElementType::f32, {}},
        {"a dimension of zero", npyDict("'<f4'", "False", "(2, 0, 3)"), 1, ElementType::f32, {2, 0, 3}},
        {"keys in another order", "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", 1, ElementType::f32, {2, 3}},
        {"one dimension marked as Fortran order", npyDict("'<f4'", "True", "(5,)"), 1, ElementType::f32, {5}},
    };
    for (const Case& test : cases) {
        INFO(test.name);
        const uint64_t bytes = tensorBytes(test.shape, elementBytes(test.type)).value();
        std::string data;
        for (uint64_t i = 0; i < bytes; ++i)
            data.push_back(static_cast<char>(i * 7));
        const std::string file = npyFile(test.dict, data, test.version);
        const TensorView tensor = parseNpy(asBytes(file));
        CHECK(tensor.type == test.type);
        CHECK(tensor.shape == test.shape);
        REQUIRE(tensor.data.size() == bytes);
        CHECK((bytes == 0 || std::memcmp(tensor.data.data(), data.data(), bytes) == 0));
    }
}

TEST_CASE("a malformed NumPy file is refused with the reason in words", "[files]") {
    const std::string good = npyFile(goodDict(), std::string(24, '\1'));
    REQUIRE(refusalOfNpy(good) == "accepted");
    const std::string header = goodDict();
    struct Case {
        std::string file;
        std::string words;
    };
    const std::vector<Case> cases = {
        {"", "is empty"},
        {"hello, world", "not a NumPy .npy file"},
        {"\x93NUM", "truncated inside the first 8 bytes"},
        {good.substr(0, 7), "truncated inside the first 8 bytes"},
        {good.substr(0, 9), "truncated inside the first 10 bytes"},
        {npyFile(header, "", 2).substr(0, 11), "truncated inside the first 12 bytes"},
        {good.substr(0, 20), "header length of"},
        {good.substr(0, good.size() - 1), "is truncated: shape [2, 3] needs 24 bytes of data, the file has 23"},
        {good + "x", "is oversized: shape [2, 3] needs 24 bytes of data, the file has 25"},
        {npyFile(header, "", 4), "version 4.0"},
        {npyFile(header, "", 0), "version 0.0"},
        {"\x93NUMPY\x02" + std::string(1, '\0') + "\xff\xff\xff\xff{}", "header length of 4294967295"},
        {npyFile(npyDict("'>f4'", "False", "(2, 3)"), std::string(24, '\1')), "big-endian"},
        {npyFile(npyDict("'<f4'", "True", "(2, 3)"), std::string(24, '\1')), "Fortran order"},
        {npyFile(npyDict("'<f8'", "False", "(3,)"), std::string(24, '\1')), "float64"},
        {npyFile(npyDict("'|S3'", "False", "(1,)"), std::string(3, '\1')), "type '|S3'"},
        {npyFile(npyDict("'<c8'", "False", "(3,)"), std::string(24, '\1')), "type '<c8'"},
        {npyFile(npyDict("'|O'", "False", "(3,)"), std::string(24, '\1')), "type '|O'"},
        {npyFile(npyDict("'|V2'", "False", "(3,)"), std::string(6, '\1')), "bf16 from .safetensors"},
        {npyFile(npyDict("'f4'", "False", "(3,)"), std::string(12, '\1')), "type 'f4'"},
        {npyFile(npyDict("''", "False", "(3,)"), std::string(12, '\1')), "type ''"},
        {npyFile(npyDict("[('a', '<f4')]", "False", "(3,)"), std::string(12, '\1')), "structured array"},
        {npyFile(npyDict("'<f4'", "False", "(4294967296, 4294967296)"), ""), "does not fit 64 bits"},
        {npyFile(npyDict("'<f4'", "False", "(4294967296, 4294967296, 0)"), ""), "does not fit 64 bits"},
        {npyFile(npyDict("'<f4'", "False", "(99999999999999999999,)"), ""), "dimension that does not fit 64 bits"},
        {npyFile(npyDict("'<f4'", "False", "(-1, 3)"), ""), "non-negative integers"},
        {npyFile(npyDict("'<f4'", "False", "(2.5, 3)"), ""), "malformed NumPy header"},
        {npyFile(npyDict("'<f4'", "False", "(3)"), std::string(12, '\1')), "not a tuple"},
        {npyFile(npyDict("'<f4'", "False", "(2 3)"), std::string(24, '\1')), "not a tuple"},
        {npyFile(npyDict("'<f4'", "False", "(,)"), std::string(4, '\1')), "non-negative integers"},
        {npyFile(npyDict("'<f4'", "False", "[2, 3]"), std::string(24, '\1')), "lacks a '('"},
        {npyFile(npyDict("'<f4'", "0", "(2, 3)"), std::string(24, '\1')), "True or False"},
        {npyFile(npyDict("<f4", "False", "(2, 3)"), std::string(24, '\1')), "quoted string"},
        {npyFile(npyDict("'<f4", "False", "(2, 3)"), std::string(24, '\1')), "malformed NumPy header"},
        {npyFile("", std::string(24, '\1')), "lacks a '{'"},
        {npyFile("{'descr': '<f4", ""), "string that does not end"},
        {npyFile("{'descr': '<f4', 'fortran_order': False}", ""), "lacks one of"},
        {npyFile("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", ""), "a key twice"},
        {npyFile("{'descr': '<f4', 'order': 'C', 'shape': ()}", ""), "unknown key"},
        {npyFile(header + "x", std::string(24, '\1')), "goes on after the closing brace"},
        {npyFile(npyDict("'<f4'", "False", "(" + fmt::format("{}", fmt::join(std::vector<int>(33, 1), ", ")) + ")"),
                 std::string(4, '\1')),
         "more than 32 dimensions"},
    };
    for (const Case& test : cases) {
        INFO(test.words);
        CHECK_THAT(refusalOfNpy(test.file), ContainsSubstring(test.words));
    }
}

TEST_CASE("every prefix of a NumPy file is refused", "[files]") {
    const std::string good = npyFile(goodDict(), std::string(24, '\1'));
    for (size_t length = 0; length < good.size(); ++length) {
        INFO(length << " bytes");
        CHECK(refusalOfNpy(good.substr(0, length)) != "accepted");
    }
}

TEST_CASE("a written NumPy file is aligned to 64 bytes and reads back", "[files]") {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::i32, ElementType::i64})
        for (const Shape& shape : std::vector<Shape>{{}, {1}, {0, 4}, {3, 5}, {1, 2, 3, 4}, Shape(20, 1)}) {
            const std::string header = npyHeader(type, shape);
            INFO(header);
            CHECK(header.size() % 64 == 0);
            CHECK(header.back() == '\n');
            const std::string file = header + std::string(tensorBytes(shape, elementBytes(type)).value(), 'x');
            const TensorView tensor = parseNpy(asBytes(file));
            CHECK(tensor.type == type);
            CHECK(tensor.shape == shape);
        }
    CHECK_THROWS_AS(npyHeader(ElementType::bf16, {2, 3}), FormatError);
}

TEST_CASE("a safetensors file of every known type is read", "[files]") {
    const std::string file =
        safetensorsFile("{\"__metadata__\":{\"format\":\"pt\"},\"a\":" + entry("BF16", "[2,3]", "[0,12]") +
                            ",\"b\":" + entry("F16", "[2]", "[12,16]") + ",\"c\":" + entry("F32", "[1]", "[16,20]") +
                            ",\"d\":" + entry("F32", "[0,9]", "[20,20]") + ",\"e\":" + entry("I64", "[]", "[20,28]") +
                            ",\"f\":" + entry("F8_E4M3", "[2]", "[28,30]") + "}   ",
                        "0123456789abcdefghijklmnopqrst");
    const std::vector<NamedTensor> tensors = parseSafetensors(asBytes(file));
    REQUIRE(tensors.size() == 6);
    CHECK(findTensor(tensors, "a").type == ElementType::bf16);
    CHECK(findTensor(tensors, "a").shape == Shape{2, 3});
    CHECK(std::memcmp(findTensor(tensors, "b").data.data(), "cdef", 4) == 0);
    CHECK(findTensor(tensors, "c").type == ElementType::f32);
    CHECK(findTensor(tensors, "d").data.empty());
    CHECK(findTensor(tensors, "e").type == ElementType::i64);
    CHECK_THROWS_WITH(findTensor(tensors, "f"), ContainsSubstring("as 'F8_E4M3'"));
    CHECK_THROWS_WITH(findTensor(tensors, "q"), ContainsSubstring("no tensor named 'q'"));
}

TEST_CASE("a malformed safetensors file is refused with the reason in words", "[files]") {
    const std::string one = entry("F32", "[2]", "[0,8]");
    const std::string data(8, '\1');
    REQUIRE(refusalOfSafetensors(safetensorsFile("{\"q\":" + one + "}", data)) == "accepted");
    struct Case {
        std::string file;
        std::string words;
    };
    const std::vector<Case> cases = {
        {"", "is empty"},
        {"abc", "truncated inside the first 8 bytes"},
        {littleEndian(100'000'001, 8) + "{}", "the limit is 100000000"},
        {littleEndian(UINT64_MAX, 8) + "{}", "the limit is 100000000"},
        {littleEndian(100, 8) + "{}", "reaches past the end of the file (10 bytes)"},
        {safetensorsFile("", ""), "not valid JSON"},
        {safetensorsFile("{", ""), "not valid JSON"},
        {safetensorsFile("{\"q\":" + one, data), "not valid JSON"},
        {safetensorsFile("[]", ""), "not a JSON object"},
        {safetensorsFile("7", ""), "not a JSON object"},
        {safetensorsFile("{\"q\":1e999}", ""), "out of range"},
        {safetensorsFile("{\"\xff\":1}", ""), "not valid JSON"},
        {safetensorsFile("{\"q\":7}", ""), "no dtype for tensor 'q'"},
        {safetensorsFile("{\"q\":{}}", ""), "no dtype for tensor 'q'"},
        {safetensorsFile(R"({"q":{"dtype":7}})", ""), "no dtype for tensor 'q'"},
        {safetensorsFile(R"({"q":{"dtype":"F32"}})", ""), "integers shape for tensor 'q'"},
        {safetensorsFile(R"({"q":{"dtype":"F32","shape":[2]}})", ""), "integers data_offsets"},
        {safetensorsFile("{\"q\":" + entry("F32", "[-2]", "[0,8]") + "}", data), "integers shape"},
        {safetensorsFile("{\"q\":" + entry("F32", "[2.0]", "[0,8]") + "}", data), "integers shape"},
        {safetensorsFile("{\"q\":" + entry("F32", "[2]", "[0]") + "}", data), "not [begin, end]"},
        {safetensorsFile("{\"q\":" + entry("F32", "[2]", "[8,0]") + "}", data), "not [begin, end]"},
        {safetensorsFile("{\"q\":" + entry("F32", "[2]", "[0,9]") + "}", data),
         "is truncated: tensor 'q' ends at byte 9"},
        {safetensorsFile("{\"q\":" + entry("F32", "[2]", "[0,18446744073709551615]") + "}", data), "is truncated"},
        {safetensorsFile("{\"q\":" + entry("F32", "[3]", "[0,8]") + "}", data), "[3] of f32 needs 12"},
        {safetensorsFile("{\"q\":" + entry("F32", "[4294967296,4294967296]", "[0,8]") + "}", data),
         "does not fit 64 bits"},
        {safetensorsFile("{\"q\":" + one + "}", data + "x"), "is oversized"},
        {safetensorsFile("{\"q\":" + one + ",\"k\":" + one + "}", data), "an overlap"},
        {safetensorsFile("{\"q\":" + entry("F32", "[1]", "[4,8]") + "}", data), "a gap"},
        {safetensorsFile("{\"q\":" + one + ",\"q\":" + one + "}", data), "'q' twice"},
        {safetensorsFile(R"({"q":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}})", data),
         "'dtype' twice"},
        {safetensorsFile(std::string(50'000, '['), ""), "nested deeper than 3 levels"},
        {safetensorsFile("{\"q\":{\"a\":{\"b\":{\"c\":1}}}}", ""), "nested deeper than 3 levels"},
        {safetensorsFile("{\"a\\nb\":7}", ""), "'a?b'"},
    };
    for (const Case& test : cases) {
        INFO(test.words);
        const std::string refusal = refusalOfSafetensors(test.file);
        CHECK_THAT(refusal, ContainsSubstring(test.words));
        CHECK(refusal.find('\n') == std::string::npos);
    }
}

TEST_CASE("equal keys in different entries of a safetensors file are not duplicates", "[files]") {
    const std::string file =
        safetensorsFile("{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"b\":" + entry("F32", "[1]", "[4,8]") + "}",
                        std::string(8, '\1'));
    CHECK(parseSafetensors(asBytes(file)).size() == 2);
}

TEST_CASE("a written safetensors file reads back", "[files]") {
    const std::string oBytes = "0123456789ab";
    const std::string lseBytes = "ABCDEFGH";
    const std::vector<NamedView> tensors = {{"o", {ElementType::bf16, {2, 3}, asBytes(oBytes)}},
                                            {"lse", {ElementType::f32, {2}, asBytes(lseBytes)}}};
    const std::string header = safetensorsHeader(tensors);
    CHECK(header.size() % 8 == 0);
    const std::string file = header + oBytes + lseBytes;
    const std::vector<NamedTensor> read = parseSafetensors(asBytes(file));
    CHECK(findTensor(read, "o").type == ElementType::bf16);
    CHECK(findTensor(read, "o").shape == Shape{2, 3});
    CHECK(std::memcmp(findTensor(read, "o").data.data(), oBytes.data(), oBytes.size()) == 0);
    CHECK(std::memcmp(findTensor(read, "lse").data.data(), lseBytes.data(), lseBytes.size()) == 0);
}

TEST_CASE("a path that is not a readable file is refused with a message", "[files]") {
    const ScratchFolder folder;
    CHECK_THROWS_WITH(loadNpy(folder / "absent.npy"), ContainsSubstring("no such file"));
    fs::create_directory(folder / "folder.npy");
    CHECK_THROWS_WITH(loadNpy(folder / "folder.npy"), ContainsSubstring("is a directory"));
    writeFile(folder / "empty.npy", "");
    CHECK_THROWS_WITH(loadNpy(folder / "empty.npy"), ContainsSubstring("is empty"));
    // A sparse file takes no space on the disk. Not every file system has them.
    writeFile(folder / "huge.npy", "x");
    std::error_code error;
    fs::resize_file(folder / "huge.npy", uint64_t{1} << 43, error);
    if (!error)
        CHECK_THROWS_WITH(loadNpy(folder / "huge.npy"), ContainsSubstring("limit is this machine's memory"));
}

TEST_CASE("a tensor loaded from a file is the one that was written", "[files]") {
    const ScratchFolder folder;
    writeFile(folder / "a.npy", npyFile(goodDict(), "0123456789abcdefghijklmn"));
    const Tensor tensor = loadNpy(folder / "a.npy");
    CHECK(tensor.shape == Shape{2, 3});
    CHECK(std::memcmp(tensor.bytes.data(), "0123456789abcdefghijklmn", 24) == 0);
}

TEST_CASE("the repository's sample tensors are readable and of the documented shapes", "[files]") {
    const fs::path samples = VKFLASH_SAMPLES_DIR;
    CHECK(loadNpy(samples / "q.npy").shape == Shape{1, 4, 256, 64});
    CHECK(loadNpy(samples / "k.npy").shape == Shape{1, 2, 256, 64});
    CHECK(loadNpy(samples / "v.npy").type == ElementType::f16);
    const std::vector<std::string> names = {"q", "k", "v"};
    const std::vector<Tensor> tensors = loadSafetensors(samples / "sample.safetensors", names);
    REQUIRE(tensors.size() == 3);
    CHECK(tensors[0].shape == Shape{1, 4, 128, 64});
    CHECK(tensors[2].type == ElementType::bf16);
}

TEST_CASE("an output file appears whole on commit and not before", "[files]") {
    const ScratchFolder folder;
    const fs::path target = folder / "o.npy";
    writeFile(target, "old");
    {
        std::vector<AtomicFile> files;
        files.emplace_back(target);
        files[0].write("new contents");
        CHECK(contents(target) == "old");
        AtomicFile::commit(files);
    }
    CHECK(contents(target) == "new contents");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file of any name is written, replaced and read", "[files]") {
    const ScratchFolder folder;
    const fs::path target = folder / pathOf("\xe6\xb3\xa8\xe6\x84\x8f \xc3\xa4.npy");
    for (const std::string data : {"0123456789abcdefghijklmn", "nmlkjihgfedcba9876543210"}) {
        std::vector<AtomicFile> files;
        files.emplace_back(target);
        files[0].write(npyFile(goodDict(), data));
        AtomicFile::commit(files);
        const Tensor tensor = loadNpy(target);
        CHECK(std::memcmp(tensor.bytes.data(), data.data(), data.size()) == 0);
    }
    CHECK(folder.files() == 1);
}

TEST_CASE("an output file that is not committed leaves nothing and changes nothing", "[files]") {
    const ScratchFolder folder;
    const fs::path target = folder / "o.npy";
    writeFile(target, "old");
    {
        AtomicFile file(target);
        file.write("new contents");
        CHECK(folder.files() == 2);
    }
    CHECK(contents(target) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("of two output files neither stays if the second cannot be put in its place", "[files]") {
    const ScratchFolder folder;
    {
        std::vector<AtomicFile> files;
        files.reserve(2);
        files.emplace_back(folder / "o.npy");
        files.emplace_back(folder / "lse.npy");
        files[0].write("o");
        files[1].write("lse");
        fs::create_directory(folder / "lse.npy"); // appears between check and rename
        CHECK_THROWS_AS(AtomicFile::commit(files), WriteError);
    }
    CHECK_FALSE(fs::exists(folder / "o.npy"));
    CHECK(folder.files() == 1);
}

TEST_CASE("an output through a symbolic link replaces what it points to", "[files]") {
    const ScratchFolder folder;
    writeFile(folder / "real.npy", "old");
    std::error_code error;
    fs::create_symlink(folder / "real.npy", folder / "link.npy", error);
    if (error)
        SKIP("no symbolic links: " << error.message());
    {
        std::vector<AtomicFile> files;
        files.emplace_back(folder / "link.npy");
        files[0].write("new");
        AtomicFile::commit(files);
    }
    CHECK(fs::is_symlink(folder / "link.npy"));
    CHECK(contents(folder / "real.npy") == "new");
}

TEST_CASE("an output that cannot be a file is refused before the work", "[files]") {
    const ScratchFolder folder;
    fs::create_directory(folder / "folder.npy");
    CHECK_THROWS_WITH(checkWritable(folder / "folder.npy"), ContainsSubstring("is a directory"));
    CHECK_THROWS_WITH(checkWritable(folder / "absent" / "o.npy"), ContainsSubstring("there is no folder"));
#if defined(_WIN32)
    const char* nullDevice = "NUL";
#else
    const char* nullDevice = "/dev/null";
#endif
    CHECK_THROWS_WITH(checkWritable(nullDevice), ContainsSubstring("not a regular file"));
    CHECK_NOTHROW(checkWritable(folder / "o.npy"));
}

#if !defined(_WIN32)
TEST_CASE("a full disk leaves no output, no temporary file, and what was there before", "[files]") {
    const ScratchFolder folder;
    writeFile(folder / "lse.npy", "old");
    bool failed = false;
    {
        const FullDisk disk(8192);
        try {
            std::vector<AtomicFile> files;
            files.reserve(2);
            files.emplace_back(folder / "o.npy");
            files.emplace_back(folder / "lse.npy");
            files[1].write(std::string(100, 'x'));
            files[0].write(std::string(20000, 'x'));
            AtomicFile::commit(files);
        } catch (const WriteError&) {
            failed = true;
        }
    }
    CHECK(failed);
    CHECK(contents(folder / "lse.npy") == "old");
    CHECK(folder.files() == 1);
}
#endif

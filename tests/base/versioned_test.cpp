// SPDX-License-Identifier: MIT
//
// The structSize rule: structs of older, equal and newer headers, as inputs and as outputs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/versioned.hpp"

namespace {

// The first version ended with `second`.
struct Example {
    size_t structSize;
    uint32_t first;
    uint32_t second;
    uint64_t third;
};

} // namespace

namespace vkf {

VKF_FIRST_SIZE(Example, second);

} // namespace vkf

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr size_t oldest = vkf::firstSize<Example>;
constexpr size_t largest = sizeof(Example) + vkf::maxGrowth;
constexpr unsigned char poison = 0xa5;

// A caller's memory: a struct of any size, with bytes behind it.
struct Caller {
    alignas(Example) std::array<unsigned char, largest + 64> bytes{};

    explicit Caller(size_t structSize, unsigned char fill = 0) {
        bytes.fill(fill);
        std::memcpy(bytes.data(), &structSize, sizeof structSize);
    }
    Example* get() { return reinterpret_cast<Example*>(bytes.data()); }
    size_t structSize() const {
        size_t size = 0;
        std::memcpy(&size, bytes.data(), sizeof size);
        return size;
    }
    // Whether all bytes of [begin, end) have the value.
    bool isAll(size_t begin, size_t end, unsigned char value) const {
        return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                           bytes.begin() + static_cast<std::ptrdiff_t>(end),
                           [&](unsigned char byte) { return byte == value; });
    }
};

VkfResult read(Caller caller, Example* to, VkfMessage* message = nullptr) {
    return vkf::readVersioned(caller.get(), to, "example", message);
}

constexpr Example filled{sizeof(Example), 1, 2, 3};

TEST_CASE("the first size ends with the last field of the first version", "[base]") {
    CHECK(oldest == offsetof(Example, third));
    CHECK(oldest < sizeof(Example));
}

TEST_CASE("an input of a known size is copied", "[base]") {
    Example to{};
    CHECK(vkf::readVersioned(&filled, &to, "example", nullptr) == VKF_SUCCESS);
    CHECK(std::memcmp(&to, &filled, sizeof to) == 0);
}

TEST_CASE("fields that an older input lacks are 0", "[base]") {
    Caller caller(oldest, poison);
    Example to = filled;
    CHECK(read(caller, &to) == VKF_SUCCESS);
    CHECK(to.first == 0xa5a5a5a5U);
    CHECK(to.second == 0xa5a5a5a5U);
    CHECK(to.third == 0);
}

TEST_CASE("a newer input is taken while its unknown fields are 0", "[base]") {
    for (const size_t size : {sizeof(Example) + 1, sizeof(Example) + 8, largest}) {
        Caller caller(size, poison);
        std::fill(caller.bytes.begin() + sizeof(Example), caller.bytes.begin() + static_cast<std::ptrdiff_t>(size), 0);
        Example to{};
        CHECK(read(caller, &to) == VKF_SUCCESS);
        CHECK(to.third == UINT64_C(0xa5a5a5a5a5a5a5a5));

        for (const size_t at : {sizeof(Example), size - 1}) {
            Caller unknown = caller;
            unknown.bytes[at] = 1;
            Example untouched = filled;
            VkfMessage message{};
            CHECK(read(unknown, &untouched, &message) == VKF_ERROR_STRUCT_SIZE);
            CHECK_THAT(message.text, ContainsSubstring("example has a field at byte " + std::to_string(at)));
            CHECK(std::memcmp(&untouched, &filled, sizeof filled) == 0);
        }
    }
}

// Otherwise a function that takes the copy would read behind it.
TEST_CASE("the copy of an input has the size that this version knows", "[base]") {
    for (const size_t size : {oldest, sizeof(Example), sizeof(Example) + 8, largest}) {
        Example to{};
        CHECK(read(Caller(size), &to) == VKF_SUCCESS);
        CHECK(to.structSize == sizeof(Example));
    }
}

TEST_CASE("an output of a known size is filled", "[base]") {
    Example to{sizeof(Example), 7, 7, 7};
    CHECK(vkf::writeVersioned(filled, &to, "example", nullptr) == VKF_SUCCESS);
    CHECK(std::memcmp(&to, &filled, sizeof to) == 0);
}

TEST_CASE("an older output is filled as far as it reaches", "[base]") {
    Caller caller(oldest, poison);
    CHECK(vkf::writeVersioned(filled, caller.get(), "example", nullptr) == VKF_SUCCESS);
    CHECK(caller.get()->first == 1);
    CHECK(caller.get()->second == 2);
    CHECK(caller.isAll(oldest, caller.bytes.size(), poison));
    CHECK(caller.structSize() == oldest);
}

TEST_CASE("unknown fields of a newer output become 0", "[base]") {
    for (const size_t size : {sizeof(Example) + 1, sizeof(Example) + 8, largest}) {
        Caller caller(size, poison);
        CHECK(vkf::writeVersioned(filled, caller.get(), "example", nullptr) == VKF_SUCCESS);
        CHECK(caller.get()->third == 3);
        CHECK(caller.isAll(sizeof(Example), size, 0));
        CHECK(caller.isAll(size, caller.bytes.size(), poison));
        CHECK(caller.structSize() == size);
    }
}

TEST_CASE("sizes that no header has are refused, and nothing is written", "[base]") {
    for (const size_t size : {size_t{0}, oldest - 1, largest + 1, SIZE_MAX}) {
        Caller caller(size, poison);
        Example to = filled;
        VkfMessage message{};
        CHECK(read(caller, &to, &message) == VKF_ERROR_STRUCT_SIZE);
        CHECK_THAT(message.text, ContainsSubstring("structSize of example is " + std::to_string(size)));
        CHECK(std::memcmp(&to, &filled, sizeof to) == 0);

        message = {};
        CHECK(vkf::writeVersioned(filled, caller.get(), "example", &message) == VKF_ERROR_STRUCT_SIZE);
        CHECK_THAT(message.text, ContainsSubstring("structSize of example is " + std::to_string(size)));
        CHECK(caller.isAll(sizeof(size_t), caller.bytes.size(), poison));
        CHECK(caller.structSize() == size);
    }
}

TEST_CASE("a null struct is an invalid argument", "[base]") {
    Example to = filled;
    VkfMessage message{};
    Example* none = GENERATE(static_cast<Example*>(nullptr)); // hides from clang-tidy that it is null
    CHECK(vkf::readVersioned(static_cast<const Example*>(none), &to, "example", &message) ==
          VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(message.text, ContainsSubstring("example is null"));
    CHECK(std::memcmp(&to, &filled, sizeof to) == 0);
    CHECK(vkf::writeVersioned(filled, none, "example", nullptr) == VKF_ERROR_INVALID_ARGUMENT);
}

} // namespace

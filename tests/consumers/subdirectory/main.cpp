// SPDX-License-Identifier: MIT
//
// Lists the shader variants that were compiled into the library; a build without any is no use.
#include <vkflash/vkflash.hpp>

#include <cstdint>
#include <cstdio>

int main() {
    const char* name = nullptr;
    const char* missingReason = nullptr;
    uint32_t count = 0;
    while (vkfGetShaderVariant(count, &name, &missingReason) == VKF_SUCCESS) {
        std::printf("%s: %s\n", name, missingReason != nullptr ? missingReason : "there");
        count++;
    }
    return count > 0 ? 0 : 1;
}

// SPDX-License-Identifier: MIT
//
// Lists the shader variants that were compiled into the library. It fails if there are none.
#include <vkflash/inspect.h>

#include <cstdint>
#include <cstdio>

int main() {
    const char* name = nullptr;
    const char* missingReason = nullptr;
    const uint32_t count = vkfGetShaderVariantCount();
    for (uint32_t i = 0; i < count; i++) {
        if (vkfGetShaderVariant(i, &name, &missingReason) != VKF_SUCCESS) {
            return 1;
        }
        std::printf("%s: %s\n", name, missingReason != nullptr ? missingReason : "there");
    }
    return count > 0 ? 0 : 1;
}

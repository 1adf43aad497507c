// SPDX-License-Identifier: MIT
#include "pipelines/launches.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/message.hpp"
#include "base/vulkan_result.hpp"
#include "pipelines/wgmma_kernels.hpp"
#include "pipelines/xz.hpp"

namespace vkf {
namespace {

struct Member {
    size_t offset;
    uint32_t id;
};

#define VKF_MEMBER(member, id)                                                                                         \
    Member { offsetof(shared::WgmmaConstants, member), id }

// Each member of WgmmaConstants with the specialization constant that it holds.
constexpr std::array members = {
    VKF_MEMBER(head_dim, VKF_ID_HEAD_DIM),
    VKF_MEMBER(value_dim, VKF_ID_VALUE_DIM),
    VKF_MEMBER(type_o, VKF_ID_TYPE_O),
    VKF_MEMBER(stride_shift, VKF_ID_STRIDE_SHIFT),
    VKF_MEMBER(sinks, VKF_ID_SINKS),
    VKF_MEMBER(softcap, VKF_ID_SOFTCAP),
    VKF_MEMBER(alibi, VKF_ID_ALIBI),
    VKF_MEMBER(lse, VKF_ID_LSE),
    VKF_MEMBER(window, VKF_ID_WINDOW),
    VKF_MEMBER(top_left, VKF_ID_TOP_LEFT),
    VKF_MEMBER(first_keys, VKF_ID_FIRST_KEYS),
    VKF_MEMBER(first_keys_causal, VKF_ID_FIRST_KEYS_CAUSAL),
    VKF_MEMBER(key_lengths, VKF_ID_KEY_LENGTHS),
    VKF_MEMBER(packed_sequences, VKF_ID_PACKED_SEQUENCES),
    VKF_MEMBER(extra_slot, VKF_ID_EXTRA_SLOT),
    VKF_MEMBER(window_left, VKF_ID_WINDOW_LEFT),
    VKF_MEMBER(window_right, VKF_ID_WINDOW_RIGHT),
    VKF_MEMBER(packed_heads, VKF_ID_PACKED_HEADS),
    VKF_MEMBER(interleaved_heads, VKF_ID_INTERLEAVED_HEADS),
    VKF_MEMBER(key_splits, VKF_ID_KEY_SPLITS),
    VKF_MEMBER(page_rows, VKF_ID_PAGE_ROWS),
    VKF_MEMBER(max_pages, VKF_ID_MAX_PAGES),
    VKF_MEMBER(pages, VKF_ID_PAGES),
    VKF_MEMBER(type_dq, VKF_ID_TYPE_DQ),
    VKF_MEMBER(type_dk, VKF_ID_TYPE_DK),
    VKF_MEMBER(type_dv, VKF_ID_TYPE_DV),
};

#undef VKF_MEMBER

constexpr bool fillsStruct() {
    for (size_t i = 0; i < members.size(); i++) {
        if (members[i].offset != i * sizeof(uint32_t)) {
            return false;
        }
    }
    return members.size() * sizeof(uint32_t) == sizeof(shared::WgmmaConstants);
}
static_assert(fillsStruct(), "the rows stand in the order of WgmmaConstants, one for each member");

bool mayRecover(VkResult result) {
    return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
           result == VK_ERROR_DEVICE_LOST;
}

} // namespace

shared::WgmmaConstants wgmmaConstants(const Constants& constants) {
    shared::WgmmaConstants filled{};
    for (const Member& member : members) {
        std::memcpy(reinterpret_cast<char*>(&filled) + member.offset, &constants[member.id], sizeof(uint32_t));
    }
    return filled;
}

const char* whyNoTexts(const PtxTexts& texts) {
    const auto there =
        std::find_if(texts.all.begin(), texts.all.end(), [](const PtxText& text) { return text.bytes != 0; });
    if (there != texts.all.end()) {
        return nullptr;
    }
    return texts.all.empty() ? "its kernels are left out of this build" : texts.all.front().missingReason;
}

std::string textOf(const PtxTexts& texts, const PtxText& text) {
    const size_t end = text.begin + text.bytes;
    const std::string all =
        texts.isPlain ? std::string(texts.packed.begin(), texts.packed.end()) : unpackXz(texts.packed, end);
    return all.size() >= end ? all.substr(text.begin, text.bytes) : std::string();
}

Launches::Launches(const DeviceFunctions& functions, VkDevice device, const VkAllocationCallbacks* allocator,
                   const PtxTexts& texts)
    : functions_(functions), device_(device), allocator_(allocator), texts_(texts), closed_(whyNoTexts(texts)) {
    if (closed_ == nullptr && functions.vkCmdCuLaunchKernelNVX == nullptr) {
        closed_ = "the device was created without VK_NVX_binary_import";
    }
}

Launches::~Launches() {
    kernels_.forEach([this](const Loaded& kernel) {
        functions_.vkDestroyCuFunctionNVX(device_, kernel.function, allocator_);
        functions_.vkDestroyCuModuleNVX(device_, kernel.module, allocator_);
    });
}

VkfResult Launches::get(const Variant& variant, Launch* launch, VkfMessage* message) {
    const std::string name = wgmmaKernelName(variant);
    Loaded kernel;
    const VkfResult result = kernels_.get(name, &kernel, [&](Loaded* made) { return compile(name, made, message); });
    if (result == VKF_SUCCESS) {
        const Constants& c = variant.constants;
        const shared::WgmmaTile& tile = wgmmaTileFor(variant.kernel, c[VKF_ID_HEAD_DIM], c[VKF_ID_VALUE_DIM]);
        *launch = {kernel.function, tile.threads, tile.shared_bytes, wgmmaConstants(c), usesTensorMaps(variant)};
    }
    return result;
}

VkfResult Launches::compile(const std::string& name, Loaded* kernel, VkfMessage* message) {
    if (const char* why = closed_; why != nullptr) { // perhaps while this thread waited for another one
        return fail(message, VKF_ERROR_UNSUPPORTED, "path wgmma: %s", why);
    }
    const auto found =
        std::find_if(texts_.all.begin(), texts_.all.end(), [&name](const PtxText& one) { return one.name == name; });
    if (found == texts_.all.end() || found->bytes == 0) {
        return close("kernel " + name + " is left out of this build", message);
    }
    const std::string text = textOf(texts_, *found);
    if (text.empty()) {
        return close("the kernels of this build are damaged", message);
    }
    VkCuModuleCreateInfoNVX info{};
    info.sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX;
    info.dataSize = text.size() + 1; // the driver wants the zero byte
    info.pData = text.c_str();
    VkCuModuleNVX module = VK_NULL_HANDLE;
    const VkResult result = functions_.vkCreateCuModuleNVX(device_, &info, allocator_, &module);
    if (result != VK_SUCCESS) {
        return refused(result, "vkCreateCuModuleNVX", found->name, message);
    }
    kernel->module = module;
    return createFunction(found->name, kernel, message);
}

VkfResult Launches::createFunction(const char* name, Loaded* kernel, VkfMessage* message) {
    VkCuFunctionCreateInfoNVX info{};
    info.sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX;
    info.module = kernel->module;
    info.pName = name;
    const VkResult result = functions_.vkCreateCuFunctionNVX(device_, &info, allocator_, &kernel->function);
    if (result != VK_SUCCESS) {
        functions_.vkDestroyCuModuleNVX(device_, kernel->module, allocator_);
        return refused(result, "vkCreateCuFunctionNVX", name, message);
    }
    return VKF_SUCCESS;
}

VkfResult Launches::refused(VkResult result, const char* call, const char* name, VkfMessage* message) {
    if (mayRecover(result)) {
        return failVulkan(message, result, call);
    }
    return close("the driver refused kernel " + std::string(name) + ": " + call + " returned VkResult " +
                     std::to_string(static_cast<int>(result)),
                 message);
}

VkfResult Launches::close(const std::string& reason, VkfMessage* message) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_ == nullptr) {
            reason_ = reason;
            closed_ = reason_.c_str();
        }
    }
    return fail(message, VKF_ERROR_UNSUPPORTED, "path wgmma: %s", closed_.load());
}

} // namespace vkf

// SPDX-License-Identifier: MIT
//
// A shared library that LD_PRELOAD puts into tests on llvmpipe. It adds a pass to those that the driver asks of LLVM.
//
// A kernel with barriers is a coroutine, and LLVM makes two functions of it: up to the first barrier, and from there
// on. Each is a copy of the whole kernel. Without optimisation (GALLIVM_PERF=nopt) nothing removes the blocks that a
// copy cannot reach, so every kernel is compiled twice. The pass simplifycfg, which the driver runs too where it
// optimises, removes them.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using RunPasses = void*(void* module, const char* passes, void* machine, void* options);

// LLVM's own function, among the libraries of the driver that calls.
RunPasses* functionOfLlvm(const void* caller) {
    Dl_info driver = {};
    void* const libraries = dladdr(caller, &driver) != 0 ? dlopen(driver.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    void* const function = libraries != nullptr ? dlsym(libraries, "LLVMRunPasses") : nullptr;
    if (function == nullptr) {
        std::fputs("driver_passes: the driver's LLVM has no function LLVMRunPasses\n", stderr);
        std::abort();
    }
    return reinterpret_cast<RunPasses*>(function);
}

} // namespace

// LLVM-C's function of this name. All types but `passes` are pointers to opaque structs.
extern "C" __attribute__((visibility("default"))) void* LLVMRunPasses(void* module, const char* passes, void* machine,
                                                                      void* options) {
    static RunPasses* const run = functionOfLlvm(__builtin_return_address(0));
    const char* const passesWithoutOptimisation = "mem2reg";
    const bool adds = std::strcmp(passes, passesWithoutOptimisation) == 0;
    return run(module, adds ? "simplifycfg,mem2reg" : passes, machine, options);
}

// SPDX-License-Identifier: MIT
//
// A shared library that LD_PRELOAD puts into tests on llvmpipe. It makes the driver's compiler faster where it does not
// optimise (GALLIVM_PERF=nopt).
//
// A kernel with barriers is a coroutine, and LLVM makes two functions of it: up to the first barrier, and from there
// on. Each is a copy of the whole kernel. Nothing removes the blocks that a copy cannot reach, so every kernel is
// compiled twice. The pass simplifycfg, which the driver runs too where it optimises, removes them.
//
// The names of values help only those who read LLVM's code, and every copy makes them again.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// A function of LLVM-C, among the libraries of the driver that calls.
template <typename Function> Function* functionOfLlvm(const char* name, const void* caller) {
    Dl_info driver = {};
    void* const libraries = dladdr(caller, &driver) != 0 ? dlopen(driver.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    void* const function = libraries != nullptr ? dlsym(libraries, name) : nullptr;
    if (function == nullptr) {
        std::fprintf(stderr, "driver_passes: the driver's LLVM has no function %s\n", name);
        std::abort();
    }
    return reinterpret_cast<Function*>(function);
}

} // namespace

// LLVM-C's functions of these names. All types but `passes` are pointers to opaque structs.
extern "C" __attribute__((visibility("default"))) void* LLVMRunPasses(void* module, const char* passes, void* machine,
                                                                      void* options) {
    using RunPasses = void*(void*, const char*, void*, void*);
    static auto* const run = functionOfLlvm<RunPasses>("LLVMRunPasses", __builtin_return_address(0));
    const char* const passesWithoutOptimisation = "mem2reg";
    const bool adds = std::strcmp(passes, passesWithoutOptimisation) == 0;
    return run(module, adds ? "simplifycfg,mem2reg" : passes, machine, options);
}

extern "C" __attribute__((visibility("default"))) void* LLVMContextCreate() {
    using Create = void*();
    using DiscardNames = void(void*, int);
    const void* const caller = __builtin_return_address(0);
    static auto* const create = functionOfLlvm<Create>("LLVMContextCreate", caller);
    static auto* const discardNames = functionOfLlvm<DiscardNames>("LLVMContextSetDiscardValueNames", caller);
    void* const context = create();
    discardNames(context, 1);
    return context;
}

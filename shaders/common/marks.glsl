// SPDX-License-Identifier: MIT
//
// Marks: numbers in memory that several invocations may set, all to one value. Plain stores would be a data race, even
// of equal values, so the stores are atomic. A barrier lies between a mark and its readers, whose loads are plain.
//
// A mark in a buffer needs Vulkan's memory model, which kernels with cooperative matrices have.
#ifndef VKF_MARKS_GLSL
#define VKF_MARKS_GLSL

// They are macros because an atomic operation names its memory. Every device has these scopes.
#define VKF_MARK_SHARED(mark, value) atomicStore(mark, value, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed)
#define VKF_MARK_BUFFER(mark, value) atomicStore(mark, value, gl_ScopeQueueFamily, 0, gl_SemanticsRelaxed)

#endif

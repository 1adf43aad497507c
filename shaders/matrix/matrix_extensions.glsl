// SPDX-License-Identifier: MIT
//
// What kernels that leave the elements of cooperative matrices alone ask of the language.
#ifndef VKF_MATRIX_EXTENSIONS_GLSL
#define VKF_MATRIX_EXTENSIONS_GLSL

#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

// Matrices indexed by a variable live in memory, which only a software driver does not mind; its compiler
// minds long code, and gets these loops with the other hint (src/pipelines/rolled_loops.cpp).
#define UNROLL [[unroll]]

#endif

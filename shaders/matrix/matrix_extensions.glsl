// SPDX-License-Identifier: MIT
//
// The extensions of kernels that treat all elements of a cooperative matrix in the same way, wherever the elements lie.
//
// Needs: nothing. Provides: #extension lines.
#ifndef VKF_MATRIX_EXTENSIONS_GLSL
#define VKF_MATRIX_EXTENSIONS_GLSL

#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#endif

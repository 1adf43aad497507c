# SPDX-License-Identifier: MIT
# What the tests of the backend and of the layer share: how to start ggml, its version, and a slice of its cases.
set(VKF_GGML_SCRIPT "${PROJECT_SOURCE_DIR}/integrations/ggml/run.sh")
set(VKF_GGML_ROOTS "${VKFLASH_GGML_ROOT}" "${VKF_VULKAN_ROOT}" "${CMAKE_CURRENT_BINARY_DIR}")
file(GLOB library "${VKFLASH_GGML_ROOT}/lib/*/libggml.so.*.*.*" "${VKFLASH_GGML_ROOT}/lib/libggml.so.*.*.*")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+$" VKF_GGML_VERSION "${library}")

# Every type of k and v, every head dimension and every feature. Dots stand for brackets.
set(VKF_GGML_SLICE
  "hsk=64,hsv=64,nh=4,nr23=.1,1.,kv=113,nb=3,mask=1,sinks=1,max_bias=8"
  "hsk=(40|72|80|96|192|256|512),.*nr23=.4,1.,kv=512,nb=3,mask=1,sinks=0,max_bias=0.*K=f16,.*permute=.0,2"
  "hsk=(320|576),.*nh=1,nr23=.4,1.,kv=512,nb=3,mask=1,sinks=1,max_bias=0.*permute=.0,1"
  "hsk=128,.*nr23=.12,1.,kv=512,nb=75,mask=1,sinks=1,max_bias=8.*softcap=10.*prec=f32"
  "hsk=128,.*nr23=.1,1.,kv=1024,nb=1,mask=0,sinks=0.*prec=def"
  "hsk=40,.*nr23=.4,3.,kv=512,nb=32,mask=1,sinks=1,max_bias=8"
  "kv=512,nb=75,.*kv_view=0"
  "kv=128,nb=2,")

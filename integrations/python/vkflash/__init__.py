# SPDX-License-Identifier: MIT
"""Exact fused attention on any GPU with a Vulkan driver.

    >>> import numpy as np, vkflash
    >>> q = k = v = np.ones((1, 8, 128, 64), np.float16)      # [batch, heads, rows, dim]
    >>> vkflash.attention(q, k, v, causal=True).shape
    (1, 8, 128, 64)

attention, attention_backward and scaled_dot_product_attention compute on arrays of NumPy, of other libraries with
DLPack, and on device arrays. Device and Device.array keep tensors on the device. Cache is a KV cache. merge combines
partial results. plan explains what a call would do. TileMap keeps the map of a mask for many calls. vkflash.torch,
which only programs with PyTorch import, has functions with gradients.

Every failure is a vkflash.Error. Functions may be called from several threads.
"""

from ._attention import attention, plan
from ._backward import attention_backward
from ._cache import Cache
from ._core import Error, version as __version__
from ._device import Device, DeviceArray, default_device, devices, set_default_device
from ._merge import merge
from ._plan import Plan
from ._pytorch_call import scaled_dot_product_attention
from ._tile_map import TileMap

__all__ = [
    "Cache",
    "Device",
    "DeviceArray",
    "Error",
    "Plan",
    "TileMap",
    "attention",
    "attention_backward",
    "default_device",
    "devices",
    "merge",
    "plan",
    "scaled_dot_product_attention",
    "set_default_device",
]

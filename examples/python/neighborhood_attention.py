# SPDX-License-Identifier: MIT
"""Takes the noise out of a picture with neighborhood attention (NATTEN), whose mask is six lines of GLSL. A pixel looks
at those of the 11 x 11 pixels around it whose surroundings resemble its own.

    ./dev python examples/python/neighborhood_attention.py [PICTURE.png]
"""

import struct
import sys
import zlib

import numpy as np

import vkflash

SIZE, KERNEL = 64, 11
NATTEN = f"""
ivec2 pixelOf(int i) {{ return ivec2(i % {SIZE}, i / {SIZE}); }}
bool keep(Position at) {{ // the centre of the window stays {KERNEL // 2} pixels away from the edges
    ivec2 centre = clamp(pixelOf(at.row), ivec2({KERNEL // 2}), ivec2({SIZE} - 1 - {KERNEL // 2}));
    ivec2 distance = abs(centre - pixelOf(at.key));
    return max(distance.x, distance.y) <= {KERNEL // 2};
}}
"""


def denoise(picture, noise):
    """Non-local means: softmax(-|patch - other patch|^2 / (12 noise^2)) of patches of 3 x 3 pixels."""
    padded = np.pad(picture, 1, mode="reflect")
    patches = np.stack([padded[y:y + SIZE, x:x + SIZE].ravel() for y in range(3) for x in range(3)], axis=1)
    squares = np.sum(patches**2, axis=1, keepdims=True) / 2
    q = np.concatenate([patches, np.ones_like(squares)], axis=1)  # q k = patch patch' - |patch'|^2 / 2
    k = np.concatenate([patches, -squares], axis=1)
    v = picture.reshape(-1, 1)
    o = vkflash.attention(*(x.astype(np.float32) for x in (q, k, v)), scale=1 / (6 * noise**2), functions=NATTEN)
    return o[:, 0].reshape(SIZE, SIZE)


def write_png(path, gray):
    """gray: [rows, columns] of 0 to 1."""
    rows = np.pad((np.clip(gray, 0, 1) * 255).astype(np.uint8), ((0, 0), (1, 0)))  # each row begins with its filter, 0
    header = struct.pack(">IIBBBBB", gray.shape[1], gray.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


y, x = np.mgrid[:SIZE, :SIZE] / SIZE - 0.5
clean = 0.2 + 0.3 * (np.hypot(x, y) < 0.35) + 0.4 * ((np.floor(6 * (x + y)) % 2 == 0) & (np.hypot(x, y) > 0.2))
noisy = clean + np.random.default_rng(0).normal(0, 0.15, clean.shape)
smooth = denoise(noisy, 0.15)

before, after = (np.sqrt(np.mean((picture - clean) ** 2)) for picture in (noisy, smooth))
print(f"the error of a pixel was {before:.3f}, and is {after:.3f}")
assert after < 0.6 * before
if len(sys.argv) > 1:
    both = np.concatenate([noisy, np.ones((SIZE, 2)), smooth], axis=1)
    write_png(sys.argv[1], both.repeat(6, axis=0).repeat(6, axis=1))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the sample tensors of this folder. Needs Python's standard library only.

    python3 samples/make_samples.py

q.npy, k.npy, v.npy      float16, [1, 4, 256, 64] and [1, 2, 256, 64]: grouped-query attention
sample.safetensors       the same kind of tensors q, k, v in bfloat16, 128 rows

Rows are noise plus a slow rotation with the position, as rotary embeddings give, so that each row
attends to some keys much more than to others, as in a trained model. The generator is seeded: the
files are the same on every machine.
"""
import json
import math
import pathlib
import random
import struct

FOLDER = pathlib.Path(__file__).parent
DIM = 64


def rows(source, count):
    """`count` rows of DIM numbers: pairs that turn with the position, and noise."""
    for position in range(count):
        row = []
        for pair in range(DIM // 2):
            angle = position / 10000 ** (2 * pair / DIM)
            row += [math.cos(angle), math.sin(angle)]
        yield [x + source.gauss(0, 0.7) for x in row]


def tensor(source, heads, count):
    return [x for _ in range(heads) for row in rows(source, count) for x in row]


def to_float16(values):
    return struct.pack(f"<{len(values)}e", *values)


def to_bfloat16(values):
    """The upper half of a float32, rounded to nearest, ties to even."""
    bits = [word[0] for word in struct.iter_unpack("<I", struct.pack(f"<{len(values)}f", *values))]
    return struct.pack(f"<{len(bits)}H", *((b + 0x7FFF + ((b >> 16) & 1)) >> 16 for b in bits))


def write_npy(path, shape, data):
    header = repr({"descr": "<f2", "fortran_order": False, "shape": shape})
    padding = -(10 + len(header) + 1) % 64
    header = header.encode() + b" " * padding + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    source = random.Random(1)
    for name, heads in (("q", 4), ("k", 2), ("v", 2)):
        write_npy(FOLDER / f"{name}.npy", (1, heads, 256, DIM), to_float16(tensor(source, heads, 256)))
    write_safetensors(FOLDER / "sample.safetensors", {
        name: ([1, heads, 128, DIM], to_bfloat16(tensor(source, heads, 128)))
        for name, heads in (("q", 4), ("k", 2), ("v", 2))})


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seed files under fuzz/corpus, one folder for each target. Needs only Python's standard library.

    python3 fuzz/make_corpus.py
"""
import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus"

# VkfUseBits
USE_LSE = 1 << 0
USE_KEY_LENGTHS = 1 << 3
USE_SINKS = 1 << 6
USE_CAUSAL = 1 << 18
USE_WINDOW = 1 << 19
USE_DLSE = 1 << 21


def npy(header, data, version=1):
    text = header.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def safetensors(header, data):
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    return struct.pack("<Q", len(text)) + text.encode() + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def problem(rows, keys, dim, head_type, **fields):
    """A VkfProblem on a 64-bit machine: the fields of include/vkflash/problem.h up to the longest keys."""
    shape = struct.pack("<QIIIIIIIiIiQII", 0, 1, 4, fields.get("kv_heads", 2), rows, keys, dim, 0,
                        fields.get("path", 0), 0, 0, 0, fields.get("use", USE_LSE), 0)
    tensor = struct.pack("<iIQQQQQ", head_type, 0, 0, fields.get("head_stride", 0), fields.get("row_stride", 0), 0, 0)
    scores = struct.pack("<ffiI", fields.get("scale", 0.0), fields.get("softcap", 0.0), fields.get("alignment", 0), 0)
    window = struct.pack("<qqIIQQ", fields.get("left", 0), fields.get("right", 0), 0, 0, 0, 0)
    return shape + tensor * 4 + scores + window + struct.pack("<II", 0, 0)


def backward(forward, **fields):
    """A VkfBackwardProblem on a 64-bit machine, and the problem behind it."""
    head = struct.pack("<QQII", 0, 0, fields.get("gradients", 0), fields.get("use", 0))
    tensor = struct.pack("<iIQQQQQ", fields.get("type", 0), 0, 0, fields.get("head_stride", 0),
                         fields.get("row_stride", 0), 0, 0)
    tail = struct.pack("<iIQQQQ", fields.get("bias_type", 0), 0, 0, 0, 0, 0)
    return head + tensor * 4 + tail + forward


TUNING_HEAD = "vkflash tuning 1\ndevice vendor=0x10de device=0x2335 driver=4\n"
TUNING_CLASS = "type=f16 masked=no headDim=64 valueDim=1..256 rows=1..99 keys=5 heads=0..4294967295 "
TUNING_SCALAR = ("scalar " + TUNING_CLASS +
                 "groups=8 lanes=16 threadRows=4 threadKeys=4 chunkDim4=8 chunkKeys=16\n")
TUNING_COOPMAT = "coopmat " + TUNING_CLASS + "subgroups=4 rowTiles=2 keyTiles=4 splits=3 # fast\n"
TUNING_MATRIX = ("matrix type=f16 rows=16 columns=16 depth=16 lanes=32 result=0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0 "
                 "left=0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0 right=1.0,8.0,0.8/2.0,4.0,0.1,0.2,0.4\n")

TUNING_BACKWARD = ("coopmat-dq " + TUNING_CLASS + "subgroups=4 ownedTiles=1 steps=2 stages=2 depthSubgroups=1\n" +
                   "coopmat-dk-dv " + TUNING_CLASS + "subgroups=8 ownedTiles=2 steps=1 stages=1 depthSubgroups=2\n")

DICT = "{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n"

def command(line):
    """One word a line, as fuzz_command_line reads it."""
    return "\n".join(line.split()).encode()


SEEDS = {
    "npy": {
        "f4": npy(DICT.format("<f4", False, "(2, 3)"), bytes(24)),
        "f2_v2": npy(DICT.format("<f2", False, "(1, 2, 3)"), bytes(12), 2),
        "i8_v3": npy(DICT.format("<i8", False, "(2,)"), bytes(16), 3),
        "scalar": npy(DICT.format("=f4", False, "()"), bytes(4)),
        "empty": npy(DICT.format("<f4", False, "(2, 0, 3)"), b""),
        "fortran": npy(DICT.format("<f4", True, "(2, 3)"), bytes(24)),
        "big_endian": npy(DICT.format(">f4", False, "(2, 3)"), bytes(24)),
        "record": npy(DICT.format("<f4", False, "(2L, 3L)").replace("'<f4'", "[('a', '<f4')]"), bytes(24)),
        "overflow": npy(DICT.format("<f4", False, "(4294967296, 4294967296)"), b""),
        "long_header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}",
    },
    "safetensors": {
        "three": safetensors({"q": entry("BF16", [1, 2], 0, 4), "k": entry("F16", [2], 4, 8),
                              "v": entry("F32", [1], 8, 12)}, bytes(12)),
        "metadata": safetensors({"__metadata__": {"format": "pt"}, "q": entry("I64", [], 0, 8)}, bytes(8)),
        "other_type": safetensors({"q": entry("F8_E4M3", [3], 0, 3)}, bytes(3)),
        "empty": safetensors({"q": entry("F32", [0, 5], 0, 0)}, b""),
        "overlap": safetensors({"q": entry("F32", [1], 0, 4), "k": entry("F32", [1], 0, 4)}, bytes(4)),
        "duplicate": safetensors('{"q":' + json.dumps(entry("F32", [1], 0, 4)) + ',"q":7}', bytes(4)),
        "deep": safetensors("[" * 40, b""),
        "long_header": struct.pack("<Q", 2**64 - 1) + b"{}",
    },
    "tuning": {
        "both_paths": (TUNING_HEAD + TUNING_SCALAR + TUNING_COOPMAT).encode(),
        "backward": (TUNING_HEAD + TUNING_BACKWARD).encode(),
        "splits": (TUNING_HEAD + TUNING_SCALAR.replace("groups", "splits=3 groups")).encode(),
        "other_device": (TUNING_HEAD.replace("2335", "2336") + TUNING_SCALAR + TUNING_HEAD[17:] +
                         TUNING_COOPMAT).encode(),
        "matrix": (TUNING_HEAD + TUNING_MATRIX + TUNING_COOPMAT).encode(),
        "matrix_twice": (TUNING_HEAD + TUNING_MATRIX.replace("right=1.0", "right=2.0")).encode(),
        "newer": b"vkflash tuning 2\n",
        "no_device": ("vkflash tuning 1\n" + TUNING_SCALAR).encode(),
        "twice": (TUNING_HEAD + TUNING_SCALAR.replace("groups", "lanes")).encode(),
        "odd_chunk": (TUNING_HEAD + TUNING_SCALAR.replace("chunkKeys=16", "chunkKeys=24")).encode(),
        "huge": (TUNING_HEAD + TUNING_SCALAR.replace("groups=8", "groups=1024")).encode(),
    },
    "problem": {
        "plain": problem(128, 128, 64, 1),
        "causal": problem(7, 97, 40, 0, use=USE_LSE | USE_CAUSAL, alignment=1),
        "window": problem(113, 203, 72, 2, left=16, right=-1,
                          use=USE_LSE | USE_KEY_LENGTHS | USE_WINDOW),
        "no_keys": problem(5, 0, 8, 0),
        "no_rows": problem(0, 5, 8, 0),
        "softcap": problem(1, 1025, 256, 1, softcap=30.0, scale=0.5, path=2),
        "uneven_heads": problem(16, 16, 16, 1, kv_heads=3),
        "too_wide": problem(16, 16, 257, 1),
        "not_a_number": problem(16, 16, 16, 1, scale=float("nan")),
        # Four heads reach over 2^62 elements of 4 bytes, which is 2^64 bytes.
        "longest_reach": problem(1, 0, 1, 0, head_stride=0x1555555555555555, row_stride=1),
        "long": problem(16, 16, 16, 1) + bytes(900),
    },
    "backward": {
        "plain": backward(problem(128, 128, 64, 1)),
        "causal": backward(problem(7, 97, 40, 0, use=USE_LSE | USE_CAUSAL, alignment=1), type=1, use=USE_DLSE),
        "sinks": backward(problem(16, 16, 16, 1, use=USE_LSE | USE_SINKS), gradients=0x17),
        "bias": backward(problem(16, 16, 16, 1), gradients=8, bias_type=2),
        "no_keys": backward(problem(5, 0, 8, 0)),
        "no_lse": backward(problem(5, 5, 8, 0, use=0)),
        "path_decode": backward(problem(5, 5, 8, 0, path=4)),
        "longest_reach": backward(problem(1, 0, 1, 0), head_stride=0x1555555555555555, row_stride=1),
        "long": backward(problem(16, 16, 16, 1) + bytes(900)),
    },
    "command_line": {
        "info": command("info"),
        "help": command("bench decode --help"),
        "version": command("--version"),
        "run": command("run --q q.npy --k k.npy --v v.npy -o o.npy --causal --window 63,0 --softcap 30 --verify"),
        "tensors": command("run --tensors sample.safetensors -o o.safetensors --alibi --scale 0.5 --first-keys 3"),
        "inputs": command("run --q q.npy --k k.npy --v v.npy --bias q.npy --mask k.npy --sinks v.npy --documents q.npy "
                          "--lengths k.npy --block-mask v.npy --mask-block 16 --dropout 0.1 --cu-seqlens-q q.npy"),
        "backward": command("backward --q q.npy --k k.npy --v v.npy --do q.npy --dq dq.npy --dk dk.npy --dv dv.npy"),
        "plan": command("plan --heads 32 --kv-heads 8 --rows 4096 --dim 128 --type f16 --kv-type q8_0 --explain"),
        "verify": command("verify --rows 100 --keys 7 --random-lengths --seed 7 --path decode --precision fp32"),
        "soak": command("soak --minutes 0.1 --parts decode,long --device 0 --quirk rolled-loops"),
        "tune": command("tune -o tuning.txt --quick --dims 64,80 --types f16"),
        "compile": command("compile q.npy -o q.vkfn --array bias=f16 --array seen=u8 --paths scalar,decode"),
        "report": command("report --results . -o report.html"),
        "bench": command("bench prefill --dims 128 --rows 1024,4096 --json times.json --compare q.npy"),
    },
}


def main():
    for target, seeds in SEEDS.items():
        (FOLDER / f"fuzz_{target}").mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (FOLDER / f"fuzz_{target}" / name).write_bytes(data)


if __name__ == "__main__":
    main()

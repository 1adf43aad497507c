#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the times of other implementations as the JSON that `vkflash bench ... --compare FILE` reads.

    python3 bench/pytorch.py > pytorch.txt && python3 bench/peers.py pytorch.txt -o pytorch.json
    test-backend-ops perf -o FLASH_ATTN_EXT > ggml.txt && python3 bench/peers.py ggml.txt -o ggml.json

It reads the output of bench/pytorch.py, and that of ggml's test-backend-ops perf with or without --test-file. Lines of
other kinds are ignored. A line that begins like a time and goes on differently is an error.
Rows of ggml with a mask tensor, sinks, ALiBi, softcap, or different types of k and v are left out, because they are
other problems. ggml need not accumulate in fp32 unless the row asks for it; other rows are named ggml-fp16.
"""
import argparse
import json
import pathlib
import re
import sys

# The benchmark's mask hides nothing, and with this many rows it costs next to nothing.
MOST_MASKED_ROWS = 16
PRECISION_F32 = 10  # parameter 3 of ggml's operation
FACTS = ("--version", "--driver", "--date", "--commit", "--command")
NUMBER = r"([\d.]+)"


def shape(batch, heads, rows, dim, **more):
    """As many keys as rows and as many KV heads as query heads, unless `more` says otherwise."""
    return {"batch": batch, "queryHeads": heads, "kvHeads": heads, "queryRows": rows, "keys": rows, "headDim": dim,
            "type": "f16", "causal": False, "backward": False} | more


def match(pattern, text, what):
    found = re.fullmatch(pattern, text)
    if found is None:
        raise ValueError(f"{what} is expected in \"{text[:120]}\"")
    return found.groups()


def kernels(text, pattern, what):
    """[(name, numbers)] of words like "flash=281". ERR marks a kernel that refused the shape."""
    pairs = [match(r"(\w+)=(\S+)", word, "NAME=TIME") for word in text.split()]
    return [(name, match(pattern, value, what)) for name, value in pairs if value != "ERR"]


def read_batched(line):
    """d128 n512 b32 h16 causal0 TFLOPs fwd flash=281 | bwd flash=164"""
    *sizes, forward, backward = match(r"d(\d+) n(\d+) b(\d+) h(\d+) causal([01]) TFLOPs fwd ?(.*?) *(?:\| bwd ?(.*))?",
                                      line, "d, n, b, h, causal and the TFLOP/s of fwd and bwd")
    dim, rows, batch, heads, causal = map(int, sizes)
    for text, is_backward in ((forward, False), (backward or "", True)):
        for name, (rate,) in kernels(text, NUMBER, "a number of TFLOP/s"):
            yield name, shape(batch, heads, rows, dim, causal=bool(causal), backward=is_backward), "teraflops", rate


def read_one_sequence(line):
    """B1 128 512 flash=40us/53TF: one sequence, heads x D = 2048"""
    *sizes, text = match(r"B1 (\d+) (\d+) (.*)", line, "D, a number of rows and times")
    dim, rows = map(int, sizes)
    if dim == 0 or 2048 % dim != 0:
        raise ValueError(f"a D that divides 2048 is expected in \"{line[:120]}\"")
    for name, (_, rate) in kernels(text, NUMBER + "us/" + NUMBER + "TF", "a time in us and TFLOP/s"):
        yield name, shape(1, 2048 // dim, rows, dim), "teraflops", rate


def read_fp32(line):
    """fp32 4096 eff 44.9TF: 16 heads, D = 128"""
    rows, name, rate = match(r"fp32 (\d+) (\w+) " + NUMBER + "TF", line, "a number of rows, a name and TFLOP/s")
    yield name, shape(1, 16, int(rows), 128, type="f32"), "teraflops", rate


def read_decode(line):
    """decode 1 4096 flash=36.1us/464GB/s: sequences and keys; one row, 32 heads over 8 KV heads, D = 128"""
    batch, keys, text = match(r"decode (\d+) (\d+) (.*)", line, "numbers of sequences and keys, and times")
    for name, (time, _) in kernels(text, NUMBER + "us/" + NUMBER + "GB/s", "a time in us and GB/s"):
        yield name, shape(int(batch), 32, 1, 128, kvHeads=8, keys=int(keys)), "microseconds", time


def named_row(parameters):
    """The shape of a row of ggml's own list and its precision, or None. The row names each parameter."""
    rows, others = int(parameters["nb"]), ("sinks", "max_bias", "logit_softcap")
    masked = float(parameters["mask"]) != 0 and rows > MOST_MASKED_ROWS
    if masked or any(float(parameters[name]) != 0 for name in others):
        return None
    if parameters["hsk"] != parameters["hsv"] or parameters["type_K"] != parameters["type_V"]:
        return None
    group, batch = map(int, match(r"\[(\d+),(\d+)\]", parameters["nr23"], "two numbers in nr23"))
    heads = int(parameters["nh"])
    return shape(batch, heads * group, rows, int(parameters["hsk"]), kvHeads=heads, keys=int(parameters["kv"]),
                 type=parameters["type_K"]), parameters["prec"] == "f32"


def tensor_row(parameters):
    """The same of a row of a test file. The row names the tensors and not their meaning."""
    sources = re.findall(r"(\w+)\[(\d+),(\d+),(\d+),(\d+)\](?:nb\[[^]]*\])?", parameters["sources"])
    if len(sources) < 3:
        raise ValueError(f"three sources are expected in \"{parameters['sources']}\"")
    (_, dim, rows, heads, batch), (type_k, _, keys, kv_heads, _) = sources[:2]
    # A fourth source is the mask, a fifth one holds the sinks.
    masked = len(sources) == 4 and int(rows) > MOST_MASKED_ROWS
    operation = dict(map(int, pair.split(":")) for pair in parameters["op_params"].strip("[]").split(",") if pair)
    max_bias, softcap, precision = (operation.get(number, 0) for number in (1, 2, 3))
    if len(sources) > 4 or masked or sources[1] != sources[2] or max_bias or softcap:
        return None
    return shape(int(batch), int(heads), int(rows), int(dim), kvHeads=int(kv_heads), keys=int(keys),
                 type=type_k), precision == PRECISION_F32


def read_ggml(line):
    """FLASH_ATTN_EXT(hsk=128,...): 43475 runs - 23.02 us/run - ..."""
    text, result = match(r"FLASH_ATTN_EXT\((.*?)\): *(.*)", line, "a list of parameters and a result")
    if result.startswith("not supported"):
        return
    (time,) = match(r"\d+ runs - +" + NUMBER + r" us/run.*", result, "a number of runs and a time in us")
    text, _, sources = text.partition("sources=")
    parameters = dict(re.findall(r"(\w+)=(\[[^]]*\]|[^,]*)", text))
    try:
        row = tensor_row(parameters | {"sources": sources}) if sources else named_row(parameters)
    except KeyError as error:
        raise ValueError(f"the parameter {error} is expected in \"{line[:120]}\"") from error
    if row:
        yield "ggml" if row[1] else "ggml-fp16", row[0], "microseconds", time


READERS = {r"d\d": ("PyTorch", read_batched), r"B1 ": ("PyTorch", read_one_sequence), r"fp32 ": ("PyTorch", read_fp32),
           r"decode ": ("PyTorch", read_decode), r"FLASH_ATTN_EXT\(": ("ggml", read_ggml)}


def read(text):
    """{"format", "device", "results"} of an output."""
    file = {"format": "", "device": "", "results": []}
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines, 1):
        if line.startswith("Device description: "):
            file["device"] = line.partition(": ")[2]
        for begin, (format_name, reader) in READERS.items():
            if not re.match(begin, line):
                continue
            file["format"] = format_name
            try:
                file["results"] += [{"name": name} | of | {unit: float(time)} for name, of, unit, time in reader(line)]
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    if not file["results"]:
        raise ValueError("holds no time of bench/pytorch.py or of ggml's test-backend-ops perf")
    if file["format"] == "PyTorch":  # "2.11.0+cu130 NVIDIA H200 91900"
        file["device"] = " ".join(lines[0].split()[1:-1])
    return file


def main():
    parser = argparse.ArgumentParser(description="Writes times of other implementations for vkflash bench --compare.")
    parser.add_argument("file", type=pathlib.Path, help="output of bench/pytorch.py or of test-backend-ops perf")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="the JSON file")
    for flag in FACTS:
        parser.add_argument(flag, default="unknown", help=f"{flag[2:]} to record")
    options = parser.parse_args()
    try:
        file = read(options.file.read_text(errors="replace"))
    except (OSError, ValueError) as error:
        sys.exit(f"{options.file}: {error}")
    facts = {flag[2:]: getattr(options, flag[2:]) for flag in FACTS}
    head = {"format": file["format"], "device": file["device"]} | facts
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    results = ",\n".join("    " + json.dumps(result) for result in file["results"])
    options.output.write_text("{\n" + ",\n".join(lines) + ",\n  \"results\": [\n" + results + "\n  ]\n}\n")


if __name__ == "__main__":
    main()

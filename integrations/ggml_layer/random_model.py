#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a model of the llama architecture with random weights, as a GGUF file.

The layer is compared and timed with it: neither needs a trained model. The matrices are q4_0, the norms fp32. With
--vocabulary 0 the tokens are the 256 bytes and three control tokens, so that any text can be a prompt. Otherwise the
model has no tokenizer, which is enough for llama-bench. Needs nothing but Python.
"""
import argparse
import random
import struct

UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9  # types of metadata
INT32 = 5
F32, Q4_0 = 0, 2  # types of tensors
BLOCK_ELEMENTS, BLOCK_BYTES = 32, 18
ALIGNMENT = 32
POOL_BLOCKS = 1 << 16
UNKNOWN, CONTROL, BYTE = 2, 3, 6  # types of tokens
GAIN = 2  # scores of attention have a deviation of its square


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--embedding", type=int, default=256, help="columns of the hidden state")
    parser.add_argument("--feed-forward", type=int, default=512)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=0, help="number of tokens; 0 = bytes, with a tokenizer")
    parser.add_argument("--context", type=int, default=1 << 18)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def value_of(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], value)


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value_of(kind, value)


def array_entry(key, kind, values):
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(value_of(kind, value) for value in values)


def byte_tokenizer():
    """Tokens of single bytes. Without longer tokens, a text becomes its bytes."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    return [
        entry("tokenizer.ggml.model", STRING, "llama"),
        array_entry("tokenizer.ggml.tokens", STRING, tokens),
        array_entry("tokenizer.ggml.scores", FLOAT32, [0.0] * len(tokens)),
        array_entry("tokenizer.ggml.token_type", INT32, kinds),
        entry("tokenizer.ggml.bos_token_id", UINT32, 1),
        entry("tokenizer.ggml.eos_token_id", UINT32, 2),
        entry("tokenizer.ggml.unknown_token_id", UINT32, 0),
    ]


def metadata(model):
    entries = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "random"),
        entry("general.file_type", UINT32, 2),
        entry("llama.context_length", UINT32, model.context),
        entry("llama.embedding_length", UINT32, model.embedding),
        entry("llama.block_count", UINT32, model.layers),
        entry("llama.feed_forward_length", UINT32, model.feed_forward),
        entry("llama.attention.head_count", UINT32, model.heads),
        entry("llama.attention.head_count_kv", UINT32, model.kv_heads),
        entry("llama.attention.key_length", UINT32, model.head_dim),
        entry("llama.attention.value_length", UINT32, model.head_dim),
        entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        entry("llama.rope.dimension_count", UINT32, model.head_dim),
        entry("llama.vocab_size", UINT32, tokens_of(model)),
    ]
    return entries + (byte_tokenizer() if model.vocabulary == 0
                      else [entry("tokenizer.ggml.model", STRING, "no_vocab")])


def tokens_of(model):
    return model.vocabulary or 259


def tensors(model):
    """Name, dimensions (the innermost first) and type of each tensor."""
    hidden, queries, keys = model.embedding, model.heads * model.head_dim, model.kv_heads * model.head_dim
    yield "token_embd.weight", (hidden, tokens_of(model)), Q4_0
    yield "output_norm.weight", (hidden,), F32
    yield "output.weight", (hidden, tokens_of(model)), Q4_0
    for layer in range(model.layers):
        for name, dimensions, kind in (
                ("attn_norm", (hidden,), F32), ("attn_q", (hidden, queries), Q4_0), ("attn_k", (hidden, keys), Q4_0),
                ("attn_v", (hidden, keys), Q4_0), ("attn_output", (queries, hidden), Q4_0), ("ffn_norm", (hidden,), F32),
                ("ffn_gate", (hidden, model.feed_forward), Q4_0), ("ffn_up", (hidden, model.feed_forward), Q4_0),
                ("ffn_down", (model.feed_forward, hidden), Q4_0)):
            yield f"blk.{layer}.{name}.weight", dimensions, kind


def elements(dimensions):
    count = 1
    for dimension in dimensions:
        count *= dimension
    return count


def bytes_of(dimensions, kind):
    count = elements(dimensions)
    return count * 4 if kind == F32 else count // BLOCK_ELEMENTS * BLOCK_BYTES


def random_blocks(columns, rng):
    """Blocks of q4_0. Codes from 0 to 15 have a deviation of 4.6. Products are GAIN times as large as their inputs."""
    scale = struct.pack("<e", GAIN / (4.6 * columns**0.5))
    return b"".join(scale + rng.randbytes(BLOCK_BYTES - 2) for _ in range(POOL_BLOCKS // 16))


def padding(length):
    return b"\0" * (-length % ALIGNMENT)


def write(model):
    rng = random.Random(model.seed)
    pools = {}
    entries, all_tensors = metadata(model), list(tensors(model))
    with open(model.file, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(entries)) + b"".join(entries))
        offset = 0
        for name, dimensions, kind in all_tensors:
            file.write(text(name) + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions))
            file.write(struct.pack("<IQ", kind, offset))
            offset += bytes_of(dimensions, kind) + len(padding(bytes_of(dimensions, kind)))
        file.write(padding(file.tell()))
        for _, dimensions, kind in all_tensors:
            left = bytes_of(dimensions, kind)
            pad = padding(left)
            if kind == F32:
                file.write(struct.pack("<f", 1.0) * (left // 4))
                left = 0
            columns = dimensions[0]
            if left and columns not in pools:
                pools[columns] = random_blocks(columns, rng)
            while left:
                pool = pools[columns]
                begin = rng.randrange(len(pool) // BLOCK_BYTES) * BLOCK_BYTES if left < len(pool) else 0
                piece = pool[begin:begin + left]
                file.write(piece)
                left -= len(piece)
            file.write(pad)


if __name__ == "__main__":
    write(parse_arguments())

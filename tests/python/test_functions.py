# SPDX-License-Identifier: MIT
"""Masks and scores of the caller's own against formulas in fp64."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

import formulas
import vkflash
from arrays import TYPES, tensors
from vkflash import _core

GALLERY = pathlib.Path(__file__).parents[2] / "examples" / "functions"
EVEN = "bool keep(Position at) { return (at.key - at.row) % 2 == 0; }"
DOCUMENT = "bool keep(Position at) { return document(at.key) == document(at.row); }"
# Rows and keys of one sequence, whose 12 rows are the last ones of 12 keys.
ROWS = 12
SQUARE = """
float score(float s, Position at) {
    return s * s * weight(at.head);
}
float scoreDerivative(float s, Position at) {
    return 2.0 * s * weight(at.head);
}
"""


@pytest.fixture
def qkv(rng):
    return tensors(rng, rows=ROWS, keys=ROWS)


def plain_scores(q, k):
    return formulas.scores(q, k)


def attend(s, v, heads=4):
    """o in fp64 of scores [batch, heads, rows, keys]."""
    p, lse = formulas.softmax(s)
    return p @ formulas.grouped(v, heads).astype(np.float64), p, lse


def check(o, s, v):
    assert np.abs(o - attend(s, v)[0]).max() < 2e-5


def test_a_mask_of_positions(qkv):
    q, k, v = qkv
    i, j = np.mgrid[:ROWS, :ROWS]
    seen = (j - i) % 2 == 0
    check(vkflash.attention(q, k, v, functions=EVEN), np.where(seen, plain_scores(q, k), -np.inf), v)
    with pytest.raises(AssertionError):  # the check finds a mask that is not there
        check(vkflash.attention(q, k, v), np.where(seen, plain_scores(q, k), -np.inf), v)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, bool])
def test_a_mask_with_an_array_of_integers(qkv, kind):
    q, k, v = qkv
    document = (np.arange(ROWS) // 5 % 2).astype(kind)
    seen = document[:, None] == document[None, :]
    o = vkflash.attention(q, k, v, functions=DOCUMENT, function_arrays={"document": document})
    check(o, np.where(seen, plain_scores(q, k), -np.inf), v)


@pytest.mark.parametrize("kind", TYPES)
def test_a_score_with_an_array_of_floats(qkv, rng, kind):
    q, k, v = qkv
    table = rng.standard_normal((4, ROWS)).astype(kind)
    text = f"float score(float s, Position at) {{ return s + table(at.head * {ROWS} + abs(at.row - at.key)); }}"
    i, j = np.mgrid[:ROWS, :ROWS]
    s = plain_scores(q, k) + table.astype(np.float64)[:, np.abs(i - j)]
    check(vkflash.attention(q, k, v, functions=text, function_arrays={"table": table}), s, v)
    check(vkflash.attention(q, k, v, functions=text, function_arrays={"table": np.asfortranarray(table)}), s, v)


def test_a_score_and_its_gradients(qkv, rng, device):
    q, k, v = qkv
    weight = np.array([1, -0.5, 0.25, 2], np.float32)
    options = {"functions": SQUARE, "function_arrays": {"weight": weight}}
    o, lse = vkflash.attention(q, k, v, return_lse=True, **options)
    s = plain_scores(q, k)
    factor = weight.astype(np.float64)[:, None, None]
    check(o, factor * s * s, v)
    do = rng.standard_normal(o.shape).astype(np.float32)
    dq, dk, dv = vkflash.attention_backward(do, q, k, v, o, lse, **options)

    exact, p, _ = attend(factor * s * s, v)
    values, keys = (formulas.grouped(x, 4).astype(np.float64) for x in (v, k))
    ds = p * (do @ values.swapaxes(-1, -2) - (do * exact).sum(-1, keepdims=True)) * 2 * s * factor * 32**-0.5
    by_kv_head = (2, 2, 2, ROWS, 32)
    expected = (ds @ keys, (ds.swapaxes(-1, -2) @ q).reshape(by_kv_head).sum(2),
                (p.swapaxes(-1, -2) @ do).reshape(by_kv_head).sum(2))
    for found, right in zip((dq, dk, dv), expected):
        assert np.abs(found - right).max() < 1e-4 * max(np.abs(right).max(), 1)

    on_device = [device.array(x) for x in (do, q, k, v, o, lse)]
    again = vkflash.attention_backward(*on_device, functions=SQUARE, function_arrays={"weight": device.array(weight)})
    for found, right in zip(again, (dq, dk, dv)):
        assert np.array_equal(found.numpy(), right)


def test_a_score_without_derivative_has_no_gradients(qkv):
    q, k, v = qkv
    half = "float score(float s, Position at) { return 0.5 * s; }"
    o, lse = vkflash.attention(q, k, v, return_lse=True, functions=half)
    with pytest.raises(vkflash.Error, match="scoreDerivative"):
        vkflash.attention_backward(o, q, k, v, o, lse, functions=half)


def test_a_file_and_other_masks(qkv):
    q, k, v = qkv
    file = GALLERY / "masks" / "sliding_window.glsl"
    expected = vkflash.attention(q, k, v, functions=file.read_text(), causal=True)
    for path in (file, str(file)):
        assert np.array_equal(vkflash.attention(q, k, v, functions=path, causal=True), expected)


def test_a_cache_takes_functions(rng):
    q, k, v = tensors(rng, rows=ROWS, keys=ROWS)
    cache = vkflash.Cache(2, 2, 16, 32, type="f32")
    cache.append(k, v)
    i, j = np.mgrid[:ROWS, :ROWS]
    s = np.where(((j - i) % 2 == 0) & (j <= i), plain_scores(q, k), -np.inf)
    check(cache.attend(q, functions=EVEN), s, v)


def test_a_plan_takes_functions(qkv):
    plan = vkflash.plan(*qkv, functions=EVEN, path="scalar")
    assert "keep" in plan.description


def test_compiles_each_text_once(qkv, monkeypatch):
    texts = []
    compile_functions = _core.compile_functions

    def counted(text, name, arrays):
        texts.append(text)
        return compile_functions(text, name, arrays)

    monkeypatch.setattr("vkflash._functions.compile_functions", counted)
    text = EVEN + "\n// test_compiles_each_text_once"
    first = vkflash.attention(*qkv, functions=text)
    assert np.array_equal(vkflash.attention(*qkv, functions=text), first)
    vkflash.attention(*qkv, functions=text, causal=True)
    assert texts == [text]


@pytest.fixture
def compiled(tmp_path):
    """The path of a file of `vkflash compile`, which reads the i32 array `document`."""
    if "VKFLASH_TEST_PROGRAM" not in os.environ:
        pytest.skip("no program that compiles functions")
    source, path = tmp_path / "document.glsl", tmp_path / "document.vkfn"
    source.write_text(DOCUMENT)
    subprocess.run([os.environ["VKFLASH_TEST_PROGRAM"], "compile", source, "--array", "document=i32", "--paths",
                    "scalar", "-o", path], check=True)
    return path


def test_a_compiled_file(qkv, compiled):
    q, k, v = qkv
    document = np.arange(ROWS) // 5
    expected = vkflash.attention(q, k, v, functions=DOCUMENT, function_arrays={"document": document}, path="scalar")
    for path in (compiled, str(compiled)):
        o = vkflash.attention(q, k, v, functions=path, function_arrays={"document": document}, path="scalar")
        assert np.array_equal(o, expected)


def test_a_compiled_file_names_the_arrays_that_it_reads(qkv, compiled):
    def refuses(sentence, **arrays):
        with pytest.raises(vkflash.Error, match=sentence):
            vkflash.attention(*qkv, functions=compiled, function_arrays=arrays, path="scalar")

    document = np.arange(ROWS)
    refuses("function_arrays lacks 'document', which .*document.vkfn reads")
    refuses(r"function_arrays\['document'\] has elements of f32; .* reads i32", document=document.astype(np.float32))
    refuses("function_arrays has 'other', which .* does not read", document=document, other=document)
    compiled.write_bytes(b"VKF")
    refuses("functions: .*document.vkfn: ", document=document)


@pytest.mark.parametrize(("functions", "arrays", "sentence"), [
    ("bool keep(Position at) {\n    return x;\n}", None, r"functions:2: 'x' : undeclared identifier"),
    ("bool keep(Position at) { return document(0) == 1; }", None, "functions:1: 'document'"),
    ("int f() { return 0; }", None, "functions"),
    (3, None, "functions is a int; it takes GLSL"),
    ("no_such.glsl", None, "functions: no_such.glsl: No such file"),
    ("no_such.vkfn", None, "functions: no_such.vkfn: No such file"),
    (None, {"a": np.zeros(1, np.float32)}, "function_arrays needs functions"),
    (EVEN, [1], "function_arrays is a list; it takes a dict"),
    (EVEN, {"a": np.zeros(1)}, r"function_arrays\['a'\] has elements of float64; it takes"),
    (EVEN, {"no name": np.zeros(1, np.float32)}, "no name"),
    (EVEN, {"a" * 32: np.zeros(1, np.float32)}, "31 bytes"),
    (EVEN, {f"a{i}": np.zeros(1, np.float32) for i in range(9)}, "8"),
])
def test_errors_name_the_line_or_the_argument(qkv, functions, arrays, sentence):
    with pytest.raises(vkflash.Error, match=sentence):
        vkflash.attention(*qkv, functions=functions, function_arrays=arrays)


def test_errors_name_the_line_of_a_file(qkv, tmp_path):
    file = tmp_path / "wrong.glsl"
    file.write_text("\n\nbool keep(Position at) { return y; }\n")
    with pytest.raises(vkflash.Error, match=re.escape(f"{file}:3: 'y' : undeclared identifier")):
        vkflash.attention(*qkv, functions=file)


def test_device_arrays_are_dense_and_begin_at_words(qkv, device):
    document = device.array(np.zeros((ROWS, 2), np.int32))
    for part, sentence in ((document[:, 0], "with gaps"), (device.array(np.zeros(ROWS + 1, bool))[1:], "multiple of 4")):
        with pytest.raises(vkflash.Error, match=sentence):
            vkflash.attention(*qkv, functions=DOCUMENT, function_arrays={"document": part})

# SPDX-License-Identifier: MIT
"""Maps of tiles that are made once for many calls."""

import numpy as np
import pytest

import vkflash
from arrays import tensors
from vkflash import _core

ROWS = 150
NEAR = "bool keep(Position at) { return abs(at.row - at.key) < 9 && flag(at.key) != 0; }"
CAPPED = "float score(float s, Position at) { return 3.0 * tanh(s / 3.0); }\n"


@pytest.fixture
def qkv(rng):
    return tensors(rng, rows=ROWS, keys=ROWS)


@pytest.fixture
def flags(rng):
    return {"flag": rng.random(ROWS) < 0.8}


@pytest.fixture
def counted(monkeypatch):
    """Which functions of plans ran."""
    calls = []
    for name in ("run", "map_tiles"):
        function = getattr(_core.AttentionPlan, name)
        monkeypatch.setattr(_core.AttentionPlan, name, lambda plan, arrays, name=name, function=function: (
            calls.append(name), function(plan, arrays))[1])
    return calls


@pytest.mark.parametrize("text", [NEAR, CAPPED + NEAR])
@pytest.mark.parametrize("path", ["scalar", "auto"])
def test_one_map_serves_calls_with_other_tensors(qkv, flags, counted, text, path):
    options = {"functions": text, "function_arrays": flags, "path": path}
    kept = vkflash.TileMap(*qkv, **options)
    assert counted == ["map_tiles"] if kept.nbytes else counted == []
    q, k, v = qkv
    for arrays in ((q, k, v), (q[::-1].copy(), k * 2, v + 1)):
        expected = vkflash.attention(*arrays, **options)
        assert np.array_equal(vkflash.attention(*arrays, tile_map=kept, **options), expected)
    assert counted.count("map_tiles") <= 1


def test_a_call_reads_the_map_and_makes_none(qkv, flags):
    """A map of another mask shows: its empty tiles are skipped."""
    options = {"functions": NEAR, "path": "scalar"}
    none = {"flag": np.zeros(ROWS, bool)}
    kept = vkflash.TileMap(*qkv, function_arrays=none, **options)
    assert kept.nbytes > 0
    assert np.all(vkflash.attention(*qkv, tile_map=kept, function_arrays=flags, **options) == 0)
    assert np.any(vkflash.attention(*qkv, function_arrays=flags, **options) != 0)


def test_a_map_of_a_dense_mask_on_the_device(qkv, rng, device):
    mask = device.array(rng.random((ROWS, ROWS)) < 0.3)
    arrays = [device.array(x) for x in qkv]
    kept = vkflash.TileMap(*arrays, mask=mask, return_lse=True, path="scalar")
    assert kept.nbytes > 0
    expected = vkflash.attention(*arrays, mask=mask, return_lse=True, path="scalar")
    found = vkflash.attention(*arrays, mask=mask, return_lse=True, path="scalar", tile_map=kept)
    for own, other in zip(found, expected):
        assert np.array_equal(own.numpy(), other.numpy())


def test_packed_sequences(rng, flags):
    q, k, v = (x[0] for x in tensors(rng, rows=ROWS, keys=ROWS))
    options = {"functions": NEAR, "function_arrays": flags, "cu_seqlens_q": [0, 70, ROWS], "path": "scalar"}
    kept = vkflash.TileMap(q, k, v, **options)
    expected = vkflash.attention(q, k, v, **options)
    assert np.array_equal(vkflash.attention(q, k, v, tile_map=kept, **options), expected)


def test_a_path_without_a_map(qkv):
    kept = vkflash.TileMap(*qkv, path="decode")
    assert kept.nbytes == 0
    assert np.array_equal(vkflash.attention(*qkv, path="decode", tile_map=kept),
                          vkflash.attention(*qkv, path="decode"))


def test_the_backward_pass_takes_the_same_options(qkv, flags, rng):
    options = {"functions": NEAR, "function_arrays": flags, "path": "scalar"}
    o, lse = vkflash.attention(*qkv, return_lse=True, **options)
    kept = vkflash.TileMap(*qkv, **options)
    expected = vkflash.attention_backward(o, *qkv, o, lse, **options)
    for own, other in zip(vkflash.attention_backward(o, *qkv, o, lse, tile_map=kept, **options), expected):
        assert np.array_equal(own, other)


def test_errors_say_what_differs(qkv, flags):
    options = {"functions": NEAR, "function_arrays": flags, "path": "scalar"}
    kept = vkflash.TileMap(*qkv, **options)
    with pytest.raises(vkflash.Error, match="tile_map was made for a call with another window;"):
        vkflash.attention(*qkv, window=(4, 4), tile_map=kept, **options)
    with pytest.raises(vkflash.Error, match="tile_map was made for a call with another scale;"):
        vkflash.attention(*qkv, scale=2.0, tile_map=kept, **options)
    with pytest.raises(vkflash.Error, match="tile_map was made for a call with another lse, causal;"):
        vkflash.attention(*qkv, causal=True, return_lse=True, tile_map=kept, **options)
    with pytest.raises(vkflash.Error, match="tile_map is a int: pass a vkflash.TileMap"):
        vkflash.attention(*qkv, tile_map=3, **options)
    with pytest.raises(vkflash.Error, match="tile_map is on .*, and the call on "):
        vkflash.attention(*qkv, tile_map=kept, device=vkflash.Device(), **options)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tile_map'"):
        vkflash.TileMap(*qkv, tile_map=kept)
    with pytest.raises(TypeError, match="unexpected keyword argument 'windows'"):
        vkflash.TileMap(*qkv, windows=3)

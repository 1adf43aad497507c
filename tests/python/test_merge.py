# SPDX-License-Identifier: MIT
"""merge(): partial results over disjoint keys are the result over all keys."""

import numpy as np
import pytest

import vkflash
from arrays import tensors

PARTS = (slice(0, 4), slice(4, 5), slice(5, 13))


@pytest.mark.parametrize("layout", ["bhnd", "bnhd"])
@pytest.mark.parametrize("where", ["host", "device"])
def test_merges(rng, device, layout, where):
    q, k, v = tensors(rng)
    order = (0, 2, 1, 3) if layout == "bnhd" else (0, 1, 2, 3)
    place = device.array if where == "device" else np.asarray

    def part(keys):
        return vkflash.attention(*(place(x.transpose(order)) for x in (q, k[:, :, keys], v[:, :, keys])),
                                 layout=layout, return_lse=True)

    o, lse = vkflash.merge([part(keys) for keys in PARTS], layout=layout)
    expected, expected_lse = part(slice(None))
    assert isinstance(o, type(expected))
    assert np.abs(np.asarray(o) - np.asarray(expected)).max() < 1e-6
    assert np.abs(np.asarray(lse) - np.asarray(expected_lse)).max() < 1e-6


def test_empty_partial_results_add_nothing(rng):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    merged, _ = vkflash.merge([(o, lse), (np.full_like(o, np.nan), np.full_like(lse, -np.inf))])
    assert np.array_equal(merged, o)


def test_refuses_partial_results(rng):
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True)
    with pytest.raises(vkflash.Error, match="one or more pairs"):
        vkflash.merge([])
    with pytest.raises(vkflash.Error, match="partial result 1 has another shape"):
        vkflash.merge([(o, lse), (o[:, :2], lse[:, :2])])
    with pytest.raises(vkflash.Error, match="lse of partial result 0 has the shape"):
        vkflash.merge([(o, lse[0])])

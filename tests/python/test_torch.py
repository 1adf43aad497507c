# SPDX-License-Identifier: MIT
"""vkflash.torch against PyTorch's own functions. Skipped without PyTorch."""

import pytest

torch = pytest.importorskip("torch")

import vkflash.torch  # noqa: E402

BOUNDS = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 4e-2}


def tensors(kind, requires_grad=False):
    generator = torch.Generator().manual_seed(7)
    shapes = ((2, 4, 9, 32), (2, 4, 13, 32), (2, 4, 13, 32))
    return [torch.randn(shape, generator=generator).to(kind).requires_grad_(requires_grad) for shape in shapes]


@pytest.mark.parametrize("kind", list(BOUNDS), ids=str)
def test_tensors_go_in_and_out(kind):
    q, k, v = tensors(kind)
    o = vkflash.scaled_dot_product_attention(q, k, v)
    expected = torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)))
    assert o.dtype == kind and (o.double() - expected).abs().max() < BOUNDS[kind]


@pytest.mark.parametrize("kind", list(BOUNDS), ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients(kind, is_causal):
    ours, theirs = tensors(kind, True), [x.detach().double().requires_grad_() for x in tensors(kind)]
    o = vkflash.torch.scaled_dot_product_attention(*ours, is_causal=is_causal)
    expected = torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=is_causal)
    weights = torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape)
    (o * weights.to(kind)).sum().backward()
    (expected * weights).sum().backward()
    for x, y in zip(ours, theirs):
        assert x.grad.dtype == kind and (x.grad.double() - y.grad).abs().max() < 10 * BOUNDS[kind]


def test_transposed_tensors_are_inputs():
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors(torch.float32))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert (vkflash.torch.scaled_dot_product_attention(q, k, v) - expected).abs().max() < 1e-4


def test_lse_has_a_gradient():
    q, k, v = tensors(torch.float32, True)
    _, lse = vkflash.torch.attention(q, k, v, return_lse=True)
    lse.sum().backward()
    found = q.grad.clone()
    q.grad = None
    torch.logsumexp(q @ k.transpose(-1, -2) * 32**-0.5, -1).sum().backward()
    assert (found - q.grad).abs().max() < 1e-4


def test_refuses_gradients_without_the_module():
    q, k, v = tensors(torch.float32, True)
    with pytest.raises(vkflash.Error, match="needs no gradient"):
        vkflash.attention(q, k, v)

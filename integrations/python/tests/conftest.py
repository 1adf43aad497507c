# SPDX-License-Identifier: MIT
"""What all tests share."""

import numpy as np
import pytest

import vkflash


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def device():
    return vkflash.default_device()

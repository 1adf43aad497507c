# SPDX-License-Identifier: MIT
"""Attention in one line, on words of a sentence. With matplotlib, a plot of the probabilities.

    ./dev python examples/python/attention_in_one_line.py [PLOT.png]
"""

import sys

import numpy as np

import vkflash

words = "the river bank was green and the bank of the town was grey".split()
vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
embedding = np.random.default_rng(0).standard_normal((len(vocabulary), 64)).astype(np.float32) / 2
x = embedding[[vocabulary[word] for word in words]]  # [rows, dim]

o = vkflash.attention(x, x, x, causal=True)

# Attention of the unit vectors as values: row i has the probabilities of row i
probabilities = vkflash.attention(x, x, np.eye(len(words), dtype=np.float32), causal=True)
for i, word in enumerate(words):
    others = ", ".join(f"{words[j]} {probabilities[i, j]:.2f}" for j in np.argsort(-probabilities[i])[:3])
    print(f"{word:6} looks at  {others}")
print(f"on {vkflash.default_device().name}: o has the shape {o.shape}")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    plt.imshow(probabilities, cmap="viridis")
    plt.xticks(range(len(words)), words, rotation=90)
    plt.yticks(range(len(words)), words)
    plt.savefig(sys.argv[1], bbox_inches="tight")

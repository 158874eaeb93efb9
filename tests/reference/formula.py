# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Weights, tokens and signatures that both sides evaluate: tests/backend/reference/formula.hpp is the
same in C++."""
import numpy as np

SKETCHES = 8


def mix(x):
    """The output mix of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        x = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def key(name):
    h = 0xCBF29CE484222325  # FNV-1a
    for c in name.encode():
        h = (h ^ c) * 0x100000001B3 % 2**64
    return np.uint64(h)


def bits(name, n):
    with np.errstate(over="ignore"):
        return mix(mix(key(name)) + np.arange(n, dtype=np.uint64))


def weight(name, shape):
    """Uniform: matrices +-sqrt(3/columns), norms 1 +- 0.2, other vectors +-0.2; all exact in fp32."""
    n = int(np.prod(shape))
    unit = (bits(name, n) >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0
    if len(shape) == 1:
        values = 1.0 + 0.2 * unit if name.endswith("norm") else 0.2 * unit
    else:
        values = unit * np.sqrt(3.0 / shape[-1])
    return values.astype(np.float32).reshape(shape)


def tokens(n):
    state, out = 1, []
    for _ in range(n):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append((state >> 24) % 64)
    return np.array(out, np.uint8)


def signature(name, values):
    """The norm, and inner products with vectors of random signs: their differences tell the norm of a
    difference, every element counted."""
    flat = np.asarray(values, np.float64).ravel()
    sketches = []
    for i in range(SKETCHES):
        sign = 1.0 - 2.0 * (bits(f"{name}#{i}", flat.size) & np.uint64(1)).astype(np.float64)
        sketches.append(float(np.dot(sign, flat)))
    return [float(f"{v:.9g}") for v in [np.linalg.norm(flat)] + sketches]

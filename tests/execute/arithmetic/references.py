"""References as kernel tasks have them, in the ways in which people write NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

error_function = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + error_function(x / math.sqrt(2.0)))


def gelu_inline(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / np.sqrt(2.0)))


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def layer_norm(x: Any) -> Any:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def standardize(x: Any) -> Any:
    return (x - np.mean(x, axis=0)) / (np.std(x, axis=0, ddof=1) + 1e-3)


def log_sum_exp(x: Any) -> Any:
    peak = np.max(x, axis=1, keepdims=True)
    return np.log(np.sum(np.exp(x - peak), axis=1)) + peak[:, 0]


def causal_attention(x: Any) -> Any:
    q, k, v = x[:8], x[8:16], x[16:24]
    scores = np.einsum("qd,kd->qk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones((8, 8))) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


def heads(x: Any) -> Any:
    q = x.reshape(4, 6, 2, 20).transpose(2, 0, 1, 3)
    return np.einsum("hbqd,hbkd->bhqk", q, q)


def rotate(x: Any) -> Any:
    positions = np.arange(x.shape[0])[:, None] / 10000.0 ** (np.arange(x.shape[1] // 2) / x.shape[1])
    out = np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * np.cos(positions) - x[:, 1::2] * np.sin(positions)
    out[:, 1::2] = x[:, 0::2] * np.sin(positions) + x[:, 1::2] * np.cos(positions)
    return out


def rotate_halves(x: Any) -> Any:
    half = x.shape[1] // 2
    return x * 0.6 + np.concatenate([-x[:, half:], x[:, :half]], axis=1) * 0.8


def convolve(x: Any) -> Any:
    out = np.zeros((x.shape[0], x.shape[1] - 2))
    for tap, weight in enumerate((0.25, 0.5, 0.125)):
        out += weight * x[:, tap : tap + out.shape[1]]
    return out


def scan(x: Any) -> Any:
    state = np.zeros(x.shape[0])
    states = []
    for step in range(x.shape[1]):
        state = 0.9 * state + x[:, step]
        states.append(state)
    return np.stack(states, axis=1)


def quantize(x: Any) -> Any:
    scale = np.abs(x).max(axis=1, keepdims=True) / 127.0
    return np.clip(np.rint(x / scale), -127, 127) * scale


def through_float8(x: Any) -> Any:
    return x.astype(ml_dtypes.float8_e4m3).astype(np.float64) * 0.5


def largest_three(x: Any) -> Any:
    return np.take_along_axis(x, np.argsort(-x, axis=1)[:, :3], axis=1)


def pool(x: Any) -> Any:
    return x.reshape(12, 2, 20, 2).max(axis=(1, 3))


def normalize(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def relu_padded(x: Any) -> Any:
    return np.pad(np.maximum(x, 0), ((0, 0), (1, 1)), constant_values=-1.0)


def masked(x: Any) -> Any:
    out = x.copy()
    out[out < 0] *= 0.1
    return out


def choose(x: Any) -> Any:
    return np.select([x < -1, x > 1], [-1.0, 1.0 + 0 * x], x**2)


def running(x: Any) -> Any:
    return np.cumsum(x, axis=0) + np.maximum.accumulate(x, axis=1) - np.add.reduce(x, axis=1, keepdims=True)


def products(x: Any) -> Any:
    gram = np.dot(x, x.T) + np.tensordot(x, x, axes=([1], [1])) + np.inner(x, x)
    return gram + np.outer(x[0, :24], x[1, :24]) + np.multiply.outer(x[0, :24], x[1, :24])


def windows(x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, 4, axis=1).sum(axis=-1)  # noqa: TID251


def variance_shortcut(x: Any) -> Any:
    return np.mean(np.square(x), axis=1) - np.square(np.mean(x, axis=1))


#: Each takes Gaussian values of shape (24, 40).
REFERENCES = (
    gelu, gelu_inline, gelu_tanh, silu, layer_norm, standardize, log_sum_exp, causal_attention, heads, rotate,
    rotate_halves, convolve, scan, quantize, through_float8, largest_three, pool, normalize, relu_padded,
    masked, choose, running, products, windows, variance_shortcut,
)  # fmt: skip

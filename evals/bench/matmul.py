"""How much slower than plain NumPy does the machine run a tiled matmul?

Times a 1024 x 1024 x 1024 float32 matmul in 128 x 128 @ 128 x 512 tiles three ways, in one process and
interleaved: as a program in the machine, as the same tile loop in NumPy, and as a single NumPy product. Run:

    python evals/bench/matmul.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from pipeline.emulator.machine import Machine
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program import (
    FORMAT_VERSION,
    AccessPattern,
    Instruction,
    Program,
    Scalar,
    Tensor,
    decode,
    encode,
    validate,
)
from pipeline.emulator.targets import ENGINES

SIZE, K_TILE, M_TILE, N_TILE = 1024, 128, 128, 512
ROUNDS = 15


def build() -> Program:
    """Return the program of ``result = left.T @ right`` with left [K, M] and right [K, N]."""
    tensors: list[Tensor] = []
    patterns: list[AccessPattern] = []
    instructions: list[Instruction] = []
    names: list[str] = []

    def tensor(name: str, shape: tuple[int, int], buffer: str) -> int:
        tensors.append(Tensor(name, shape, "float32", buffer, 1))
        return len(tensors) - 1

    def block(index: int, row: int, rows: int, column: int, columns: int) -> int:
        width = tensors[index].shape[1]
        dims = ((width, rows), (1, columns))
        patterns.append(AccessPattern(index, "float32", row * width + column, dims))
        return len(patterns) - 1

    def whole(index: int) -> int:
        rows, columns = tensors[index].shape
        return block(index, 0, rows, 0, columns)

    def emit(name: str, views: tuple[int, ...], *scalars: Scalar) -> None:
        if name not in names:
            names.append(name)
        engine = ENGINES.index(OPERATIONS[name].engines[0])
        instructions.append(Instruction(names.index(name), engine, views, scalars, 1))

    left, right = tensor("left", (SIZE, SIZE), "hbm"), tensor("right", (SIZE, SIZE), "hbm")
    result = tensor("result", (SIZE, SIZE), "shared_hbm")
    for m in range(0, SIZE, M_TILE):
        for n in range(0, SIZE, N_TILE):
            sums = tensor("sums", (M_TILE, N_TILE), "psum")
            for k in range(0, SIZE, K_TILE):
                stationary = tensor("stationary", (K_TILE, M_TILE), "sbuf")
                moving = tensor("moving", (K_TILE, N_TILE), "sbuf")
                dma = (None, "error", "unknown", "unknown")
                emit("dma_copy", (whole(stationary), block(left, k, K_TILE, m, M_TILE)), *dma)
                emit("dma_copy", (whole(moving), block(right, k, K_TILE, n, N_TILE)), *dma)
                flags = (False, False, False, k > 0, (), (), "none")
                emit("nc_matmul", (whole(sums), whole(stationary), whole(moving)), *flags)
            rounded = tensor("rounded", (M_TILE, N_TILE), "sbuf")
            emit("tensor_copy", (whole(rounded), whole(sums)))
            emit("dma_copy", (block(result, m, M_TILE, n, N_TILE), whole(rounded)), *dma)
    return Program(
        FORMAT_VERSION,
        "nki",
        "0.6",
        "trn2",
        tuple(names),
        tuple(tensors),
        (left, right),
        (result,),
        tuple(patterns),
        tuple(instructions),
    )


def tile_loop(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return ``left.T @ right`` by the same tiles, copying each as the program does."""
    result = np.empty((SIZE, SIZE), np.float32)
    for m in range(0, SIZE, M_TILE):
        for n in range(0, SIZE, N_TILE):
            sums = np.zeros((M_TILE, N_TILE), np.float32)
            for k in range(0, SIZE, K_TILE):
                stationary = left[k : k + K_TILE, m : m + M_TILE].copy()
                moving = right[k : k + K_TILE, n : n + N_TILE].copy()
                sums += stationary.T @ moving
            result[m : m + M_TILE, n : n + N_TILE] = sums
    return result


def best(timings: list[float]) -> float:
    """Return the least disturbed timing."""
    return min(timings)


def main() -> None:
    """Print the ratio."""
    program = decode(encode(build()))
    validate(program)
    machine = Machine(program)
    rng = np.random.default_rng(0)
    left = rng.standard_normal((SIZE, SIZE), dtype=np.float32)
    right = rng.standard_normal((SIZE, SIZE), dtype=np.float32)
    contenders: dict[str, Callable[[], np.ndarray]] = {
        "machine": lambda: machine.run([left, right])[0],
        "tile loop": lambda: tile_loop(left, right),
        "single product": lambda: left.T @ right,
    }
    results = {name: run() for name, run in contenders.items()}
    error = np.abs(results["machine"] - results["tile loop"]).max()
    timings: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            timings[name].append(time.perf_counter() - start)
    for name, values in timings.items():
        print(f"{name:15s} {1e3 * best(values):8.2f} ms  (best of {ROUNDS})")
    ratio = best(timings["machine"]) / best(timings["tile loop"])
    print(f"{len(program.instructions)} instructions; largest difference from the tile loop {error:.1e}")
    print(f"machine / tile loop = {ratio:.2f} (limit 3.00)")


if __name__ == "__main__":
    main()

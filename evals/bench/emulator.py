"""The speed of the emulator: tracing, the wire, validation, execution, memory; each figure with its target.

    python evals/bench/emulator.py [ROUNDS]

One thread throughout. Every time is the median of ROUNDS rounds (5) on the wall clock, with the processor's
time beside it: on an idle machine the two agree, on a shared one the second says more. Contenders of a ratio
take turns. Kernels are recorded from source text, as submissions are.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.machine import Machine
from pipeline.emulator.program import Program, decode, encode, validate

LARGE = "--large"
HEADER = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n\n\n@nki.jit\n"
SMALL = InputSpec("x", (128, 512), "float32")
SIZE, TILE, WIDE = 2048, 128, 512
MATRICES = [InputSpec(name, (SIZE, SIZE), "float32") for name in ("left", "right")]

#: 100,000 copies of one column each.
COPIES = """
def kernel(x):
    source = nl.ndarray((128, 512), dtype=x.dtype)
    target = nl.ndarray((128, 512), dtype=x.dtype)
    nisa.dma_copy(dst=source, src=x)
    nisa.memset(dst=target, value=0.0)
    for i in range(100_000):
        column = i % 512
        nisa.tensor_copy(dst=target[:, column : column + 1], src=source[:, column : column + 1])
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=target)
    return result
"""

#: Two slices made anew for every instruction; STEP says which columns.
SLICES = """
def kernel(x):
    source = nl.ndarray((128, 40_000), dtype=nl.uint8)
    target = nl.ndarray((128, 40_000), dtype=nl.uint8)
    for i in range(40_000):
        nisa.tensor_copy(dst=target[:, STEP], src=source[:, STEP])
    result = nl.ndarray(x.shape, dtype=nl.uint8, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=target[:, 0:512])
    return result
"""

MATMUL = """
def kernel(left, right):
    size, tile, wide = left.shape[0], 128, 512
    result = nl.ndarray((size, size), dtype=left.dtype, buffer=nl.shared_hbm)
    for m in range(0, size, tile):
        for n in range(0, size, wide):
            sums = nl.ndarray((tile, wide), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, size, tile):
                stationary = nl.ndarray((tile, tile), dtype=left.dtype)
                moving = nl.ndarray((tile, wide), dtype=right.dtype)
                nisa.dma_copy(dst=stationary, src=left[k : k + tile, m : m + tile])
                nisa.dma_copy(dst=moving, src=right[k : k + tile, n : n + wide])
                nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
            rounded = nl.ndarray((tile, wide), dtype=result.dtype)
            nisa.tensor_copy(dst=rounded, src=sums)
            nisa.dma_copy(dst=result[m : m + tile, n : n + wide], src=rounded)
    return result
"""

#: 1,000 operations on tiles, which the benchmark repeats.
PAIRS = """
def kernel(x):
    tiles = []
    for i in range(8):
        tile = nl.ndarray((128, 64), dtype=x.dtype)
        nisa.dma_copy(dst=tile, src=x[:, i * 64 : i * 64 + 64])
        tiles.append(tile)
    for i in range(1000):
        a, b, c = tiles[i % 8], tiles[(i + 1) % 8], tiles[(i + 2) % 8]
        nisa.tensor_tensor(dst=c, data1=a, data2=b, op=nl.maximum)
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(8):
        nisa.dma_copy(dst=result[:, i * 64 : i * 64 + 64], src=tiles[i])
    return result
"""

#: Tiles without end, each used once.
TILES = """
def kernel(x):
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(1000):
        loaded = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=loaded, src=x)
        doubled = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.tensor_tensor(dst=doubled, data1=loaded, data2=loaded, op=nl.add)
        nisa.dma_copy(dst=result, src=doubled)
    return result
"""

SOFTMAX = """
def kernel(x):
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(0, x.shape[0], 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype)
        nisa.dma_copy(dst=tile, src=x[i : i + 128, :])
        least = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.tensor_reduce(dst=least, op=nl.maximum, data=tile, axis=1, negate=True)
        powers = nl.ndarray((128, x.shape[1]), dtype=nl.float32)
        total = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.activation(dst=powers, op=nl.exp, data=tile, bias=least, reduce_op=nl.add, reduce_res=total)
        inverse = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.reciprocal(dst=inverse, data=total)
        nisa.tensor_scalar(dst=tile, data=powers, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=result[i : i + 128, :], src=tile)
    return result
"""


@dataclass
class Timing:
    """Seconds of several rounds, on the wall and of the processor."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def add(self, function: Callable[[], Any]) -> Any:
        """Time one call and return what it returns."""
        wall, processor = time.perf_counter(), time.process_time()
        value = function()
        self.processor.append(time.process_time() - processor)
        self.wall.append(time.perf_counter() - wall)
        return value

    @property
    def seconds(self) -> tuple[float, float]:
        """Medians: wall, processor."""
        return statistics.median(self.wall), statistics.median(self.processor)

    def __str__(self) -> str:
        wall, processor = self.seconds
        return f"{wall:.3f} s (processor {processor:.3f} s)"


def main() -> None:
    """Run every benchmark and print its figures."""
    if sys.argv[1:2] == [LARGE]:
        run_large(Path(sys.argv[2]))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    wire: dict[str, Program] = {}
    wire["tensor_copy"] = print_copies(rounds)
    wire |= print_tracing(rounds)
    print_matmul(wire["matmul"], rounds)
    wire["tensor_tensor"] = print_large()
    print_memory()
    print_seeds(rounds)
    print_wire(wire)


def record(text: str, *inputs: InputSpec) -> Program:
    """Trace a kernel of this benchmark."""
    return trace(HEADER + text.strip(), "kernel.py", "kernel", inputs, target="trn2")


def draw(seed: int, *inputs: InputSpec) -> list[np.ndarray]:
    """Return float32 arrays for `inputs`."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(spec.shape, dtype=np.float32) for spec in inputs]


def print_copies(rounds: int) -> Program:
    """Print how long many very small instructions take to execute."""
    program = record(COPIES, SMALL)
    machine, inputs, timing = Machine(program), draw(0, SMALL), Timing()
    for _ in range(rounds):
        (result,) = timing.add(lambda: machine.run(inputs))
    if not np.array_equal(result, inputs[0]):
        raise SystemExit("the copies are wrong")
    print(f"100,000 tensor_copy of [128, 1] executed: {timing}; target under 0.6 s")
    return program


def print_tracing(rounds: int) -> dict[str, Program]:
    """Print how many instructions a second are traced."""
    kernels = {
        "2 fresh slices, each used 80 times": (SLICES.replace("STEP", "i % 500 : i % 500 + 1"), [SMALL]),
        "2 fresh slices, all different": (SLICES.replace("STEP", "i : i + 1"), [SMALL]),
        "matmul": (MATMUL, MATRICES),
    }
    programs: dict[str, Program] = {}
    for name, (text, inputs) in kernels.items():
        timing = Timing()
        for _ in range(rounds):
            programs[name] = timing.add(lambda: record(text, *inputs))  # noqa: B023 - called at once
        count = len(programs[name].instructions)
        wall, processor = (count / seconds for seconds in timing.seconds)
        print(
            f"traced, {name}: {wall:,.0f} instructions a second (processor {processor:,.0f}) "
            f"of {count:,}; target 80,000"
        )
    return programs


def print_matmul(program: Program, rounds: int) -> None:
    """Print how much slower than the same tiles in plain NumPy a matmul is."""
    machine, (left, right) = Machine(program), draw(0, *MATRICES)
    contenders = {"machine": Timing(), "tile loop": Timing(), "single product": Timing()}
    for _ in range(rounds):
        (found,) = contenders["machine"].add(lambda: machine.run([left, right]))
        expected = contenders["tile loop"].add(lambda: multiply_tiles(left, right))
        contenders["single product"].add(lambda: left.T @ right)
    error = float(np.abs(found - expected).max())
    for name, timing in contenders.items():
        print(f"  float32 matmul of {SIZE}^3, {name}: {timing}")
    wall, processor = (
        m / n for m, n in zip(contenders["machine"].seconds, contenders["tile loop"].seconds, strict=True)
    )
    print(
        f"matmul, machine / tile loop: {wall:.2f} (processor {processor:.2f}); largest difference "
        f"{error:.1e}; target 1.30"
    )


def multiply_tiles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return ``left.T @ right`` by the tiles of the kernel, copying each as it does."""
    result = np.empty((SIZE, SIZE), np.float32)
    for m in range(0, SIZE, TILE):
        for n in range(0, SIZE, WIDE):
            sums = np.zeros((TILE, WIDE), np.float32)
            for k in range(0, SIZE, TILE):
                stationary = left[k : k + TILE, m : m + TILE].copy()
                moving = right[k : k + TILE, n : n + WIDE].copy()
                sums += stationary.T @ moving
            result[m : m + TILE, n : n + WIDE] = sums
    return result


def print_large() -> Program:
    """Print what a million instructions cost a process that does nothing else."""
    short = record(PAIRS, SMALL)
    loads, body, stores = short.instructions[:8], short.instructions[8:-8], short.instructions[-8:]
    program = msgspec.structs.replace(short, instructions=(*loads, *body * 1000, *stores))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        path.write_bytes(encode(program))
        subprocess.run([sys.executable, __file__, LARGE, str(path)], check=True)
    return program


def run_large(path: Path) -> None:
    """Decode, validate and execute the program in a file, and print what each step takes."""
    inputs = draw(0, SMALL)
    steps = {name: Timing() for name in ("decode", "validate", "prepare", "execute")}
    started = time.perf_counter(), time.process_time()
    program = steps["decode"].add(lambda: decode(path.read_bytes()))
    steps["validate"].add(lambda: validate(program))
    machine = steps["prepare"].add(lambda: Machine(program))
    steps["execute"].add(lambda: machine.run(inputs))
    wall, processor = time.perf_counter() - started[0], time.process_time() - started[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    for name, timing in steps.items():
        print(f"  {len(program.instructions):,} tensor_tensor of [128, 64], {name}: {timing}")
    print(
        f"1,000,000 tensor_tensor validated and executed: {wall:.1f} s (processor {processor:.1f} s), "
        f"{memory:.2f} GiB at most; target under 20 s and 2 GB"
    )


def print_memory() -> None:
    """Print how little of what a kernel allocates is alive at one time."""
    program = record(TILES, SMALL)
    allocated = sum(4 * int(np.prod(tensor.shape)) for tensor in program.tensors)
    machine, inputs = Machine(program), draw(0, SMALL)
    machine.run(inputs)
    tracemalloc.start()
    machine.run(inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(
        f"memory freed at last use: at most {peak / 1e6:.2f} MB while executing, foreseen "
        f"{machine.peak_bytes / 1e6:.2f} MB, of {allocated / 1e6:.0f} MB in {len(program.tensors):,} tensors"
    )


def print_seeds(rounds: int) -> None:
    """Print how much running one program for several seeds saves over tracing it for each."""
    spec, seeds = InputSpec("x", (8192, 64), "float32"), range(10)
    inputs = [draw(seed, spec) for seed in seeds]
    once, each, traced = Timing(), Timing(), Timing()

    def prepare() -> Machine:
        program = decode(encode(record(SOFTMAX, spec)))
        validate(program)
        return Machine(program)

    def run_once() -> None:
        machine = prepare()
        for arrays in inputs:
            machine.run(arrays)

    def run_each() -> None:
        for arrays in inputs:
            prepare().run(arrays)

    for _ in range(rounds):
        once.add(run_once)
        each.add(run_each)
        traced.add(lambda: [record(SOFTMAX, spec) for _ in seeds])
    wall, processor = (a / b for a, b in zip(once.seconds, each.seconds, strict=True))
    print(
        f"softmax on 10 seeds, one program / 10 tracings with runs: {wall:.2f} (processor {processor:.2f}); "
        f"{once} against {each}, of which tracing {traced}"
    )


def print_wire(programs: dict[str, Program]) -> None:
    """Print how many bytes an instruction takes, with its share of everything else."""
    for name, program in programs.items():
        size, count = len(encode(program)), len(program.instructions)
        print(f"wire, {name}: {size / count:.1f} bytes an instruction of {count:,}; target at most 100")


if __name__ == "__main__":
    main()

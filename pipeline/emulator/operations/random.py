"""Random numbers: `rng`, `rand2`, `dropout`, and what seeds and saves the generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import FLOATS, INTEGERS, operand, source
from pipeline.emulator.operations.call import Call, Kernel, Operand, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, writer
from pipeline.emulator.operations.limits import agree, column, describe
from pipeline.emulator.operations.randomness import STATE_WORDS, STATES_PER_LANE
from pipeline.emulator.operations.table import (
    ALL_TARGETS,
    REQUIRED,
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
)

__all__ = ["OPERATIONS"]

_V3: Final = frozenset({"trn2", "trn3"})
_V4: Final = frozenset({"trn3"})
_ON_CHIP: Final = frozenset({"sbuf", "psum"})
_STATE_DTYPES: Final = frozenset({"uint32"})
_SEED_DTYPES: Final = frozenset({"int32", "uint32", "float32"})
_UNIFORM_DTYPES: Final = INTEGERS | {
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "tfloat32",
}
_SMALL: Final = 64  # MIN_II, the shortest instruction in cycles


def _lanes(operand: Operand) -> slice:
    """Return the lanes that work on an operand: lane and partition are one."""
    return slice(operand.start, operand.start + operand.partitions)


def _bind_rng(call: Call) -> Kernel:
    """Write 32 random bits per element, of which a narrower type keeps the least significant."""
    dst, engine = call.tensor("dst"), call.engine
    lanes, count, storage = _lanes(dst), dst.free_elements, DTYPES[dst.dtype].storage

    def generate(registers: Registers, dst: Array) -> None:
        words = registers.random.draw(engine, lanes, count)
        dst[...] = words.astype(f"u{storage.itemsize}").view(storage).reshape(dst.shape)

    return generate


def _bind_rand2(call: Call) -> Kernel:
    """Write uniform numbers of [min, max], computed in float32."""
    dst = call.tensor("dst")
    rows = (dst.partitions, dst.free_elements)
    lanes, write = _lanes(dst), writer(dst.dtype)
    low = broadcast_operand(call.operand("min"), call.scalar("min"), rows)
    high = broadcast_operand(call.operand("max"), call.scalar("max"), rows)

    def generate(registers: Registers, dst: Array, minimum: Array | None, maximum: Array | None) -> None:
        least, greatest = low(minimum), high(maximum)
        share = registers.random.draw("vector", lanes, rows[1]).astype(np.float32) * np.float32(2**-32)
        # A rounding of the sum may pass the bound that the documentation includes.
        write(dst, np.minimum(least + share * (greatest - least), greatest))

    return generate


def _bind_dropout(call: Call) -> Kernel:
    """Keep an element, bit for bit, where a uniform number of [0, 1) reaches the probability."""
    data = call.tensor("data")
    rows = (data.partitions, data.free_elements)
    lanes = _lanes(data)
    probability = broadcast_operand(call.operand("prob"), call.scalar("prob"), rows)

    def drop(registers: Registers, dst: Array, data: Array, prob: Array | None) -> None:
        uniform = registers.random.draw("vector", lanes, rows[1]) * 2.0**-32
        kept = data.reshape(rows).copy()
        kept[~(uniform >= probability(prob))] = 0
        dst[...] = kept.reshape(dst.shape)

    return drop


def _dropout_fidelity(call: Call) -> Fidelity:
    """Which elements go is random, unless all do or none does."""
    return Fidelity.EXACT if call.scalar("prob") in (0, 1) else Fidelity.UNMODELLED


def _bind_seed(call: Call) -> Kernel:
    def seed(registers: Registers, src_seeds: Array) -> None:
        registers.random.reseed("vector", int(src_seeds.reshape(-1).view(np.uint32)[0]))

    return seed


def _bind_set_state(call: Call) -> Kernel:
    engine, lanes = call.engine, _lanes(call.tensor("src_seeds"))

    def load(registers: Registers, src_seeds: Array) -> None:
        registers.random.load(engine, lanes, src_seeds)

    return load


def _bind_get_state(call: Call) -> Kernel:
    engine, lanes = call.engine, _lanes(call.tensor("dst"))

    def store(registers: Registers, dst: Array) -> None:
        dst[...] = registers.random.store(engine, lanes).reshape(dst.shape)

    return store


def _gpsimd_generator(call: Call) -> Iterator[str]:
    if call.engine == "gpsimd":
        yield "gpsimd generates random numbers from NeuronCore-v3 on: use nisa.engine.vector"


def _vector_state(call: Call) -> Iterator[str]:
    if call.engine == "vector":
        yield (
            "the vector engine's generator can be saved and loaded from NeuronCore-v4 on: use "
            "nisa.engine.gpsimd, or seed it with nisa.set_rng_seed"
        )


def _state_words(name: str) -> Limit:
    def check(call: Call) -> Iterator[str]:
        # An engine without generators is told by operation-engine.
        states, words = call.tensor(name), STATE_WORDS * STATES_PER_LANE.get(call.engine, 1)
        if states.free_elements != words:
            yield (
                f"{name} is {describe(states)}: the state of a {call.engine} lane has {words} words; make it "
                f"({states.partitions}, {words})"
            )

    return Limit("random-state-words", check, "nki.isa.rand_set_state and rand_get_state docstrings")


def _one_seed(call: Call) -> Iterator[str]:
    seeds = call.tensor("src_seeds")
    if seeds.elements != 1:
        yield f"src_seeds is {describe(seeds)}, must be one element: pass a (1, 1) tile"


def _range(call: Call) -> Iterator[str]:
    low, high = call.scalar("min"), call.scalar("max")
    if isinstance(low, int | float) and isinstance(high, int | float) and not low < high:
        yield f"min={low} is not below max={high}"


def _dropout_dtypes(call: Call) -> Iterator[str]:
    dst, data, prob = call.tensor("dst"), call.tensor("data"), call.operand("prob")
    if dst.dtype != data.dtype:
        yield f"dst is {dst.dtype}, data is {data.dtype}: dropout converts nothing; make dst {data.dtype}"
    if prob is not None and data.dtype in INTEGERS and prob.dtype != "float32":
        yield f"prob is {prob.dtype}, must be float32 where data is {data.dtype}"


def _row_cycles(call: Call) -> float:
    return max(_SMALL, call.tensor("dst").free_elements)


def _result(buffers: frozenset[str], dtypes: frozenset[str]) -> Parameter:
    return Parameter("dst", ParameterKind.DESTINATION, REQUIRED, buffers=buffers, dtypes=dtypes)


def _engine(default: str) -> Parameter:
    return Parameter("engine", ParameterKind.ENGINE, default)


_VECTOR_STATE: Final = Limit(
    "random-engine",
    _vector_state,
    "nki.isa.rand_set_state and rand_get_state docstrings, Constraints",
    ALL_TARGETS - _V4,
)

OPERATIONS: Final = (
    Operation(
        "rng",
        (_result(_ON_CHIP, INTEGERS), _engine("vector")),
        engines=("vector", "gpsimd"),
        bind=_bind_rng,
        limits=(
            Limit(
                "random-engine",
                _gpsimd_generator,
                "nki.isa.rng docstring, Constraints",
                ALL_TARGETS - _V3,
            ),
        ),
        fidelity=Fidelity.UNMODELLED,
        source="nki.isa.rng docstring, NKI 0.6",
    ),
    Operation(
        "rand2",
        (_result(_ON_CHIP, _UNIFORM_DTYPES), operand("min"), operand("max")),
        engines=("vector",),
        bind=_bind_rand2,
        limits=(
            column("min", "max", of="dst"),
            Limit("random-range", _range, "nki.isa.rand2 docstring, Constraints"),
        ),
        fidelity=Fidelity.UNMODELLED,
        targets=_V4,
        source="nki.isa.rand2 docstring, NKI 0.6",
    ),
    Operation(
        "dropout",
        (_result(_ON_CHIP, frozenset()), source("data"), operand("prob", dtypes=FLOATS)),
        engines=("vector",),
        bind=_bind_dropout,
        cycles=_row_cycles,
        limits=(
            agree("dst", "data"),
            column("prob", of="data"),
            Limit("dropout-dtypes", _dropout_dtypes, "nki.isa.dropout docstring"),
        ),
        fidelity=_dropout_fidelity,
        source="nki.isa.dropout docstring, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "set_rng_seed",
        (source("src_seeds", dtypes=_SEED_DTYPES),),
        engines=("vector",),
        bind=_bind_seed,
        limits=(Limit("random-seed-shape", _one_seed, "nki.isa.set_rng_seed docstring, Tile size"),),
        fidelity=Fidelity.UNMODELLED,
        source="nki.isa.set_rng_seed docstring, NKI 0.6",
    ),
    Operation(
        "rand_set_state",
        (source("src_seeds", frozenset({"sbuf"}), _STATE_DTYPES), _engine("gpsimd")),
        engines=("gpsimd", "vector"),
        bind=_bind_set_state,
        limits=(_VECTOR_STATE, _state_words("src_seeds")),
        fidelity=Fidelity.UNMODELLED,
        targets=_V3,
        source="nki.isa.rand_set_state docstring, NKI 0.6",
    ),
    Operation(
        "rand_get_state",
        (_result(_ON_CHIP, _STATE_DTYPES), _engine("gpsimd")),
        engines=("gpsimd", "vector"),
        bind=_bind_get_state,
        limits=(_VECTOR_STATE, _state_words("dst")),
        fidelity=Fidelity.UNMODELLED,
        targets=_V3,
        source="nki.isa.rand_get_state docstring, NKI 0.6",
    ),
)

"""Random damage to encoded programs: whatever arrives, each stage fails only in its own way."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality import (
    check,
    fidelity,
    independent_outputs,
    memory_peaks,
    mutated_inputs,
    uninitialised_reads,
    unwritten,
)
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.operations import OPERATIONS, OPERATORS
from pipeline.emulator.program import Program, ProgramError, ProgramLimits, decode, encode, validate
from pipeline.emulator.timeline import count
from tests.emulator.frontend.submissions import program_of
from tests.emulator.legality.cases import CASES
from tests.emulator.program_builder import ProgramBuilder

#: Where the instructions stand in an encoded program.
INSTRUCTIONS = Program.__struct_fields__.index("instructions")
LIMITS = ProgramLimits(
    wire_bytes=1 << 20,
    instructions=100,
    tensors=100,
    patterns=100,
    tensor_elements=1 << 14,
    total_bytes=1 << 18,
    executed_elements=1 << 20,
)


def base() -> Any:
    """A program with many kinds of instructions, as nested lists."""
    builder = ProgramBuilder()
    x = builder.load(builder.input((8, 4)))
    y = builder.load(builder.input((8, 6), "bfloat16"))
    z = builder.tensor((8, 4), "int32")
    sums = builder.tensor((4, 4), "float32", "psum")
    column = builder.tensor((8, 1))
    builder.add("nc_matmul", dst=sums, stationary=x, moving=x, accumulate=False)
    builder.add("nc_transpose", "vector", dst=builder.tensor((6, 8), "bfloat16"), data=y)
    builder.add("tensor_reduce", dst=column, op="add", data=x, axis=(1,))
    builder.add("activation_reduce", dst=x, op="exp", data=x, reduce_op="add", reduce_res=column, scale=0.5)
    builder.add("tensor_scalar", dst=x, data=x, op0="subtract", operand0=builder.view(column))
    builder.add(
        "tensor_scalar_reduce", dst=x, data=x, op0="add", operand0=1.0, reduce_op="add", reduce_res=column
    )
    builder.add("tensor_tensor_scan", dst=x, data0=x, data1=x, initial=0.0, op0="multiply", op1="add")
    builder.add("scalar_tensor_tensor", dst=x, data=x, op0="add", operand0=1.0, op1="add", operand1=x)
    builder.add("iota", dst=z, pattern=(1, 4), channel_multiplier=4)
    builder.add(
        "affine_select", dst=x, pattern=(1, 4), channel_multiplier=1, on_true_tile=x, on_false_value=0.0
    )
    builder.add("tensor_tensor", dst=z, data1=z, data2=z, op="bitwise_and")
    builder.add("tensor_partition_reduce", dst=builder.tensor((1, 4)), op="average", data=x)
    builder.add("memset", dst=z, value=3)
    builder.store(x)
    builder.store(y)
    return msgspec.msgpack.decode(encode(builder.program()))


def run_time_base() -> Any:
    """A program for two cores with loops, registers, run-time addresses, placed tensors and a constant."""
    source = """
        @nki.jit
        def kernel(x, indices):
            core = nl.program_id(0)
            shared = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm)
            out = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm)
            rows = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(rows, indices)
            tile = nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf, address=(0, 64))
            part = nl.ndarray((4, 3), dtype=nl.float32, buffer=nl.sbuf, address=(0, 72))
            nisa.dma_copy(tile, x.vector_select(0, rows))
            nisa.tensor_scalar(part, part, op0=nl.add, operand0=1.0)
            count = nisa.register_alloc(rows[0:1, 0:1])
            def body(i):
                cell = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_copy(cell, tile[0:1, nl.ds(i, 1)])
                nisa.tensor_scalar(tile, tile, op0=nl.multiply, operand0=0.5)
                nisa.core_barrier(shared, (0, 1))
            nl.fori_loop(0, 3, body)
            while count:
                nisa.register_move(count, 0)
            nisa.dma_copy(shared[core * 4:core * 4 + 4], tile)
            nisa.core_barrier(shared, (0, 1))
            theirs = nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf)
            nisa.sendrecv(tile, theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
            nisa.dma_copy(out[core * 4:core * 4 + 4], theirs)
            return out
    """
    arrays = {"x": np.ones((8, 6), np.float32), "indices": np.ones((4, 1), np.int32)}
    return msgspec.msgpack.decode(encode(program_of(source, arrays, cores=2)))


def innocents() -> list[Any]:
    """The legal twins of legality's cases: between them nearly every operation there is."""
    found: dict[tuple[str, ...], Any] = {}
    for case in CASES:
        data = encode(case.innocent)
        if len(data) < 4000:
            found.setdefault(case.innocent.operations, msgspec.msgpack.decode(data))
    return list(found.values())


BASE, RUN_TIME_BASE = base(), run_time_base()
#: The two that are rich in structure are damaged as often as all the others together.
BASES = st.one_of(st.just(BASE), st.just(RUN_TIME_BASE), st.sampled_from(innocents()))
#: Where a legal program may still end: it depends on its inputs, or on what it repeats.
AT_RUN_TIME = {"budget", "memory", "out_of_bounds", "deadlock", "meeting", "unsupported"}
NAMES = [
    *OPERATIONS,
    *OPERATORS,
    *DTYPES,
    "hbm",
    "sbuf",
    "psum",
    "shared_hbm",
    "trn1",
    "trn3",
    "register",
    "scalar",
    "vector",
    "indirect",
    "0.3",
    "",
    "\x00é" * 9,
]
INTEGERS = st.sampled_from([2**31, 2**32, 2**63 - 1, -(2**63), 2**64 - 1, 128, 129, 512, 65536])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    INTEGERS,
    st.floats(),
    st.sampled_from(NAMES),
    st.lists(st.integers(-2, 9), max_size=3),
)


def same_kind(value: Any) -> st.SearchStrategy[Any]:
    """Mostly values of the type that stands there, so that the damage gets past the decoder."""
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return LEAVES
    if isinstance(value, int):
        return st.one_of(st.integers(-3, 40), INTEGERS, LEAVES)
    if isinstance(value, str):
        return st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), LEAVES)
    return st.one_of(st.lists(st.integers(-2, 9), max_size=6), LEAVES)


def places(node: Any) -> list[tuple[Any, int]]:
    """Every (list, index) in a nest of lists."""
    found = []
    for index, child in enumerate(node):
        found.append((node, index))
        if isinstance(child, list):
            found += places(child)
    return found


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    tree = copy.deepcopy(draw(BASES))
    for _ in range(draw(st.integers(1, 4))):
        # Half of the damage goes to single instructions, where most of it is well formed.
        inside = len(tree) > INSTRUCTIONS and isinstance(tree[INSTRUCTIONS], list) and draw(st.booleans())
        spots = (places(tree[INSTRUCTIONS]) if inside else places(tree)) or [(tree, 0)]
        parent, index = spots[draw(st.integers(0, len(spots) - 1))]
        action = draw(st.sampled_from(["replace", "replace", "replace", "delete", "duplicate", "swap"]))
        if index >= len(parent):
            continue
        if action == "replace":
            parent[index] = draw(same_kind(parent[index]))
        elif action == "delete":
            del parent[index]
        elif action == "duplicate":
            parent.insert(index, copy.deepcopy(parent[index]))
        else:
            other_parent, other = spots[draw(st.integers(0, len(spots) - 1))]
            if other < len(other_parent) and not isinstance(parent[index], list):
                parent[index] = copy.deepcopy(other_parent[other])
    return msgspec.msgpack.encode(tree)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_a_damaged_program_is_refused_or_runs(data):
    try:
        program = decode(data, LIMITS)
        validate(program, LIMITS)
    except ProgramError:
        return
    # What follows runs on everything that is well formed, legal or not.
    unwritten(program)
    mutated_inputs(program)
    independent_outputs(program)
    uninitialised_reads(program)
    memory_peaks(program)
    fidelity(program)
    count(program)
    legal = not any(violation.severity == "error" for violation in check(program))
    inputs = [
        np.ones(program.tensors[i].shape, DTYPES[program.tensors[i].dtype].storage) for i in program.inputs
    ]
    failure = None
    try:
        Machine(program, budget=1 << 20, memory_bytes=1 << 24).run(inputs)
    except MachineError as error:
        failure = error
    assert failure is None or not legal or failure.rule in AT_RUN_TIME, failure


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_bytes_that_are_no_program_are_refused(data):
    try:
        validate(decode(data, LIMITS), LIMITS)
    except ProgramError:
        return
    raise AssertionError("random bytes passed as a program")


def test_the_undamaged_program_passes_every_stage():
    program = decode(msgspec.msgpack.encode(BASE), LIMITS)
    validate(program, LIMITS)
    inputs = [np.ones((8, 4), np.float32), np.ones((8, 6), DTYPES["bfloat16"].storage)]
    assert len(Machine(program).run(inputs)) == 2


def test_the_undamaged_program_with_loops_and_cores_passes_every_stage():
    program = decode(msgspec.msgpack.encode(RUN_TIME_BASE), LIMITS)
    validate(program, LIMITS)
    assert [violation.rule for violation in check(program) if violation.severity == "error"] == []
    (out,) = Machine(program).run([np.ones((8, 6), np.float32), np.ones((4, 1), np.int32)])
    expected = np.full((8, 6), 0.125, np.float32)
    expected[:, 2:5] = 0.25  # bytes 72 to 83 of a tile that starts at 64: columns 2 to 4 were made 1 + 1
    assert np.array_equal(out, expected)

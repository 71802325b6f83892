"""Kernels of several ranks and of two cores, from their source to their values."""

from textwrap import dedent, indent

import numpy as np
import pytest

from pipeline.emulator.frontend import InputSpec, KernelError, KernelErrorKind, trace
from pipeline.emulator.legality import Severity, check
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.program import decode, encode, validate

X = InputSpec("x", (4, 8), "float32")
IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\nimport nki.collectives as ncc\n"
#: A tensor of the kernel's own with what the rank was given: collectives read no parameters.
OWN = "src = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\nnisa.dma_copy(dst=src, src=x)\n"


def traced(body, inputs=(X,), *, cores=1, target="trn2", version="0.6"):
    """A kernel with this body, as the trusted side gets it."""
    names = ", ".join(spec.name for spec in inputs)
    source = f"{IMPORTS}@nki.jit\ndef kernel({names}):\n{indent(dedent(body), '    ')}"
    program = trace(source, "submission.py", "kernel", inputs, target=target, version=version, cores=cores)
    program = decode(encode(program))
    validate(program)
    return program


def executed(body, given, inputs=(X,), **options):
    """The first output of each rank of a legal kernel, where every rank gets its own arrays."""
    program = traced(body, inputs, **options)
    assert [violation for violation in check(program) if violation.severity is Severity.ERROR] == []
    runs = [Machine(program).execute(given, poison=poison) for poison in (0, 1)]
    for one, other in zip(*runs, strict=True):
        assert one.outputs[0].tobytes() == other.outputs[0].tobytes()
    return [run.outputs[0] for run in runs[0]]


def per_rank(ranks, shape=(4, 8)):
    return [
        [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1000 * rank] for rank in range(ranks)
    ]


def refused(body, **options):
    with pytest.raises(KernelError) as caught:
        traced(OWN + dedent(body) + "\nreturn src", **options)
    return caught.value


def test_all_reduce_of_two_tensors_at_once():
    body = f"""{OWN}
dst = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
other = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
out = nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
ncc.all_reduce([src, src], [dst, other], ncc.ReplicaGroup([[0, 1, 2]]), nl.maximum, name="reduction")
nisa.dma_copy(dst=out[0], src=dst)
nisa.dma_copy(dst=out[1], src=other)
return out
"""
    given = per_rank(3)
    for result in executed(body, given):
        assert (result[0] == given[2][0]).all()
        assert (result[1] == given[2][0]).all()


def test_all_gather_on_sbuf_along_the_free_dimension():
    body = """
tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=tile, src=x)
gathered = nl.ndarray((x.shape[0], 2 * x.shape[1]), x.dtype, buffer=nl.sbuf)
ncc.all_gather(srcs=[tile], dsts=[gathered], replica_group=ncc.ReplicaGroup([[0, 1]]), collective_dim=1)
out = nl.ndarray(gathered.shape, x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=gathered)
return out
"""
    given = per_rank(2)
    for result in executed(body, given):
        assert (result == np.concatenate([given[0][0], given[1][0]], axis=1)).all()


def test_a_ring_gathers_every_shard_at_the_place_of_its_rank():
    body = """
here = nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm)
there = nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm)
out = nl.ndarray((4, *x.shape), x.dtype, buffer=nl.shared_hbm)
group = ncc.ReplicaGroup([[0, 1, 2, 3]])
nisa.dma_copy(dst=here, src=x)
for step in range(4):
    rank = ncc.collective_permute_implicit_current_processing_rank_id(iteration_id=step, replica_group=group)
    nisa.dma_copy(dst=out.ap([[8, 4], [1, 8]], offset=0, scalar_offset=rank, indirect_dim=0), src=here)
    if step < 3:
        ncc.collective_permute_implicit([[here]], [[there]], group)
        here, there = there, here
return out
"""
    given = per_rank(4)
    for result in executed(body, given):
        assert (result == np.stack([array for (array,) in given])).all()


def test_rank_id_chooses_what_a_rank_reads():
    body = """
out = nl.ndarray((8,), x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=x.ap([[1, 8]], offset=0, scalar_offset=ncc.rank_id(), indirect_dim=0))
return out
"""
    same = per_rank(1)[0]
    results = executed(body, [same] * 4)
    assert all((result == same[0][rank]).all() for rank, result in enumerate(results))


def test_all_to_all_v_reports_what_it_received():
    counts = InputSpec("counts", (3, 2), "uint32")
    body = f"""{OWN}
metadata = nl.ndarray((3, 2), nl.uint32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=metadata[0:2, :], src=counts[0:2, :])
dst = nl.zeros((16,), x.dtype, buffer=nl.shared_hbm)
ncc.all_to_all_v([src], [dst], ncc.ReplicaGroup([[0, 1]]), metadata)
out = nl.ndarray((1, 2), nl.uint32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=metadata[2:3, :])
return out
"""
    sends = [[3, 1], [0, 2]]
    given = [
        [array, np.array([send, [0, 4], [0, 0]], np.uint32)]
        for (array,), send in zip(per_rank(2), sends, strict=True)
    ]
    results = executed(body, given, (X, counts))
    assert [result.tolist() for result in results] == [[[3, 0]], [[1, 2]]]


def test_two_cores_each_sum_half_and_swap_their_sums():
    body = """
core = nl.program_id(0)
tile = nl.ndarray((2, 8), x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=tile, src=x[2 * core : 2 * core + 2, :])
mine = nl.ndarray((2, 1), x.dtype, buffer=nl.sbuf)
theirs = nl.ndarray((2, 1), x.dtype, buffer=nl.sbuf)
nisa.tensor_reduce(dst=mine, op=nl.add, data=tile, axis=1)
nisa.sendrecv(src=mine, dst=theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
nisa.tensor_tensor(dst=mine, data1=mine, data2=theirs, op=nl.add)
scratch = nl.ndarray((4, 1), x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=scratch[2 * core : 2 * core + 2, :], src=mine)
nisa.core_barrier(scratch, (0, 1))
both = nl.ndarray((2, 1), x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=both, src=scratch[2 - 2 * core : 4 - 2 * core, :])
out = nl.ndarray((4, 1), x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out[2 * core : 2 * core + 2, :], src=both)
return out
"""
    (given,) = per_rank(1)
    (result,) = executed(body, [given], cores=2)
    sums = given[0].sum(axis=1)
    expected = [sums[0] + sums[2], sums[1] + sums[3]]
    assert result[:, 0].tolist() == [*expected, *expected]


def test_two_cores_reduce_a_shared_tensor_over_ranks_once():
    body = """
core = nl.program_id(0)
src = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
rows = nl.ds(2 * core, 2)
nisa.dma_copy(dst=src[rows, :], src=x[rows, :])
dst = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
ncc.all_reduce([src], [dst], ncc.ReplicaGroup([[0, 1]]), nl.add)
out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out[rows, :], src=dst[rows, :])
return out
"""
    given = per_rank(2)
    for result in executed(body, given, cores=2):
        assert (result == given[0][0] + given[1][0]).all()


def test_a_rank_that_nobody_plays_is_told_with_the_line():
    program = traced(
        OWN + "dst = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n"
        "ncc.all_reduce([src], [dst], ncc.ReplicaGroup([[0, 1]]), nl.add)\nreturn dst"
    )
    with pytest.raises(MachineError, match="rank 1, the run has ranks 0 to 0") as caught:
        Machine(program).execute(per_rank(1))
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("all_reduce(src, [src], group, nl.add)", ("srcs must be a list", "[")),
        ("all_reduce([src], [src, src], group, nl.add)", ("1 srcs and 2 dsts",)),
        ("all_reduce([src], [src], [[0, 1]], nl.add)", ("ReplicaGroup", "list")),
        ("all_reduce([src], [src], ncc.ReplicaGroup([0, 1]), nl.add)", ("lists of ranks",)),
        ("all_reduce([src], [src], group)", ("missing", "op")),
        ("all_reduce([src], [src], group, op=nl.add, dtype=nl.float32)", ("no keyword 'dtype'",)),
        ("all_reduce([src], [src], group, op=nl.add, priorty=1)", ("did you mean priority",)),
        ("all_reduce([tile, tile], [tile, tile], group, nl.add)", ("HBM only",)),
        ("all_reduce([src], [src], group, max)", ("op", "nl.add")),
        ("collective_permute([src, src], [src, src], [(0, 1)])", ("exactly one tensor",)),
        ("collective_permute([src], [src], [(0, 1, 2)])", ("no pairs",)),
        ("collective_permute_implicit([src], [src], group)", ("list of lists",)),
        ("collective_permute_implicit([[src], [src]], [[src], [src]], group)", ("channel_ids",)),
        ("collective_permute_implicit([[src]], [[src]], group, channel_ids=[1])", ("from 0 on",)),
        ("all_gather_v([src], [src], group, tile)", ("(4, 8)", "(3, ranks per group)")),
        ("all_gather_v([src], [src], group, src, has_rdispls=1)", ("True or False",)),
        ("rank_id(0, 1)", ("rank_id", "too many")),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_its_line(call, words):
    error = refused(
        f"""
        group = ncc.ReplicaGroup([[0, 1]])
        tile = nl.ndarray((4, 8), nl.float32, buffer=nl.sbuf)
        ncc.{call}
        """
    )
    assert error.kind is KernelErrorKind.COMPILE_ERROR
    assert all(word in error.message for word in words), error.message
    assert error.line == 12


def test_groups_of_different_sizes_are_our_gap():
    error = refused("ncc.all_reduce([src], [src], ncc.ReplicaGroup([[0, 1], [2]]), nl.add)")
    assert error.kind is KernelErrorKind.UNSUPPORTED


@pytest.mark.parametrize(
    ("version", "call", "words"),
    [
        ("0.3", "all_reduce([src], [src], group, nl.add, priority=None)", ("priority", "0.3")),
        ("0.4", "rank_id(name=None)", ("name", "0.4")),
        ("0.5", "all_gather_v([src], [src], group, src)", ("all_gather_v",)),
    ],
)
def test_what_an_earlier_version_does_not_have(version, call, words):
    error = refused(f"group = ncc.ReplicaGroup([[0, 1]])\nncc.{call}", version=version)
    assert all(word in error.message for word in words), error.message

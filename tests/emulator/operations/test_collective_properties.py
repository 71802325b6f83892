"""Collectives of any type: bits where they move, one rounding of a float32 result where they reduce."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.operations import Registers
from tests.emulator.machine.references import BYTES, FLOATS, INTEGERS, bits, engine, stored, tile, values
from tests.emulator.operations.meetings import call_of, meet

FEW = settings(max_examples=30, deadline=None)
FOLDS = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}
OPERATORS = st.sampled_from(sorted(FOLDS))
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def replica_groups(draw):
    """Ranks 0, 1, ... in groups of equal size, in any order."""
    size, count = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    ranks = draw(st.permutations(range(size * count)))
    return [ranks[start : start + size] for start in range(0, size * count, size)]


def encoded(groups):
    return (len(groups[0]), *(rank for group in groups for rank in group))


def results_of(name, sources, shape, **options):
    """What each rank holds in ``dst`` afterwards."""
    results = [np.zeros(shape, sources[0].dtype) for _ in sources]
    arguments = [{"src": a, "dst": b, **options} for a, b in zip(sources, results, strict=True)]
    meet(name, arguments, target="trn3")
    return results


@FEW
@given(replica_groups(), OPERATORS, st.sampled_from(FLOATS + INTEGERS), SHAPES, st.data())
@np.errstate(all="ignore")
def test_reductions_of_any_type_fold_float32_values_in_the_order_of_the_group(groups, op, dtype, shape, data):
    size, ranks = len(groups[0]), sum(map(len, groups))
    sources = [data.draw(tile(dtype, (size * shape[0], shape[1]))) for _ in range(ranks)]
    options = {"replica_group": encoded(groups), "op": op}
    whole = results_of("all_reduce", sources, sources[0].shape, **options)
    parts = results_of("reduce_scatter", sources, shape, collective_dim=0, **options)
    for group in groups:
        total = values(sources[group[0]])
        for rank in group[1:]:
            total = engine(FOLDS[op](total, values(sources[rank])))
        expected = stored(total, dtype)
        for place, rank in enumerate(group):
            np.testing.assert_array_equal(whole[rank].astype(float), expected)
            mine = expected[place * shape[0] : (place + 1) * shape[0]]
            np.testing.assert_array_equal(parts[rank].astype(float), mine)


@FEW
@given(replica_groups(), st.sampled_from(BYTES), SHAPES, st.data())
def test_gathers_and_all_to_all_move_bits_of_every_width(groups, dtype, shape, data):
    size, ranks = len(groups[0]), sum(map(len, groups))
    sources = [data.draw(bits(dtype, (size * shape[0], shape[1]))) for _ in range(ranks)]
    options = {"replica_group": encoded(groups), "collective_dim": 0}
    gathered = results_of("all_gather", sources, (size * size * shape[0], shape[1]), **options)
    exchanged = results_of("all_to_all", sources, sources[0].shape, **options)
    for group in groups:
        for place, rank in enumerate(group):
            assert gathered[rank].tobytes() == b"".join(sources[sender].tobytes() for sender in group)
            mine = slice(place * shape[0], (place + 1) * shape[0])
            assert exchanged[rank].tobytes() == b"".join(sources[sender][mine].tobytes() for sender in group)


@FEW
@given(st.integers(1, 4), st.sampled_from(BYTES), SHAPES, st.data())
def test_collective_permute_moves_bits_along_any_permutation(ranks, dtype, shape, data):
    targets = data.draw(st.permutations(range(ranks)))
    sources = [data.draw(bits(dtype, shape)) for _ in range(ranks)]
    pairs = tuple(rank for pair in enumerate(targets) for rank in pair)
    results = results_of("collective_permute", sources, shape, source_target_pairs=pairs)
    for sender, receiver in enumerate(targets):
        assert results[receiver].tobytes() == sources[sender].tobytes()


@FEW
@given(replica_groups(), OPERATORS, st.sampled_from(FLOATS + INTEGERS), SHAPES, st.data())
@np.errstate(all="ignore")
def test_the_reducing_ring_sends_the_rounded_result_of_a_rank_to_its_successor(
    groups, op, dtype, shape, data
):
    ranks = range(sum(map(len, groups)))
    first, second = ([data.draw(tile(dtype, shape)) for _ in ranks] for _ in range(2))
    results = [np.zeros_like(source) for source in first]
    options = {"replica_group": encoded(groups), "op": op}
    arguments = [{"src0": first[r], "src1": second[r], "dst": results[r], **options} for r in ranks]
    meet("collective_permute_implicit_reduce", arguments, target="trn3")
    for group in groups:
        for place, rank in enumerate(group):
            successor = group[(place + 1) % len(group)]
            expected = stored(engine(FOLDS[op](values(first[rank]), values(second[rank]))), dtype)
            np.testing.assert_array_equal(results[successor].astype(float), expected)


@FEW
@given(replica_groups(), st.integers(0, 9), st.booleans())
def test_a_rank_knows_itself_and_whose_data_it_processes(groups, iteration, in_register):
    for group in groups:
        for place, rank in enumerate(group):
            held = Registers.fresh(3, rank=rank)
            held.virtual[2] = iteration
            step = (2,) if in_register else iteration
            own = call_of("rank_id", {"dst": (0,)})
            options = {"dst": (1,), "iteration_id": step, "replica_group": encoded(groups)}
            other = call_of("collective_permute_implicit_current_processing_rank_id", options)
            for call in (own, other):
                call.operation.bind(call)(held)
            # Data moves one successor on per iteration, so what is here now began `iteration` ranks before.
            assert held.virtual[:2] == [rank, group[(place - iteration) % len(group)]]

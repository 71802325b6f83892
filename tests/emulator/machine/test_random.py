"""Random numbers: a plain XORWOW, states that go and come back, seeds that decide everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import fidelity
from pipeline.emulator.machine import Machine
from pipeline.emulator.operations import Fidelity
from tests.emulator.machine.references import BYTES, bits
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import nki_dtype, run_operation

F32 = np.float32
WORD = 1 << 32
STATE = [123456789, 362436069, 521288629, 88675123, 5783321, 6615241]  # of Marsaglia's paper


def xorwow(state, count):
    """The generator as the paper writes it."""
    x, y, z, w, v, d = state
    words = []
    for _ in range(count):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = (v ^ (v << 4)) ^ (t ^ (t << 1))
        v %= WORD
        d = (d + 362437) % WORD
        words.append((d + v) % WORD)
    return words, [x, y, z, w, v, d]


def program(*steps, target="trn3"):
    """A program of (operation, engine, arguments); a tuple (shape, dtype) is a fresh tile, and an output."""
    builder, arrays = ProgramBuilder(target), []
    for name, engine, arguments in steps:
        resolved, results = {}, []
        for key, value in arguments.items():
            if isinstance(value, np.ndarray):
                arrays.append(value)
                value = builder.view(builder.load(builder.input(value.shape, nki_dtype(value))))
            elif isinstance(value, tuple):
                results.append(builder.tensor(*value))
                value = builder.view(results[-1])
            resolved[key] = value
        builder.add(name, engine, **resolved)
        for tile in results:
            builder.store(tile)
    return builder.program(), arrays


def outputs(*steps, target="trn3", seed=0):
    built, arrays = program(*steps, target=target)
    return Machine(built).run(arrays, seed=seed)


def words(rows, columns, dtype="uint32"):
    return {"dst": ((rows, columns), dtype)}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, WORD - 1), min_size=6, max_size=6), st.integers(1, 9))
def test_gpsimd_runs_one_xorwow_per_lane(state, count):
    got, after = outputs(
        ("rand_set_state", "gpsimd", {"src_seeds": np.array([STATE, state], np.uint32)}),
        ("rng", "gpsimd", words(2, count)),
        ("rand_get_state", "gpsimd", words(2, 6)),
    )
    for lane, start in enumerate((STATE, state)):
        expected, end = xorwow(start, count)
        assert got[lane].tolist() == expected
        assert after[lane].tolist() == end


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 9))
def test_the_four_states_of_a_vector_lane_take_turns(seed, count):
    states = np.random.default_rng(seed).integers(0, WORD, (1, 24), np.uint32)
    (got,) = outputs(
        ("rand_set_state", "vector", {"src_seeds": states}),
        ("rng", "vector", words(1, count)),
    )
    streams = [xorwow(states[0, 6 * turn : 6 * turn + 6].tolist(), 3)[0] for turn in range(4)]
    assert got[0].tolist() == [streams[place % 4][place // 4] for place in range(count)]


@pytest.mark.parametrize(("engine", "count"), [("gpsimd", 6), ("vector", 24)])
def test_a_state_that_is_read_and_written_back_repeats_the_numbers(engine, count):
    (state,) = outputs(("rand_get_state", engine, words(128, count)))
    first, again = outputs(
        ("rng", engine, words(128, 5)),
        ("rand_set_state", engine, {"src_seeds": state}),
        ("rng", engine, words(128, 5)),
    )
    np.testing.assert_array_equal(first, again)


def test_a_partition_is_a_lane():
    whole, part = outputs(("rng", None, words(64, 4))), None
    builder = ProgramBuilder("trn3")
    tile = builder.tensor((64, 4), "uint32")
    builder.add("rng", dst=builder.block(tile, slice(32, 64), slice(0, 4)))
    builder.store(tile)
    (part,) = Machine(builder.program()).run([])
    np.testing.assert_array_equal(part[32:], whole[0][32:])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_a_narrow_type_keeps_the_low_bits(dtype):
    (wide,) = outputs(("rng", None, words(3, 7)))
    (narrow,) = outputs(("rng", None, words(3, 7, dtype)))
    bits = 8 * narrow.dtype.itemsize
    assert (narrow.astype(np.int64) % (1 << bits)).tolist() == (wide.astype(np.int64) % (1 << bits)).tolist()


def test_the_seed_of_the_run_decides_and_ranks_and_engines_differ():
    step = ("rng", None, words(8, 4))
    same, other = outputs(step, seed=3)[0], outputs(step, seed=4)[0]
    np.testing.assert_array_equal(outputs(step, seed=3)[0], same)
    assert not np.array_equal(same, other)
    assert not np.array_equal(outputs(("rng", "gpsimd", words(8, 4)), seed=3)[0], same)
    built, _ = program(step)
    ranks = Machine(built).execute([[], []], seed=3)
    assert not np.array_equal(ranks[0].outputs[0], ranks[1].outputs[0])


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, WORD - 1),
    st.sampled_from([np.int32, np.uint32, np.float32]),
    st.sampled_from(["trn1", "trn2", "trn3"]),
)
def test_equal_seeds_give_equal_numbers_whatever_came_before(word, dtype, target):
    # Any 32 bits are a seed.
    seed = ("set_rng_seed", None, {"src_seeds": np.array([[word]], np.uint32).view(dtype)})
    step = ("rng", None, words(4, 6))
    first, again = outputs(step, seed, step, step, seed, step, target=target, seed=1)[1::2]
    np.testing.assert_array_equal(first, again)
    (elsewhere,) = outputs(seed, step, target=target, seed=2)
    np.testing.assert_array_equal(elsewhere, first)


def test_another_seed_gives_other_numbers():
    def seeded(value):
        return outputs(
            ("set_rng_seed", None, {"src_seeds": np.array([[value]], np.int32)}), ("rng", None, words(4, 4))
        )[0]

    assert not np.array_equal(seeded(1), seeded(2))


@settings(max_examples=25, deadline=None)
@given(
    st.floats(-1e6, 1e6, width=32),
    st.floats(0.5, 1e6, width=32),
    st.sampled_from(["float32", "bfloat16", "int32"]),
)
def test_rand2_stays_within_its_range(low, extent, dtype):
    low, high = float(np.rint(low)), float(np.rint(low) + np.ceil(extent))
    (got,) = outputs(("rand2", None, {**words(4, 9, dtype), "min": low, "max": high}))
    slack = abs(high - low) * 2**-8 + max(abs(low), abs(high)) * 2**-7 if dtype == "bfloat16" else 0
    values = got.astype(np.float64)
    assert values.min() >= low - slack
    assert values.max() <= high + slack


def test_rand2_scales_the_vector_engines_words_per_partition():
    low, high = np.array([[0], [10]], F32), np.array([[1], [30]], F32)
    (bits,) = outputs(("rng", None, words(2, 5)))
    (got,) = outputs(("rand2", None, {**words(2, 5, "float32"), "min": low, "max": high}))
    share = bits.astype(np.float64) / WORD
    np.testing.assert_allclose(got, low + share * (high - low), rtol=1e-6)


def test_rand2_is_uniform():
    (got,) = outputs(("rand2", None, {**words(128, 256, "float32"), "min": 0.0, "max": 1.0}))
    counts = np.histogram(got, bins=16, range=(0, 1))[0]
    expected = got.size / 16
    # Chi-square with 15 degrees of freedom exceeds 45 with probability 8e-5.
    assert np.sum((counts - expected) ** 2 / expected) < 45


def dropout(data, prob, **keywords):
    dst = (data.shape, nki_dtype(data))
    (got,) = run_operation("dropout", {"dst": dst}, {"data": data, "prob": prob}, **keywords)
    return got


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 12), st.floats(0, 1, width=32), st.sampled_from(["float32", "int32"])
)
def test_dropout_leaves_survivors_untouched(rows, columns, prob, dtype):
    data = (np.arange(1, rows * columns + 1) + 2**24).reshape(rows, columns).astype(dtype)
    got = dropout(data, prob)
    np.testing.assert_array_equal(got[got != 0], data[got != 0])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BYTES), st.integers(1, 7), st.data())
def test_a_certain_dropout_keeps_or_clears_the_bits_of_every_width(dtype, columns, data):
    source = data.draw(bits(dtype, (2, columns)))
    got = dropout(source, np.array([[0], [1]], F32))
    assert got.tobytes() == source[0].tobytes() + bytes(source[1].nbytes)


def test_dropout_drops_the_share_of_each_partition():
    data = np.ones((4, 4096), F32)
    prob = np.array([[0], [0.25], [0.75], [1]], F32)
    got = dropout(data, prob)
    dropped = (got == 0).mean(axis=1)
    assert dropped[0] == 0
    assert dropped[3] == 1
    np.testing.assert_allclose(dropped[1:3], [0.25, 0.75], atol=0.05)  # seven standard deviations


def test_dropout_does_not_rescale_and_keeps_special_values():
    data = np.array([[np.nan, np.inf, -0.0, 1e-45]], F32)
    got = dropout(data, 0.0)
    assert got.view(np.uint32).tolist() == data.view(np.uint32).tolist()
    assert dropout(data, 1.0).view(np.uint32).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("prob", "level"), [(0.0, Fidelity.EXACT), (1.0, Fidelity.EXACT), (0.5, Fidelity.UNMODELLED)]
)
def test_only_a_certain_dropout_is_exact(prob, level):
    built, _ = program(
        ("dropout", None, {"dst": ((2, 2), "float32"), "data": np.ones((2, 2), F32), "prob": prob})
    )
    assert fidelity(built)["dropout"] is level

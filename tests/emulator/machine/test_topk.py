"""`topk` against a sort of each group's elements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.running import BFLOAT16, run_operation


def topk(src, n, k):
    rows = src.shape[0]
    return run_operation(
        "topk",
        {"val_dst": ((rows, k), "bfloat16"), "idx_dst": ((rows, k), "uint32")},
        {"src": src.astype(BFLOAT16), "n": n},
    )


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_each_partition_yields_the_largest_of_its_group_in_ascending_order(data):
    groups, columns = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    n = data.draw(st.integers(8, 16 * columns))
    k = data.draw(st.integers(1, n))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    # Distinct and exact in bfloat16.
    elements = random.permutation(np.arange(-100, 100))[: 16 * columns * groups].reshape(groups, -1)
    src = np.zeros((16 * groups, columns), np.float32)
    for group in range(groups):
        for place, value in enumerate(elements[group]):
            src[16 * group + place % 16, place // 16] = value
    values, indices = topk(src, n, k)
    for partition in range(16 * groups):
        active = elements[partition // 16][:n].tolist()
        best = sorted(range(n), key=lambda place: active[place])[-k:]
        assert indices[partition].tolist() == best
        assert values[partition].astype(np.float32).tolist() == [active[place] for place in best]


def test_elements_beyond_n_do_not_count():
    src = np.zeros((16, 2), np.float32)
    src[15, 0], src[0, 1] = 5, 100  # elements 15 and 16
    values, indices = topk(src, 16, 1)
    assert (values[0, 0], indices[0, 0]) == (5, 15)


@pytest.mark.parametrize("extreme", [np.inf, -np.inf])
def test_infinities_take_part(extreme):
    src = np.zeros((16, 1), np.float32)
    src[3] = extreme
    values, indices = topk(src, 16, 16)
    place = 15 if extreme > 0 else 0
    assert (float(values[0, place]), indices[0, place]) == (extreme, 3)

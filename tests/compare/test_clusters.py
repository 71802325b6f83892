"""Where wrong elements cluster: planted patterns are named, scatter is not."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.compare.clusters import describe_cluster


def marked(shape: tuple[int, ...], *parts: object) -> np.ndarray:
    wrong = np.zeros(shape, dtype=bool)
    for part in parts:
        wrong[part] = True  # type: ignore[index]
    return wrong


at = np.s_

PLANTED = {
    "tail of rows": (marked((160, 64), at[128:]), "exactly rows 128:160, the last partial tile of 128 rows"),
    "tail of rows in some columns": (
        marked((160, 64), at[128:, ::3]),
        "all of them lie in rows 128:160, the last partial tile",
    ),
    "tail of 512 columns": (marked((96, 700), at[:, 512:]), "columns 512:700, the last partial tile of 512"),
    "tail of 2048 columns": (
        marked((96, 5000), at[:, 4096:]),
        "columns 4096:5000, the last partial tile of 2048",
    ),
    "both tails": (
        marked((160, 700), at[128:], at[:, 512:]),
        "rows 128:160 and columns 512:700, the last partial tiles of both axes",
    ),
    "tail in every slice": (marked((4, 160, 64), at[:, 128:]), "exactly rows 128:160, the last partial tile"),
    "tail with one stray": (
        marked((160, 64), at[128:], at[3, 3]),
        "99% of them lie in rows 128:160, the last partial tile",
    ),
    "one partition": (marked((512, 64), at[5::128]), "partition 5 of every tile of 128 rows"),
    "quadrant": (
        marked((256, 64), at[32:64], at[160:192]),
        "partitions 32:64, one quadrant",
    ),
    "beyond the first tile": (marked((300, 64), at[128:]), "rows 128:300, everything beyond the first tile"),
    "first tile": (marked((512, 64), at[:128]), "rows 0:128, the first tile"),
    "every other tile": (
        marked((512, 64), at[128:256], at[384:]),
        "every other tile of 128 rows, from rows 128 on",
    ),
    "one tile": (marked((512, 64), at[256:384]), "rows 256:384, one tile of 128 rows"),
    "one row": (marked((256, 64), at[77]), "row 77"),
    "some rows": (marked((256, 64), at[[7, 90, 200]]), "3 rows, the first being 7"),
    "one column": (marked((256, 64), at[:, 3]), "column 3"),
    "one slice": (marked((4, 160, 64), at[2]), "slice 2"),
    "diagonal": (np.eye(64, dtype=bool), "exactly the diagonal"),
    "band": (
        np.tri(64, 64, 1, dtype=bool) & ~np.tri(64, 64, -3, dtype=bool),
        "a band along the diagonal, columns - rows from -2 to 1",
    ),
    "above the diagonal": (~np.tri(64, 64, dtype=bool), "the elements above the diagonal"),
    "odd columns": (marked((64, 64), at[:, 1::2]), "every other one of the columns, from 1 on"),
    "right half": (marked((64, 64), at[:, 32:]), "columns 32:64, one half"),
    "block": (marked((64, 64), at[10:20, 7:30]), "rows 10:20, columns 7:30, one block"),
    "tail of a vector": (marked((1000,), at[512:]), "columns 512:1000, the last partial tile of 512"),
    "one element": (marked((64, 64), at[9, 3]), "one element alone"),
    "everything": (marked((64, 64), at[:]), "every element is wrong"),
    "nearly everything": (
        np.random.default_rng(0).random((64, 64)) < 0.97,
        "nearly every element is wrong",
    ),
    "nothing": (marked((64, 64)), ""),
}


@pytest.mark.parametrize(("wrong", "said"), PLANTED.values(), ids=PLANTED)
def test_a_planted_pattern_is_named_with_what_it_usually_means(wrong: np.ndarray, said: str) -> None:
    told = describe_cluster(wrong)
    assert said in told
    assert bool(told) == bool(said)
    if said:
        # The meaning stands behind the place.
        assert len(told.partition(": ")[2]) > 20


def test_random_scatter_is_no_cluster() -> None:
    """The rule admits one false cluster in a thousand; so many draws hold none of these."""
    rng = np.random.default_rng(5)
    shapes = [(128, 512), (160, 64), (300,), (4, 33, 70), (1, 600), (257, 3), (20, 20)]
    for shape in shapes:
        for share in (0.001, 0.01, 0.1, 0.5, 0.8):
            for _ in range(10):
                told = describe_cluster(rng.random(shape) < share)
                assert told == "" or told.startswith("one element alone"), (shape, share, told)


def test_two_elements_of_one_row_are_no_cluster_but_a_row_of_them_is() -> None:
    assert describe_cluster(marked((128, 512), at[3, [10, 200]])) == ""
    assert "row 3" in describe_cluster(marked((128, 512), at[3, ::2]))


def test_what_is_a_little_denser_than_the_rest_is_no_cluster() -> None:
    """Even though, among so many elements, it is no chance."""
    rng = np.random.default_rng(2)
    wrong = rng.random((256, 1024)) < np.where(np.arange(1024) % 2, 0.3, 0.25)
    assert describe_cluster(wrong) == ""


def test_nearly_all_rows_are_not_told_as_rows() -> None:
    assert describe_cluster(marked((100, 64), at[1:])).startswith("nearly every element is wrong")


def test_everything_that_is_slightly_off_means_something_else() -> None:
    all_of_it = marked((64, 64), at[:])
    assert "the formula" in describe_cluster(all_of_it)
    assert "rounds more than it need" in describe_cluster(all_of_it, slight=True)

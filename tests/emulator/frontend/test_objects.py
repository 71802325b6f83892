"""`nl.NKIObject`: classes as NKI reads them, with and without ``@dataclass``."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar

import pytest

from pipeline.emulator.frontend.objects import NKIObject
from tests.emulator.frontend.kernels import record


class Plain(NKIObject):
    """Annotated fields, one with a default."""

    rows: int
    columns: int = 8

    def toggle(self) -> None:
        self.columns = -self.columns


@dataclass
class Decorated(NKIObject):
    """The same as a dataclass."""

    rows: int
    columns: int = 8


@dataclass
class Unannotated(NKIObject):
    """As nki-library writes its parameters: assigned, not annotated, which Python's dataclass ignores."""

    index = None
    offset = 3


@pytest.mark.parametrize("kind", [Plain, Decorated])
class TestInitialiser:
    """``@dataclass`` is optional."""

    def test_takes_positions_and_keywords(self, kind: Any) -> None:
        assert (kind(4).rows, kind(4).columns) == (4, 8)
        assert (kind(rows=1, columns=2).rows, kind(1, columns=2).columns) == (1, 2)

    def test_leaves_out_what_is_not_given(self, kind: Any) -> None:
        assert kind().rows is None

    @pytest.mark.parametrize(
        ("args", "kwargs", "message"),
        [
            ((1, 2, 3), {}, r"takes 2 arguments but 3 were given"),
            ((), {"depth": 1}, r"unexpected keyword argument 'depth'"),
            ((1,), {"rows": 1}, r"multiple values for argument 'rows'"),
        ],
    )
    def test_refuses_what_is_no_field(
        self, kind: Any, args: tuple[int, ...], kwargs: dict[str, int], message: str
    ) -> None:
        with pytest.raises(TypeError, match=message):
            kind(*args, **kwargs)

    def test_objects_are_equal_by_their_fields(self, kind: Any) -> None:
        assert kind(1, 2) == kind(1, 2)
        assert kind(1, 2) != kind(1, 3)
        assert kind(1, 2) != (1, 2)


def test_unannotated_fields_are_parameters_too() -> None:
    made = Unannotated(index=5)  # type: ignore[call-arg]
    assert (made.index, made.offset) == (5, 3)
    assert Unannotated().index is None


def test_methods_and_class_variables_are_no_fields() -> None:
    class Mixed(NKIObject):
        limit: ClassVar[int] = 3  # kept out of the constructor, as by dataclasses
        size: int = 1

        @property
        def doubled(self) -> int:
            return 2 * self.size

        @staticmethod
        def make() -> int:
            return 7

    mixed = Mixed(5)
    assert (mixed.size, mixed.doubled, mixed.make(), Mixed.limit) == (5, 10, 7, 3)
    with pytest.raises(TypeError, match="limit"):
        Mixed(limit=1)


def test_frozen_dataclasses_can_be_made_and_not_changed() -> None:
    @dataclass(frozen=True)
    class Frozen(NKIObject):
        rows: int

    frozen = Frozen(3)
    assert frozen.rows == 3
    with pytest.raises(FrozenInstanceError):
        frozen.rows = 4  # type: ignore[misc]
    assert hash(frozen) == hash(Frozen(3))


def test_dataclass_fields_keep_their_factories_and_stay_out_of_the_constructor_if_told_so() -> None:
    @dataclass
    class Held(NKIObject):
        items: list[int] = field(default_factory=list)
        total: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            self.total = sum(self.items)

    first, second = Held(), Held([1, 2])
    first.items.append(9)
    assert (Held().items, second.total) == ([], 3)
    with pytest.raises(TypeError, match="total"):
        Held(total=1)  # type: ignore[call-arg]


def test_an_initialiser_of_its_own_is_left_alone() -> None:
    @dataclass
    class Own(NKIObject):
        rows: int

        def __init__(self, size: int) -> None:
            self.rows = 2 * size

    class Derived(Own):
        pass

    assert (Own(2).rows, Derived(size=3).rows) == (4, 6)


def test_fields_of_a_base_come_first() -> None:
    class Wide(Plain):
        depth: int = 1

    assert (Wide(1, 2, 3).rows, Wide(1, 2, 3).depth) == (1, 3)


def test_kernels_use_them() -> None:
    source = """
from dataclasses import dataclass
import nki
import nki.isa as nisa
import nki.language as nl

@dataclass
class Sizes(nl.NKIObject):
    rows: int
    kind: nki.dtype = nl.float32
    tile = None

@nki.jit
def kernel(x):
    sizes = Sizes(4, tile=nl.load(x))
    assert (sizes.rows, sizes.kind, sizes.tile.shape) == (4, nl.float32, (128, 512))
    out = nl.ndarray(x.shape, dtype=sizes.kind, buffer=nl.shared_hbm)
    nl.store(out, sizes.tile)
    return out
"""
    record(source)

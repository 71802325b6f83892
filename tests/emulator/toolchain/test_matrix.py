"""Which version has what, against the release notes and the type stubs of each release."""

from __future__ import annotations

import pytest

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import CHANGES, SURFACE, VERSIONS, Kind, available, find, holds, holds_in

EVERY_NAME = [name for names in SURFACE.values() for name in names.values()]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("0.3", None, ["0.3", "0.4", "0.5", "0.6"]),
        ("0.5", None, ["0.5", "0.6"]),
        ("0.3", "0.5", ["0.3", "0.4"]),
        ("0.4", "0.5", ["0.4"]),
        ("0.3", "0.3", []),
    ],
)
def test_a_span_begins_with_its_first_version_and_ends_before_its_last(
    since: str, until: str | None, expected: list[str]
) -> None:
    assert [version for version in VERSIONS if holds_in(version, since, until)] == expected


@pytest.mark.parametrize(
    ("owner", "name", "versions"),
    [
        ("nki.isa", "dma_copy", "0.3 0.4 0.5 0.6"),
        ("nki.isa", "activate2", "0.4 0.5 0.6"),
        ("nki.isa", "get_nc_sub_version", "0.5 0.6"),
        ("nki.isa", "topk", "0.6"),
        ("nki.isa", "tensor_copy_dynamic_src", "0.3"),
        ("nki.language", "abs_max", "0.4 0.5 0.6"),
        ("nki.language", "prelu", "0.4 0.5 0.6"),
        ("nki.language", "float8_e8m0fnu", "0.5 0.6"),
        ("nki.language", "fori_loop", "0.6"),
        ("nki.language", "arange", ""),
        ("nki.language.NkiTensor", "ap", "0.3 0.4 0.5 0.6"),
        ("nki.language.NkiTensor", "permute", "0.5 0.6"),
        ("nki.language.tile_size", "sbuf_fmax_bytes", "0.4 0.5 0.6"),
        ("nki.language.tile_size", "psum_num_banks", "0.5 0.6"),
        ("nki.collectives", "all_to_all_v", "0.3 0.4 0.5 0.6"),
        ("nki.collectives", "all_gather_v", "0.6"),
        ("nki", "simulate", "0.3 0.4 0.5 0.6"),
        ("nki", "benchmark", ""),
    ],
)
def test_a_name_exists_in_the_versions_that_the_release_notes_say(
    owner: str, name: str, versions: str
) -> None:
    assert [version for version in VERSIONS if available(owner, name, version)] == versions.split()


@pytest.mark.parametrize(
    ("owner", "name", "version", "signature"),
    [
        (
            "nki.isa",
            "dma_copy",
            "0.3",
            "dst, src, oob_mode=error, dge_mode=unknown, engine=unknown, name=None",
        ),
        (
            "nki.isa",
            "dma_copy",
            "0.4",
            "dst, src, priority=None, oob_mode=error, dge_mode=unknown, engine=unknown, name=None",
        ),
        (
            "nki.isa",
            "tensor_scalar_reduce",
            "0.3",
            "dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, name=None",
        ),
        (
            "nki.isa",
            "tensor_scalar_reduce",
            "0.5",
            "dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, reduce_cmd=reset_reduce, "
            "reduce_init=None, name=None",
        ),
        ("nki.isa", "rng", "0.4", "dst, engine=unknown, name=None"),
        ("nki.isa", "rng", "0.5", "dst, engine=vector, name=None"),
        (
            "nki.isa",
            "dma_compute",
            "0.3",
            "dst, srcs, reduce_op, scales=None, unique_indices=True, name=None",
        ),
        ("nki.language.NkiTensor", "reshape", "0.4", "new_shape=None, shape=None"),
        ("nki.language.NkiTensor", "reshape", "0.5", "shape"),
        ("nki.collectives", "all_reduce", "0.3", "srcs, dsts, replica_group, op"),
        ("nki.collectives", "all_reduce", "0.4", "srcs, dsts, replica_group, op, priority=None"),
        ("nki.collectives", "all_reduce", "0.5", "srcs, dsts, replica_group, op, priority=None, name=None"),
        ("nki", "jit", "0.3", "func=None, mode='auto'"),
    ],
)
def test_a_function_has_the_parameters_that_the_stub_of_each_release_declares(
    owner: str, name: str, version: str, signature: str
) -> None:
    known = find(owner, name)
    assert known is not None
    shown = [k.name if k.default is None else f"{k.name}={k.default}" for k in known.keywords_in(version)]
    assert ", ".join(shown) == signature


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("tensor_copy", "trn1 trn2 trn3"),
        ("range_select", "trn2 trn3"),
        ("rand_set_state", "trn2 trn3"),
        ("nonzero_with_count", "trn2 trn3"),
        ("exponential", "trn3"),
        ("rand2", "trn3"),
        ("quantize_mx", "trn3"),
    ],
)
def test_an_instruction_exists_on_the_chips_that_its_docstring_names(name: str, targets: str) -> None:
    known = find("nki.isa", name)
    assert known is not None
    assert sorted(known.targets) == targets.split()


@pytest.mark.parametrize(
    ("change", "target", "versions"),
    [
        ("legacy-namespace", "trn2", "0.4 0.5 0.6"),
        ("dma-transpose-sixteen-rows", "trn2", "0.3 0.4 0.5"),
        ("dma-transpose-exact", "trn1", "0.4 0.5 0.6"),
        ("sendrecv-sixteen-rows", "trn3", "0.3"),
        ("reshape-count", "trn2", "0.5 0.6"),
        ("matmul-moving-8192", "trn3", "0.5 0.6"),
        ("matmul-moving-8192", "trn2", ""),
        ("optional-reduce-result", "trn2", "0.6"),
    ],
)
def test_a_rule_holds_in_the_versions_that_the_release_notes_say(
    change: str, target: str, versions: str
) -> None:
    assert [version for version in VERSIONS if holds(change, version, target)] == versions.split()


def test_every_change_is_dated_and_has_a_source() -> None:
    for change in CHANGES.values():
        assert any(holds(change.id, version, "trn3") for version in VERSIONS)
        assert not all(holds(change.id, version, "trn3") for version in VERSIONS)
        assert change.source
        assert change.rule


@pytest.mark.parametrize("name", EVERY_NAME, ids=lambda name: f"{name.owner}.{name.name}")
def test_a_name_is_well_formed(name) -> None:
    assert name.targets <= set(TARGETS)
    assert name.targets
    assert name.source
    # What ends or is advised against says what to write instead.
    assert bool(name.instead) == (name.until is not None or name.deprecated is not None)
    spelled = [keyword.name for keyword in name.keywords_in(VERSIONS[-1])]
    assert len(spelled) == len(set(spelled))
    assert not name.keywords or name.kind is Kind.FUNCTION


@pytest.mark.parametrize(
    "operation", [o for o in OPERATIONS.values() if o.module], ids=lambda operation: operation.name
)
def test_the_operation_table_says_what_the_matrix_says(operation) -> None:
    known = find(operation.module, operation.name)
    assert known is not None
    assert (operation.since, operation.until, operation.targets) == (known.since, known.until, known.targets)
    # A default that changed makes two entries, the older first.
    since = {keyword.name: keyword.since for keyword in reversed(known.keywords)}
    for parameter in operation.parameters:
        if since.get(parameter.name, operation.since) != operation.since:
            assert parameter.since == since[parameter.name], parameter.name


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=lambda dtype: dtype.name)
def test_the_data_types_say_what_the_matrix_says(dtype) -> None:
    known = find("nki.language", dtype.name)
    assert known is not None
    assert known.kind is Kind.DTYPE
    assert (dtype.since, dtype.targets) == (known.since, known.targets)

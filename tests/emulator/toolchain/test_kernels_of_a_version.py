"""A kernel finds the names and keywords of its version, and is told what became of others."""

from __future__ import annotations

import pytest

from pipeline.emulator.frontend.errors import KernelErrorKind
from tests.emulator.frontend.kernels import (
    IMPORTS,
    record,
    record_body,
    refusal,
    refused_submission,
    resolved,
)

TILE = "t = nl.ndarray((128, 512), nl.float32)\nc = nl.ndarray((128, 1), nl.float32)\n"
REDUCE = "nisa.tensor_scalar_reduce(t, t, nl.add, 1.0, nl.add"


@pytest.mark.parametrize(
    ("version", "body", "fragments"),
    [
        ("0.5", "nl.fori_loop(0, 2, None)", ["nl.fori_loop exists since NKI 0.6", "compiled for 0.5"]),
        ("0.3", "nisa.activate2", ["nisa.activate2 exists since NKI 0.4"]),
        (
            "0.3",
            "nisa.dma_copy(t, x, priority=1)",
            ["has priority= since NKI 0.4 only", "dma_copy(dst, src, oob"],
        ),
        ("0.4", f"{REDUCE}, c, reduce_res_negate=True)", ["has reduce_res_negate= since NKI 0.6 only"]),
        ("0.5", f"{REDUCE})", ["misses its argument reduce_res"]),
        ("0.4", "nisa.tensor_copy_dynamic_src(t, t)", ["was removed in NKI 0.4", "scalar_offset"]),
        ("0.3", "nl.arange(4)", ["nl.arange was removed", "neuronxcc.nki"]),
        (
            "0.4",
            "nisa.nc_matmul(t, t, t, perf_mode='double_row')",
            ["perf_mode=nisa.matmul_perf_mode.double_row since NKI 0.4", "not the string 'double_row'"],
        ),
        ("0.3", "nisa.nc_matmul(t, t, t, perf_mode='triple_row')", ["perf_mode must be an enum member"]),
    ],
)
def test_what_the_version_lacks_is_a_compile_error_that_names_the_version(
    version: str, body: str, fragments: list[str]
) -> None:
    error = refusal(TILE + body, version=version)
    assert error.kind == KernelErrorKind.COMPILE_ERROR
    for fragment in fragments:
        assert fragment in error.message


@pytest.mark.parametrize(
    ("version", "body"),
    [
        ("0.6", f"{REDUCE})"),
        ("0.5", f"{REDUCE}, c)"),
        ("0.4", "nisa.dma_copy(t, x, priority=1)"),
        ("0.6", "assert hasattr(nl, 'fori_loop') and hasattr(nisa, 'topk')"),
        ("0.5", "assert not hasattr(nl, 'fori_loop') and not hasattr(nisa, 'topk')"),
        ("0.3", "nisa.nc_matmul(t, t, t, perf_mode='double_row')"),
        ("0.3", "assert not hasattr(nl, 'bypass') and not hasattr(nisa, 'activate2')"),
    ],
)
def test_what_the_version_has_is_taken(version: str, body: str) -> None:
    record_body(TILE + body, version=version, target="trn3")


def test_positions_are_those_of_the_version() -> None:
    body = f"{TILE}nisa.dma_copy(t, x, nisa.oob_mode.skip)"
    (copy, *_) = resolved(record_body(body, version="0.3"))
    assert (copy.scalars["oob_mode"], copy.scalars["priority"]) == ("skip", None)
    body = f"{TILE}nisa.dma_copy(t, x, 1, nisa.oob_mode.skip)"
    (copy, *_) = resolved(record_body(body, version="0.4"))
    assert (copy.scalars["oob_mode"], copy.scalars["priority"]) == ("skip", 1)


def test_what_aws_has_and_the_emulator_does_not_is_unsupported() -> None:
    error = refusal("nisa.tensor_copy_dynamic_src(x, x)", version="0.3")
    assert error.kind == KernelErrorKind.UNSUPPORTED


def test_a_name_that_no_known_version_has_may_be_newer_than_the_emulator() -> None:
    error = refusal("nl.softmx(x)")
    assert error.kind == KernelErrorKind.UNSUPPORTED
    assert "no version of NKI up to 0.6" in error.message
    assert "did you mean softmax" in error.message


LEGACY_TYPES = f"""import neuronxcc.nki.typing as nt
{IMPORTS}
@nki.jit
def kernel(x: nt.tensor):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out
"""


def test_kernels_of_0_3_annotate_with_the_types_of_the_legacy_package() -> None:
    assert record(LEGACY_TYPES, version="0.3").version == "0.3"
    error = refused_submission(LEGACY_TYPES, version="0.4")
    assert (error.kind, error.line) == (KernelErrorKind.COMPILE_ERROR, 1)


@pytest.mark.parametrize(
    ("version", "kind", "fragment"),
    [("0.3", KernelErrorKind.UNSUPPORTED, "still takes"), ("0.4", KernelErrorKind.COMPILE_ERROR, "refuses")],
)
@pytest.mark.parametrize(
    "statement", ["import neuronxcc.nki.language as nl", "from neuronxcc.nki import isa"]
)
def test_the_legacy_dialect_is_a_mistake_only_where_its_version_refuses_it(
    statement: str, version: str, kind: KernelErrorKind, fragment: str
) -> None:
    error = refused_submission(f"{statement}\ndef kernel(x): pass\n", version=version)
    assert error.kind == kind
    assert fragment in error.message
    assert "import nki, nki.language and nki.isa" in error.message

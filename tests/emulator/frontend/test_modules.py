"""What a kernel finds under `nki`, and what it is told of what it does not find."""

from __future__ import annotations

import inspect

import pytest

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.namespace import FUNCTIONS, OPERATORS
from pipeline.emulator.toolchain import NEWEST, Kind, Name, names_in
from tests.emulator.frontend.execution import load
from tests.emulator.frontend.kernels import BODY_LINE, record, record_body, refusal, refused_submission

FUNCTIONS_OF_NKI = [name for name in names_in("nki.language") if name.kind is Kind.FUNCTION]


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS_OF_NKI if name.name != "no_reorder"], ids=lambda n: n.name
)
def test_functions_have_the_parameters_of_the_matrix(name: Name) -> None:
    function = FUNCTIONS[name.name] if name.name in FUNCTIONS else OPERATORS[name.name]
    parameters = inspect.signature(function).parameters.values()
    shown = {p.name: None if p.default is p.empty else p.default for p in parameters}
    documented = {keyword.name: keyword.default for keyword in name.keywords_in(NEWEST)}
    assert list(shown) == list(documented)
    for keyword, default in documented.items():
        if default is not None:
            assert default in (repr(shown[keyword]), str(getattr(shown[keyword], "name", shown[keyword])))
        else:
            assert shown[keyword] is None


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("nc_version", {"gen2": 2, "gen3": 3, "gen4": 4}),
        (
            "engine",
            {"tensor": 1, "vector": 5, "scalar": 2, "gpsimd": 3, "dma": 4, "sync": 6, "unknown": 0},
        ),
        ("reduce_cmd", {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3, "load_reduce": 4}),
        ("dge_mode", {"unknown": 0, "swdge": 1, "hwdge": 2, "none": 3}),
        ("oob_mode", {"error": 0, "skip": 1}),
        ("dma_engine", {"dma": 1, "gpsimd_dma": 2}),
        ("matmul_perf_mode", {"none": "none", "double_row": "double_row"}),
    ],
)
def test_enums_have_their_documented_values(name: str, members: dict[str, object]) -> None:
    nisa = load("")["nisa"]
    enum = getattr(nisa, name)
    assert {member.name: member.value for member in enum} == members
    assert [str(member) for member in enum] == [f"{name}.{member}" for member in enum.__members__]


def test_engines_have_their_deprecated_names() -> None:
    nisa = load("")["nisa"]
    for name in ("tensor", "vector", "scalar", "gpsimd", "unknown"):
        assert getattr(nisa, f"{name}_engine") is nisa.engine[name]


def test_generations_are_ordered_as_kernels_compare_them() -> None:
    body = (
        "assert nisa.get_nc_version() == nisa.nc_version.gen3\n"
        "assert nisa.get_nc_version() >= nisa.nc_version.gen3 > nisa.nc_version.gen2\n"
        "assert nisa.get_nc_version() >= 3\n"
        "assert str(nisa.get_nc_version()) == 'nc_version.gen3'\n"
        "assert nisa.get_nc_sub_version() == 0\n"
    )
    record_body(body, target="trn2")


def test_enums_are_found_where_kernels_of_the_0_3_era_import_them_from() -> None:
    names = load(
        "import nki.isa.constants as again\n"
        "from nki.isa import constants\n"
        "from nki.isa.constants import dge_mode, oob_mode\n",
        version="0.3",
    )
    nisa = names["nisa"]
    assert names["oob_mode"] is nisa.oob_mode is names["constants"].oob_mode is names["again"].oob_mode
    assert names["dge_mode"] is nisa.dge_mode


def test_types_are_found_where_nki_library_takes_them_from() -> None:
    names = load("import nki.dtype as types\ndef helper(kind: nki.dtype = nl.bfloat16): ...\n", version="0.3")
    assert names["types"].float8_e4m3 is names["nl"].float8_e4m3


def test_operators_are_compared_by_identity_and_used_as_keys() -> None:
    record_body(
        "names = {nl.add: 'add', nl.max: 'max', nl.maximum: 'maximum'}\n"
        "assert names[nl.max] == 'max' and nl.max != nl.maximum\n"
        "t = nl.load(x)\n"
        "r = nl.ndarray((128, 1), dtype=nl.float32)\n"
        "nisa.tensor_reduce(r, op=nl.max, data=t, axis=1)\n"
        "nisa.tensor_reduce(r, op=nl.sum, data=t, axis=1)\n"
    )


def test_unrolled_loops_are_ranges() -> None:
    record_body(
        "assert list(nl.affine_range(3)) == [0, 1, 2]\n"
        "assert list(nl.sequential_range(1, 7, 2)) == [1, 3, 5]\n"
        "assert list(nl.static_range(start=1, stop=3)) == [1, 2]\n"
        "assert list(nl.range(2)) == [0, 1]\n"
        "assert nl.program_id(axis=0) == 0\n"
        "assert nl.num_programs(axes=0) == 1\n"
        "assert nl.program_ndim() == 0\n"
        "with nl.no_reorder():\n    pass\n"
    )


def test_probing_a_module_for_a_name_works_as_in_python() -> None:
    record_body(
        "assert not hasattr(nl, 'arange')\nassert getattr(nl, 'mgrid', 1) == 1\nassert hasattr(nl, 'add')"
    )


@pytest.mark.parametrize(
    ("statement", "kind", "fragments"),
    [
        ("nl.arange(128)", "compile_error", ["nl.arange was removed", "slices"]),
        ("nl.mgrid", "compile_error", ["nl.mgrid was removed"]),
        ("nl.par_dim(128)", "compile_error", ["partition"]),
        ("nl.spmd_dim", "compile_error", ["kernel[lnc]"]),
        ("nl.add(t, t[:, 0:1])", "compile_error", ["shapes must be equal", "nl.broadcast_to"]),
        ("nl.add(x, t)", "compile_error", ["not on chip", "nl.load"]),
        ("nl.add(1, 2)", "compile_error", ["takes a tile, not int"]),
        ("nl.exp(np.zeros(3))", "compile_error", ["takes a tile, not ndarray"]),
        ("nl.exp(t, mask=1)", "compile_error", ["nl.exp has no keyword 'mask'"]),
        ("nl.exp(t, dtyp=1)", "compile_error", ["'dtyp', did you mean dtype?"]),
        ("nl.exp()", "compile_error", ["missing 1 required positional argument: 'x'", "nl.exp(x, dtype)"]),
        ("nl.prelu(t)", "compile_error", ["nl.prelu is an operator", "op="]),
        ("nl.bypass(t)", "compile_error", ["nl.bypass is an operator"]),
        ("nl.average(t)", "compile_error", ["nl.average is an operator"]),
        ("nki.benchmark(kernel)", "compile_error", ["nki.benchmark was removed"]),
    ],
)
def test_what_the_language_refuses_is_refused_by_name(
    statement: str, kind: str, fragments: list[str]
) -> None:
    error = refusal(f"t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n{statement}")
    assert error.kind == kind
    assert error.line == BODY_LINE + 1
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("import nki.isa.constant", "did you mean constants?"),
        ("import nki.lang", "nki.lang"),
        ("from nki.isa.constants import engines", "engine"),
        ("import neuronxcc.nki", "legacy dialect"),
    ],
)
def test_imports_of_what_is_not_there_say_so(statement: str, fragment: str) -> None:
    error = refused_submission(f"{statement}\ndef kernel(x):\n    return x\n")
    assert fragment in error.message
    assert error.line == 1


def test_calling_functions_of_the_language_outside_a_kernel_is_refused() -> None:
    with pytest.raises(KernelError, match="outside a kernel"):
        load("nl.ndarray((128, 4), nl.float32)")


def test_annotations_of_shapes_are_accepted_and_not_enforced() -> None:
    source = """
import nki
import nki.language as nl
import nki.isa as nisa
import nki.typing as nt
from nki.typing import tensor
from typing import Optional

def helper(tile: tensor[7, 7], scale: Optional[nt.tensor[1]] = None, bias: nt.tensor[1] | None = None):
    return tile

@nki.jit
def kernel(x: nt.tensor[128, 512]) -> nt.tensor:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=helper(x))
    return out
"""
    record(source)

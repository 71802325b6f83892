"""`nki.isa`: how calls become instructions, and how wrong calls are refused."""

from __future__ import annotations

import pytest

from pipeline.emulator.program import AccessPattern
from pipeline.emulator.targets import ENGINES
from tests.emulator.frontend.kernels import BODY_LINE, X, record_body, refusal, resolved

TILE = "t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)\n"


def test_a_copy_records_both_views_and_the_line() -> None:
    first = resolved(record_body(f"{TILE}nisa.dma_copy(dst=t[0:64, 128:256], src=x[64:128, 0:128])"))[0]
    assert first.operation == "dma_copy"
    assert first.line == BODY_LINE + 1
    assert ENGINES[first.engine] == "dma"
    # x is tensor 0; row 64 of 512 columns starts at 32768. t is tensor 1.
    assert first.tensors["src"] == AccessPattern(0, "float32", 32768, ((512, 64), (1, 128)))
    assert first.tensors["dst"] == AccessPattern(1, "float32", 128, ((512, 64), (1, 128)))


def test_positional_and_keyword_arguments_record_the_same() -> None:
    by_keyword = record_body(f"{TILE}nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)")
    by_position = record_body(f"{TILE}nisa.tensor_tensor(t, t, t, nl.add)")
    assert by_keyword == by_position


def test_a_number_and_a_tile_go_to_different_places() -> None:
    body = f"""{TILE}
c = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2, op1=nl.add, operand1=c)
"""
    entry = resolved(record_body(body))[0]
    assert entry.scalars["operand0"] == 2
    assert entry.tensors["operand0"] is None
    assert entry.scalars["operand1"] is None
    assert entry.tensors["operand1"] == AccessPattern(2, "float32", 0, ((1, 128), (1, 1)))


def test_enum_members_operators_and_patterns_are_recorded_by_name_and_value() -> None:
    body = """
i = nl.ndarray((128, 8), dtype=nl.int32, buffer=nl.sbuf)
nisa.iota(dst=i, pattern=[[2, 4], [1, 2]], offset=3, channel_multiplier=8)
t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=t, src=x, dge_mode=nisa.dge_mode.swdge)
s = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_reduce(dst=s, op=nl.max, data=t, axis=[1], negate=True)
"""
    iota, copy, reduce = resolved(record_body(body))[:3]
    assert iota.scalars == {"pattern": (2, 4, 1, 2), "offset": 3, "channel_multiplier": 8}
    assert copy.scalars["dge_mode"] == "swdge"
    assert reduce.scalars["op"] == "maximum"
    assert reduce.scalars["axis"] == (1,)
    assert reduce.scalars["negate"] is True


def test_equal_views_share_one_pattern_and_equal_operations_one_name() -> None:
    program = record_body(f"{TILE}for i in range(50):\n    nisa.tensor_copy(dst=t[:, 0:8], src=t[:, 8:16])")
    assert len(program.instructions) == 52
    assert len(program.patterns) == 4
    assert sorted(program.operations) == ["dma_copy", "memset", "tensor_copy"]


def test_tensors_are_called_what_their_author_calls_them() -> None:
    body = 'left = nl.ndarray((128, 8), nl.float32)\nother = nl.ndarray((128, 8), nl.float32, name="right")'
    program = record_body(body)
    assert [tensor.name for tensor in program.tensors] == ["x", "left", "right", "end", "out"]
    assert [tensor.line for tensor in program.tensors][:3] == [0, BODY_LINE, BODY_LINE + 1]


@pytest.mark.parametrize(
    ("argument", "engine"),
    [("", "vector"), (", engine=nisa.engine.gpsimd", "gpsimd"), (", engine=nisa.vector_engine", "vector")],
)
def test_the_engine_is_the_named_one_or_the_default(argument: str, engine: str) -> None:
    entry = resolved(record_body(f"{TILE}nisa.tensor_copy(dst=t, src=t{argument})"))[0]
    assert ENGINES[entry.engine] == engine


def test_the_default_engine_may_depend_on_the_arguments() -> None:
    body = """
a = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
p = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
s = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf)
nisa.nc_transpose(dst=p, data=a)
nisa.nc_transpose(dst=s, data=a[0:32, 0:32])
nisa.nc_transpose(dst=s, data=p[0:32, 0:32])
"""
    engines = [ENGINES[entry.engine] for entry in resolved(record_body(body))[:3]]
    assert engines == ["tensor", "vector", "vector"]


@pytest.mark.parametrize(
    ("call", "kind", "fragments"),
    [
        ("nisa.tensor_copy(dst=t, source=t)", "compile_error", ["'source'", "did you mean src"]),
        ("nisa.tensor_copy(dst=t, src=t, mask=1)", "compile_error", ["mask", "min()"]),
        ("nisa.tensor_copy(dst=t, src=t, dtype=nl.bfloat16)", "compile_error", ["dtype", "dst"]),
        ("nisa.tensor_copy(src=t)", "compile_error", ["misses its argument dst", "nl.ndarray"]),
        ("nisa.tensor_copy(t)", "compile_error", ["misses its argument src"]),
        ("nisa.tensor_copy(t, t, nisa.engine.vector, None, 5)", "compile_error", ["5 were given"]),
        ("nisa.tensor_copy(t, t, dst=t)", "compile_error", ["two values for 'dst'"]),
        ("nisa.tensor_copy(dst=t, src=3.0)", "compile_error", ["src must be a tensor, not float 3.0"]),
        ("nisa.tensor_copy(dst=t, src=np.zeros((128, 512)))", "compile_error", ["not ndarray"]),
        ("nisa.tensor_copy(dst=t, src=t, engine='vector')", "compile_error", ["nisa.engine.<name>"]),
        (
            "nisa.tensor_copy(dst=t, src=t, engine=nisa.engine.tensor)",
            "illegal_on_target",
            ["cannot run on the tensor engine", "vector"],
        ),
        ("nisa.tensor_tensor(dst=t, data1=t, data2=t, op=np.add)", "compile_error", ["op", "use nl.add"]),
        ("nisa.tensor_tensor(dst=t, data1=t, data2=t, op='add')", "compile_error", ["not str"]),
        ("nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.exp)", "compile_error", ["nl.exp is not an ALU"]),
        ("nisa.activation(dst=t, op=nl.maximum, data=t)", "compile_error", ["not an activation function"]),
        (
            "nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0='1')",
            "compile_error",
            ["a number or a tile"],
        ),
        ("nisa.memset(dst=t, value=t)", "compile_error", ["value must be a number"]),
        ("nisa.tensor_reduce(dst=t, op=nl.add, data=t, axis='1')", "compile_error", ["axis"]),
        ("nisa.tensor_reduce(dst=t, op=nl.power, data=t, axis=1)", "compile_error", ["op=power"]),
        (
            "nisa.tensor_reduce(dst=t, op=nl.add, data=t, axis=1, negate=1)",
            "compile_error",
            ["True or False"],
        ),
        ("nisa.dma_copy(dst=t, src=x, dge_mode=2)", "compile_error", ["enum member"]),
        ("nisa.dma_copy(dst=t, src=x, dge_mode=nisa.oob_mode.skip)", "compile_error", ["dge_mode=skip"]),
    ],
)
def test_a_wrong_call_names_function_argument_and_remedy(call: str, kind: str, fragments: list[str]) -> None:
    error = refusal(TILE + call)
    assert error.kind == kind
    assert error.line == BODY_LINE + 1
    function = call.partition("(")[0]
    assert error.message.startswith(function)
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("name", "kind", "fragment"),
    [
        ("tensor_copy_dynamic_src", "compile_error", "scalar_offset"),
        ("tensor_cpy", "unsupported", "did you mean tensor_copy"),
        ("zzz", "unsupported", "nisa.zzz is in no version of NKI up to 0.6"),
    ],
)
def test_names_that_do_not_exist_are_refused_by_what_is_known_of_them(
    name: str, kind: str, fragment: str
) -> None:
    error = refusal(f"nisa.{name}(x)")
    assert error.kind == kind
    assert fragment in error.message


@pytest.mark.parametrize(("target", "generation"), [("trn1", "gen2"), ("trn2", "gen3"), ("trn3", "gen4")])
def test_a_kernel_can_ask_for_its_target(target: str, generation: str) -> None:
    body = f"assert nisa.get_nc_version() == nisa.nc_version.{generation}"
    assert record_body(body, target=target).target == target


def test_a_dependency_on_an_earlier_instruction_holds_already() -> None:
    body = f"{TILE}a = nisa.memset(t, 0.0)\nb = nisa.tensor_copy(t, t)\nb.depends_on(a)"
    assert len(record_body(body).instructions) == 4


def test_a_dependency_on_a_later_instruction_is_unsupported() -> None:
    error = refusal(f"{TILE}a = nisa.memset(t, 0.0)\nb = nisa.tensor_copy(t, t)\na.depends_on(b)")
    assert error.kind == "unsupported"
    assert "depends_on" in error.message


def test_an_integer_immediate_is_never_taken_for_a_tensor() -> None:
    entry = resolved(record_body(f"{TILE}nisa.tensor_scalar(t, t, nl.add, 0)", [X]))[0]
    assert entry.tensors["operand0"] is None
    assert entry.scalars["operand0"] == 0


def test_a_unary_operator_takes_none_for_its_operand() -> None:
    body = f"""{TILE}
nisa.tensor_scalar(dst=t, data=t, op0=nl.abs, operand0=None)
c = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_scalar_reduce(t, t, nl.abs, None, nl.add, c)
"""
    for entry in resolved(record_body(body))[:2]:
        assert entry.scalars["op0"] == "abs"
        assert entry.scalars["operand0"] is None
        assert entry.tensors["operand0"] is None


def test_the_result_of_activation_reduce_may_be_none_and_not_left_out() -> None:
    entry = resolved(
        record_body(f"{TILE}nisa.activation_reduce(t, nl.exp, t, reduce_op=nl.add, reduce_res=None)")
    )[0]
    assert entry.tensors["reduce_res"] is None
    error = refusal(f"{TILE}nisa.activation_reduce(t, nl.exp, t, reduce_op=nl.add)")
    assert "misses its argument reduce_res" in error.message


def test_an_enum_number_is_taken_under_0_3_only() -> None:
    body = f"{TILE}nisa.dma_copy(t, x, dge_mode=3)"
    assert resolved(record_body(body, version="0.3"))[0].scalars["dge_mode"] == "none"
    error = refusal(body, version="0.6")
    assert error.kind == "compile_error"
    assert "none" in error.message

"""`trace`: from a submission's text to a program, or to one clear error with its owner's line."""

from __future__ import annotations

import gc
import sys

import pytest

from pipeline.emulator.frontend import InputSpec, KernelError, trace
from pipeline.emulator.program import Tensor, encode
from tests.emulator.frontend.kernels import BODY_LINE, IMPORTS, X, record, refusal, refused_submission

COPY = f"""{IMPORTS}
@nki.jit
def kernel(a, b):
    t = nl.load(a)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out
"""
A = InputSpec("a", (128, 4), "float32")
B = InputSpec("b", (64, 8), "bfloat16")


def test_a_program_says_what_it_was_traced_for() -> None:
    program = record(COPY, [A, B], target="trn3", version="0.5")
    assert (program.dialect, program.version, program.target) == ("nki", "0.5", "trn3")
    assert program.tensors[:2] == (
        Tensor("a", (128, 4), "float32", "hbm"),
        Tensor("b", (64, 8), "bfloat16", "hbm"),
    )
    assert program.inputs == (0, 1)
    assert [program.tensors[index].name for index in program.outputs] == ["out"]
    assert program.tensors[program.outputs[0]].buffer == "shared_hbm"


def test_tracing_twice_gives_the_same_program() -> None:
    assert encode(record(COPY, [A, B])) == encode(record(COPY, [A, B]))


def test_arguments_are_bound_by_name_before_position() -> None:
    program = record(COPY, [B, A])
    assert [program.tensors[index].name for index in program.inputs] == ["b", "a"]
    assert program.tensors[program.outputs[0]].shape == (128, 4)


def test_arguments_of_other_names_are_bound_in_order() -> None:
    program = record(COPY, [InputSpec("lhs", (128, 4), "float32"), InputSpec("rhs", (2, 2), "float16")])
    assert [tensor.name for tensor in program.tensors[:2]] == ["a", "b"]
    assert program.tensors[1].shape == (2, 2)


def test_parameters_with_defaults_need_no_argument() -> None:
    source = COPY.replace("kernel(a, b)", "kernel(a, scale=2.0, tile=(128, 512))")
    assert len(record(source, [A]).inputs) == 1


def test_several_outputs_are_kept_in_order() -> None:
    source = f"""{IMPORTS}
@nki.jit
def kernel(x):
    t = nl.load(x)
    first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    second = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
    nl.store(first, t)
    nl.store(second, t)
    return second, first
"""
    program = record(source)
    assert [program.tensors[index].name for index in program.outputs] == ["second", "first"]


def test_an_input_updated_in_place_can_be_returned() -> None:
    program = record(f"{IMPORTS}\ndef kernel(x):\n    nl.store(x, nl.load(x))\n    return x\n")
    assert program.outputs == (0,)


def test_a_jitted_helper_is_inlined() -> None:
    source = f"""{IMPORTS}
@nki.jit
def load(x):
    return nl.load(x)

@nki.jit(mode="trace", debug_kernel=True)
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, load(x))
    return out
"""
    assert len(record(source).instructions) == 2


def test_dataclasses_enums_and_string_annotations_work_in_a_submission() -> None:
    source = f"""from __future__ import annotations
from dataclasses import dataclass
from enum import Enum
import nki.typing as nt
{IMPORTS}
class Mode(Enum):
    FAST = 1

@dataclass
class Config(nl.NKIObject):
    rows: int
    dtype: nki.dtype = nl.float32

@nki.jit
def kernel(x: nt.tensor[128, 512], mode: Mode = Mode.FAST) -> nt.tensor[128, 512]:
    config = Config(rows=x.shape[0])
    assert mode == Mode.FAST and config.dtype == nl.float32
    out = nl.ndarray((config.rows, 512), dtype=config.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out
"""
    assert len(record(source).instructions) == 2


def test_nothing_of_the_emulator_stays_behind() -> None:
    before = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("nki", "neuronxcc")
    }
    record(COPY, [A, B])
    refused_submission("import nki\n1 / 0")
    after = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("nki", "neuronxcc")
    }
    assert after == before
    assert "nki_submission" not in sys.modules
    assert gc.isenabled()


def test_a_patched_module_does_not_reach_the_next_submission() -> None:
    refused_submission(f"{IMPORTS}\nnl.load = None\nnisa.memset = None\n1 / 0")
    assert len(record(COPY, [A, B]).instructions) == 2


@pytest.mark.parametrize(
    ("source", "kind", "line", "fragments"),
    [
        ("def kernel(x:\n    pass", "compile_error", 1, ["syntax error"]),
        ("x = 1\n\ndef kernel(:", "compile_error", 3, ["syntax error"]),
        ("x = 1\0", "compile_error", 0, ["null bytes"]),
        ("return 5", "compile_error", 1, ["syntax error", "outside function"]),
        ("", "compile_error", 0, ["no kernel function 'kernel'", "defines no function"]),
        (
            "def main(x): pass\ndef other(x): pass",
            "compile_error",
            0,
            ["no kernel function", "main(), other()"],
        ),
        ("kernel = 5", "compile_error", 0, ["no kernel function 'kernel'"]),
        ("import numppy", "runtime_error", 1, ["ModuleNotFoundError", "numppy"]),
        ("raise ImportError('by hand', name='nki')", "runtime_error", 1, ["ImportError", "by hand"]),
        ("raise ImportError('by hand', name=3)", "runtime_error", 1, ["ImportError", "by hand"]),
        ("import torch\nx = torch.zeros(3)", "unsupported", 2, ["calls torch.zeros", "nki.isa"]),
        ("from torch.nn import functional as F\nF.relu(1)", "unsupported", 2, ["torch.nn.functional.relu"]),
        ("import neuronxcc.nki as nki", "compile_error", 1, ["neuronxcc.nki", "0.4.0", "import nki"]),
        ("from neuronxcc import nki", "compile_error", 1, ["neuronxcc.nki"]),
        ("import nki.nl", "unsupported", 1, ["nki.nl is in no version of NKI up to 0.6"]),
        ("from nki.language import par_dim", "compile_error", 1, ["nl.par_dim was removed"]),
        (
            "import nki.language as nl\nhasattr(nl, 'arange')\nimport nki.compiler",
            "unsupported",
            3,
            ["compiler"],
        ),
        ("from nki.isa import frob", "unsupported", 1, ["nisa.frob is in no version"]),
        (
            "import nki\n@nki.jit(platform_target='trn2')\ndef kernel(x): pass",
            "compile_error",
            2,
            ["platform_target"],
        ),
        ("import nki\n@nki.jit(speed=3)\ndef kernel(x): pass", "compile_error", 2, ["'speed'"]),
        ("def f():\n    1 / 0\nf()", "runtime_error", 2, ["ZeroDivisionError: division by zero"]),
        ("raise SystemExit(0)", "runtime_error", 1, ["SystemExit"]),
        ("import sys\nsys.exit()", "runtime_error", 2, ["SystemExit"]),
        ("raise KeyboardInterrupt", "runtime_error", 1, ["KeyboardInterrupt"]),
        ("raise GeneratorExit", "runtime_error", 1, ["GeneratorExit"]),
        ("def f():\n    f()\nf()", "runtime_error", 2, ["RecursionError"]),
        ("raise MemoryError", "too_large", 1, ["memory"]),
        ("raise ValueError('a\\nb' * 1000)", "runtime_error", 1, ["ValueError: a ba ba"]),
        (
            "class E(Exception):\n    def __str__(self):\n        raise SystemExit\nraise E()",
            "runtime_error",
            4,
            ["E: (its message cannot be shown)"],
        ),
    ],
)
def test_a_submission_that_cannot_be_loaded_gets_its_own_verdict(
    source: str, kind: str, line: int, fragments: list[str]
) -> None:
    error = refused_submission(source)
    assert (error.kind, error.line) == (kind, line)
    for fragment in fragments:
        assert fragment in error.message
    assert "\n" not in error.message
    assert len(error.message) < 600
    assert "pipeline" not in error.message


@pytest.mark.parametrize(
    ("parameters", "fragments"),
    [
        ("", ["wrong signature", "2 tensors", "a (128, 4) float32", "kernel()"]),
        ("a", ["wrong signature", "kernel(a)"]),
        ("a, b, c", ["wrong signature", "kernel(a, b, c)"]),
    ],
)
def test_a_wrong_signature_names_expected_and_found(parameters: str, fragments: list[str]) -> None:
    error = refused_submission(f"def kernel({parameters}):\n    pass", [A, B])
    assert (error.kind, error.line) == ("compile_error", 1)
    for fragment in fragments:
        assert fragment in error.message


ALLOCATED = "out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.{})\nt = nl.load(x)\n"


@pytest.mark.parametrize(
    ("body", "kind", "fragments"),
    [
        ("return nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)", "no_device_work", ["no instruction"]),
        ("pass", "no_device_work", ["no instruction"]),
        ("return np.zeros((4, 4))", "no_device_work", ["no instruction"]),
        (ALLOCATED.format("shared_hbm") + "pass", "compile_error", ["returns nothing", "nl.shared_hbm"]),
        (ALLOCATED.format("shared_hbm") + "return np.zeros(4)", "compile_error", ["type ndarray"]),
        (ALLOCATED.format("shared_hbm") + "return out, 5", "compile_error", ["type int"]),
        (ALLOCATED.format("shared_hbm") + "return ()", "compile_error", ["returns nothing"]),
        (ALLOCATED.format("shared_hbm") + "return out, out", "compile_error", ["twice"]),
        (ALLOCATED.format("hbm") + "return out", "compile_error", ["out (128, 512)", "buffer=nl.shared_hbm"]),
        (ALLOCATED.format("shared_hbm") + "return t", "compile_error", ["in sbuf", "buffer=nl.shared_hbm"]),
        (ALLOCATED.format("shared_hbm") + "return out[0:64]", "unsupported", ["returns a view", "(64, 512)"]),
    ],
)
def test_what_a_kernel_returns_must_be_its_output(body: str, kind: str, fragments: list[str]) -> None:
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    error = refused_submission(f"{IMPORTS}@nki.jit\ndef kernel(x):\n{indented}\n")
    assert error.kind == kind
    for fragment in fragments:
        assert fragment in error.message


def test_an_exception_in_the_kernel_names_the_submission_line_only() -> None:
    error = refusal("assert x.shape[0] == 7, f'rows are {x.shape[0]}'")
    assert (error.kind, error.line) == ("runtime_error", BODY_LINE)
    assert error.message == "AssertionError: rows are 128"


def test_a_type_error_of_the_submission_stays_its_own() -> None:
    error = refusal("helper = lambda a: a\nhelper(1, 2)")
    assert (error.kind, error.line) == ("runtime_error", BODY_LINE + 1)
    assert error.message.startswith("TypeError")


def test_the_line_is_where_the_submission_calls_us_even_from_a_helper() -> None:
    helper = "def helper(t):\n    return t[0:999]\n"
    error = refused_submission(f"{IMPORTS}{helper}def kernel(x):\n    helper(x)\n")
    assert error.line == IMPORTS.count("\n") + 2


def test_too_many_instructions_end_the_trace() -> None:
    source = f"{IMPORTS}\ndef kernel(x):\n    t = nl.load(x)\n    while True:\n        nisa.memset(t, 0.0)\n"
    with pytest.raises(KernelError, match="more than 500 instructions") as caught:
        record(source, instruction_limit=500)
    assert caught.value.kind == "too_large"
    assert caught.value.line == 9


def test_a_tensor_kept_in_a_global_is_refused_by_the_next_kernel() -> None:
    source = f"""{IMPORTS}
kept = []
def kernel(x):
    t = nl.load(x)
    kept.append(t)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, kept[0])
    return out

kernel_copy = nki.jit(kernel)
kernel_copy(np.zeros((128, 512), np.float32))
"""
    error = refused_submission(source)
    assert error.kind == "compile_error"
    assert "another kernel call" in error.message


@pytest.mark.parametrize(
    ("grid", "target", "kind"),
    [("3", "trn2", "compile_error"), ("2, 2", "trn2", "compile_error"), ("2", "trn1", "illegal_on_target")],
)
def test_a_launch_grid_is_one_core_or_two_where_there_are_two(grid: str, target: str, kind: str) -> None:
    source = f"{IMPORTS}@nki.jit\ndef kernel(x):\n    return x\nkernel[{grid}]"
    error = refused_submission(source, target=target)
    assert (error.kind, error.line) == (kind, 8)
    assert "kernel[" in error.message


def test_an_unknown_target_is_the_callers_error() -> None:
    with pytest.raises(KeyError, match="unknown target 'trn9'"):
        trace(COPY, "s.py", "kernel", [X], target="trn9")


def test_an_operation_the_target_lacks_is_not_recorded() -> None:
    assert refusal("nisa.exponential(x, x)", target="trn2").kind == "illegal_on_target"


def test_a_refusal_that_a_helper_swallows_still_ends_the_kernel() -> None:
    source = f"""{IMPORTS}
def attempt(t):
    try:
        nisa.tensor_copy(dst=t, src=t, mask=1)
    except Exception:
        pass

ATTEMPTS = []

def register(function):
    ATTEMPTS.append(function)

register(attempt)  # out of sight of what reads the source

@nki.jit
def kernel(x):
    t = nl.load(x)
    ATTEMPTS[0](t)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out
"""
    error = refused_submission(source)
    assert (error.kind, error.line) == ("compile_error", 8)
    assert "mask" in error.message


def test_an_unknown_version_is_the_callers_error() -> None:
    with pytest.raises(KeyError, match="unknown NKI version"):
        trace(COPY, "s.py", "kernel", [X], target="trn2", version="9.9")


def test_a_tiled_matmul_unrolls_into_the_instructions_of_its_loops() -> None:
    source = f"""{IMPORTS}
@nki.jit
def kernel(lhsT, rhs):
    K, M = lhsT.shape
    N = rhs.shape[1]
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // 128):
        for n in nl.affine_range(N // 512):
            acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // 128):
                left = nl.ndarray((128, 128), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((128, 512), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhsT[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])
                nisa.dma_copy(dst=right, src=rhs[k * 128:(k + 1) * 128, nl.ds(n * 512, 512)])
                nisa.nc_matmul(dst=acc, stationary=left, moving=right)
            tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=acc)
            nisa.dma_copy(dst=out[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], src=tile)
    return out
"""
    inputs = [InputSpec("lhsT", (384, 256), "bfloat16"), InputSpec("rhs", (384, 1024), "bfloat16")]
    program = record(source, inputs)
    names = [program.operations[instruction.operation] for instruction in program.instructions]
    # 2 x 2 output tiles, each with 3 contraction steps of two loads and a matmul, a copy and a store.
    assert names == (["dma_copy", "dma_copy", "nc_matmul"] * 3 + ["tensor_copy", "dma_copy"]) * 4
    assert len(program.tensors) == 3 + 4 * (2 + 3 * 2)


def test_a_warning_of_python_is_no_error_of_the_submission() -> None:
    source = COPY.replace("return out", "if False:\n        print(5 [0])\n    return out")
    assert len(record(source, [A, B]).instructions) == 2


@pytest.mark.parametrize(
    "header",
    [
        "import torch",
        "import torch, jax.numpy as jnp",
        "from torch import nn\nimport torch.nn.functional as F",
        "import triton.language as tl\ndef host(x: tl.tensor, y=tl.constexpr): pass",
        "import torch\nclass Model(torch.nn.Module):\n    pass",
    ],
)
def test_a_host_framework_may_be_imported_and_named_as_long_as_nothing_of_it_is_called(header: str) -> None:
    assert record(f"{header}\n{COPY}", [A, B]).instructions

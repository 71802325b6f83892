"""What public bug reports about NKI complain of: the emulator, or the grader around it, says it in time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.comparator import compare_output
from pipeline.compare.tolerance import Limits, derive_tolerance
from pipeline.emulator import KernelError, run
from pipeline.emulator.frontend import InputSpec
from pipeline.emulator.frontend.language import check_source
from pipeline.emulator.legality import Severity, check, memory_peaks, unwritten
from pipeline.emulator.machine import Machine
from pipeline.emulator.operations import OPERATIONS, Fidelity
from pipeline.emulator.program import validate
from pipeline.emulator.program.resolution import resolve
from pipeline.library.tasks import TaskError, load_task
from pipeline.types import Pattern, TensorSpec
from tests.emulator.frontend.kernels import BODY_LINE, IMPORTS, X, record, record_body, refused_submission
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.public_reports import EXPLAINED, KERNELS, LISTED, LOADED, Report
from tests.emulator.running import run_operation

ROOT = Path(__file__).parents[2]
F32 = np.float32
HEAD = f"{IMPORTS}@nki.jit\ndef kernel(x):\n"


def said(report: Report, version: str) -> list[tuple[str, str, int]]:
    """Verdict or rule, message and line of everything that is said of a report's kernel."""
    try:
        program = record_body(report.kernel, target=report.target, version=version)
    except KernelError as error:
        return [(error.kind.value, error.message, error.line)]
    return [(violation.rule, violation.message, violation.line) for violation in check(program)]


def test_every_report_of_the_list_is_shown_or_explained() -> None:
    """A test below that shows a report by other means than a kernel's body is called by its number."""
    shown = {report.number for report in KERNELS}
    shown |= {int(found[1]) for name in globals() if (found := re.match(r"test_(\d+)_", name))}
    assert shown | EXPLAINED.keys() == LISTED
    assert not shown & EXPLAINED.keys()


@pytest.mark.parametrize("report", KERNELS, ids=lambda report: f"{report.number}-{report.says}")
def test_the_emulator_says_what_the_report_found_out_on_the_device(report: Report) -> None:
    found = said(report, report.version)
    lines = {what: (message, line) for what, message, line in reversed(found)}
    assert report.says in lines, found
    message, line = lines[report.says]
    assert all(word in message for word in report.words), message
    assert line == report.line


@pytest.mark.parametrize(
    "report", [r for r in KERNELS if r.instead], ids=lambda report: f"{report.number}-{report.says}"
)
def test_what_the_message_advises_is_legal(report: Report) -> None:
    target = report.target if report.says != "target-documented" else "trn2"
    found = check(record_body(report.instead, target=target, version=report.version))
    assert [v for v in found if v.severity is Severity.ERROR or v.rule == report.says] == []


@pytest.mark.parametrize("report", [r for r in KERNELS if r.later], ids=lambda report: str(report.number))
def test_what_a_later_version_mended_is_legal_there(report: Report) -> None:
    assert said(report, report.later) == []


def test_1_a_loop_over_affine_range_carries_what_it_writes() -> None:
    def kernel(x):
        import nki.isa as nisa
        import nki.language as nl

        t, total = nl.load(x), nl.zeros(x.shape, nl.float32)
        for _ in nl.affine_range(4):
            nisa.tensor_tensor(total, total, t, nl.add)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, total)
        return out

    x = np.arange(6, dtype=F32).reshape(2, 3)
    np.testing.assert_array_equal(run(kernel, x), 4 * x)
    source = f"{HEAD}    for i in nl.affine_range(4):\n        pass\n"
    (advice,) = check_source(source, "kernel")
    assert (advice.severity, advice.line) == (Severity.WARNING, 7)
    assert "write range" in advice.message


def test_5_right_values_do_not_make_an_illegal_program_acceptable() -> None:
    """No engine addresses forty partitions from the 32nd on, and NumPy does."""
    builder = ProgramBuilder()
    tile = builder.load(builder.input((96, 4)))
    moved = builder.tensor((40, 4))
    builder.add("tensor_copy", dst=moved, src=builder.block(tile, slice(32, 72), slice(0, 4)))
    builder.store(moved)
    program = builder.program()
    x = np.arange(96 * 4, dtype=F32).reshape(96, 4)
    np.testing.assert_array_equal(Machine(program).run([x])[0], x[32:72])
    (refusal,) = [v for v in check(program) if v.severity is Severity.ERROR]
    assert refusal.rule == "partition-start"


@pytest.mark.parametrize(
    "line",
    ["import neuronxcc.nki as nki", "from neuronxcc import nki", "import neuronxcc.nki.language as nl"],
)
def test_9_the_dialect_of_a_legacy_kernel_is_named(line: str) -> None:
    error = refused_submission(f"{line}\ndef kernel(x):\n    return x\n")
    assert (error.kind, error.line) == ("compile_error", 1)
    assert "neuronxcc.nki, the legacy dialect" in error.message
    assert "import nki, nki.language and nki.isa" in error.message


@pytest.mark.parametrize(("target", "generation"), [("trn1", "gen2"), ("trn2", "gen3"), ("trn3", "gen4")])
def test_12_a_program_says_which_chip_its_verdict_holds_for(target: str, generation: str) -> None:
    body = f"assert nisa.get_nc_version() == nisa.nc_version.{generation}"
    assert record_body(body, target=target).target == target


def test_15_banks_of_psum_are_counted_while_they_are_alive() -> None:
    body = """
tiles = []
for i in range(4):
    tiles.append(nl.ndarray((128, 16), nl.float32, buffer=nl.psum))
for tile in tiles:
    nisa.memset(tile, 0.0)
for tile in tiles:
    nl.copy(tile)
"""
    peaks = memory_peaks(record_body(body))
    assert (peaks.psum_bytes // 2048, peaks.psum_line) == (4, BODY_LINE + 4)  # at the last memset


@pytest.mark.parametrize("source", ["%0 = nki.load %x\n", "# printed by the compiler\nv0 = [1, 2]\n"])
def test_18_a_dump_is_no_kernel(source: str) -> None:
    error = refused_submission(source)
    assert error.kind == "compile_error"
    assert "syntax error" in error.message or "no kernel function 'kernel'" in error.message


def test_20_unrolling_without_end_is_named_with_its_count() -> None:
    body = "    t = nl.load(x)\n    for i in nl.static_range(1000):\n        nisa.tensor_copy(t, t)\n"
    error = refused_submission(HEAD + body, instruction_limit=500)
    assert error.kind == "too_large"
    assert "more than 500 instructions; loops are unrolled" in error.message


def test_21_zeros_that_were_written_are_told_from_an_output_that_was_not() -> None:
    tail = "    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n{}    return out\n"
    written = record(HEAD + tail.format("    nl.store(out, nl.zeros(x.shape, x.dtype))\n"))
    never = record(HEAD + tail.format("    nl.load(x)\n"))
    assert unwritten(written) == {}
    assert {region.count for region in unwritten(never).values()} == {128 * 512}

    spec = TensorSpec(name="out", shape=("R", "C"), dtype="float32")
    zeros, ones = np.zeros((2, 3), F32), np.ones((2, 3))
    exact = Limits(0.0, np.zeros(2), np.zeros((2, 3)))
    assert "every element is zero" in compare_output(spec, zeros, ones, exact).message
    assert "every element is zero" not in compare_output(spec, zeros + F32(0.5), ones, exact).message
    assert compare_output(spec, zeros, zeros.astype(np.float64), exact).passed


def test_23_tasks_draw_signed_and_large_inputs() -> None:
    for folder in sorted((ROOT / "data/tasks").glob("*/task.toml")):
        task = load_task(folder.parent)
        names: dict[str, object] = {}
        exec(compile(task.reference, "reference.py", "exec"), names)
        drawn = [
            values
            for case in task.cases
            for values in names["make_inputs"](
                np.random.default_rng(0), case.axes, {"name": case.name, "distribution": case.distribution}
            ).values()
        ]
        assert any((values < 0).any() and (values > 0).any() for values in drawn), task.id
        # The battery scales by 64 what it is allowed to.
        large = any(case.pattern is Pattern.LARGE for case in task.cases)
        assert large or any(np.abs(values[np.isfinite(values)]).max() > 10 for values in drawn), task.id


def test_24_inputs_are_bound_by_name_before_position() -> None:
    source = f"{IMPORTS}@nki.jit\ndef kernel(q, softmax_scale, k):\n    nl.load(q)\n    return q\n"
    given = [
        InputSpec(name, (4, size), "float32") for name, size in (("k", 1), ("softmax_scale", 2), ("q", 3))
    ]
    program = record(source, given)
    assert [(program.tensors[i].name, program.tensors[i].shape[1]) for i in program.inputs] == [
        ("k", 1), ("softmax_scale", 2), ("q", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["0.3", "0.4", "0.6"])
def test_30_the_target_is_no_argument_of_the_decorator(version: str) -> None:
    source = f"{IMPORTS}@nki.jit(platform_target='trn2')\ndef kernel(x):\n    return x\n"
    error = refused_submission(source, version=version)
    assert (error.kind, error.line) == ("compile_error", 5)
    assert "platform_target" in error.message
    assert "NEURON_PLATFORM_TARGET_OVERRIDE" in error.message


def test_33_a_tolerance_below_the_rounding_of_the_output_is_refused(tmp_path: Path) -> None:
    """A unit in the last place of a bfloat16 next to 18 is 0.125: a kernel may round to either side."""
    folder = Path(shutil.copytree(ROOT / "data/tasks/rmsnorm", tmp_path / "rmsnorm"))
    text = (folder / "task.toml").read_text()
    override = '[numerics]\nelementwise = 1e-3\nreason = "too strict"\n'
    (folder / "task.toml").write_text(text.replace("[numerics]\n", override))
    with pytest.raises(TaskError) as refused:
        load_task(folder)
    assert "numerics.elementwise" in str(refused.value)
    assert "bfloat16 costs, 0.00391" in str(refused.value)

    numerics = load_task(ROOT / "data/tasks/rmsnorm").numerics
    spec = TensorSpec(name="out", shape=("R", "C"), dtype="bfloat16")
    exact = 18 * np.random.default_rng(0).standard_normal((64, 64))
    exact[0, 0] = 18.0625
    rounded = exact.astype(ml_dtypes.bfloat16)
    limits = derive_tolerance(spec, exact, np.zeros(exact.shape, F32), (), numerics)
    for neighbour in (18.0, 18.125):
        rounded[0, 0] = neighbour
        assert compare_output(spec, rounded, exact, limits).passed


@pytest.mark.parametrize("handler", ["except Exception:\n        return x", "finally:\n        pass"])
def test_39_a_fallback_around_the_kernel_is_refused(handler: str) -> None:
    source = (
        f"{IMPORTS}def attempt(x):\n    return nl.divide(nl.load(x), 2.0)\n\n"
        f"def kernel(x):\n    try:\n        return attempt(x)\n    {handler}\n"
    )
    error = refused_submission(source)
    assert (error.kind, error.line) == ("compile_error", 9)
    assert "try" in error.message


def test_43_a_result_in_psum_is_no_output() -> None:
    body = "    r = nl.zeros((128, 4), nl.float32, buffer=nl.psum)\n    return r\n"
    error = refused_submission(HEAD + body)
    assert error.kind == "compile_error"
    assert "returns r (128, 4) float32 in psum" in error.message
    assert "buffer=nl.shared_hbm" in error.message


def test_49_a_row_sum_is_strictly_sequential_and_says_where_that_is_known() -> None:
    rng = np.random.default_rng(7)
    data = (rng.standard_normal((128, 128)) * 10.0 ** rng.integers(-3, 4, (128, 128))).astype(F32)
    expected = np.zeros(128, F32)
    for column in data.T:
        expected = expected + column
    (got,) = run_operation(
        "tensor_reduce", {"dst": ((128, 1), "float32")}, {"data": data, "op": "add", "axis": 1}
    )
    np.testing.assert_array_equal(got[:, 0], expected)
    assert (np.sum(data, axis=1) != expected).any()  # so NumPy's pairwise sum would show
    assert fidelity_of_row_sum("trn1") is Fidelity.EXACT
    assert fidelity_of_row_sum("trn2") is Fidelity.APPROXIMATE


def fidelity_of_row_sum(target: str) -> Fidelity:
    builder = ProgramBuilder(target)
    tiles = {"dst": builder.tensor((128, 1)), "data": builder.tensor((128, 128))}
    builder.add("tensor_reduce", **tiles, op="add", axis=1)
    (call,) = resolve(builder.program()).calls
    fidelity = OPERATIONS["tensor_reduce"].fidelity
    return fidelity(call) if callable(fidelity) else fidelity


def test_50_what_the_vendor_simulator_leaves_out_is_here() -> None:
    """Arbitrary Python, capacity, constraints that it does not check, and collectives."""
    impure = check_source(f"{HEAD}    return np.random.rand(4)\n", "kernel")
    assert [finding.rule for finding in impure] == ["impure"]
    alive = "tiles = []\nfor i in range(5):\n    tiles.append(nl.zeros((128, 12288), nl.float32))\n"
    alive += "for tile in tiles:\n    nisa.tensor_copy(tile, tile)\n"
    assert [v.rule for v in check(record_body(alive))] == ["sbuf-spill"]
    unaligned = LOADED + "nisa.tensor_copy(t[33:65, :], t[0:32, :])"
    assert [v.rule for v in check(record_body(unaligned))] == ["partition-start"]

    source = f"""import nki.collectives as ncc
{HEAD}    own = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(own, x)
    ncc.all_reduce([own], [out], ncc.ReplicaGroup([[0, 1]]), nl.add)
    return out
"""
    program = record(source, [X._replace(shape=(2, 3))])
    validate(program)
    first, second = np.ones((2, 3), F32), np.full((2, 3), 4, F32)
    for rank in Machine(program).execute([[first], [second]]):
        np.testing.assert_array_equal(rank.outputs[0], first + second)

"""Two cores, loops that an input bounds, values beyond what is documented: from the file to the author."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.cli.terminal import run

pytestmark = pytest.mark.sandbox

TASK = """
schema_version = 1
id = "{name}"
title = "{title}"
family = "numerics"
entry = "kernel"
dialects = ["nki"]
targets = ["{target}"]
toolchain = ["0.6"]
lnc = {lnc}
statement = "{title}."
inputs = [{inputs}]
outputs = [{{ name = "out", shape = ["R", "F"], dtype = "float32" }}]

[axes]
R = {{ minimum = 2, maximum = 128, multiple_of = 2 }}
F = {{ minimum = 1, maximum = 512 }}

[[cases]]
name = "small"
kind = "check"
axes = {{ R = 8, F = 16 }}
distribution = "{distribution}"

[[cases]]
name = "unseen"
kind = "hidden"
axes = {{ R = 6, F = 5 }}

[[cases]]
name = "full"
kind = "scored"
axes = {{ R = 128, F = 64 }}
seeds = 2

[numerics]
rel_l2 = 1e-6
row_rel_l2 = 1e-6
elementwise = 1e-6
reason = "a few fp32 roundings"

[work]
flops = "R*F"
bytes = "8*R*F"
"""
X = '{ name = "x", shape = ["R", "F"], dtype = "float32" }'
COUNT = '{ name = "n", shape = [1, 1], dtype = "int32" }'

IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"
ALLOCATED = """
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
"""
#: Each core hands its half to the other, which adds its own number and one.
EXCHANGE = """
    core, rows, columns = nl.program_id(0), x.shape[0] // 2, x.shape[1]
    mine, theirs = core * rows, (1 - core) * rows
    shared = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[mine:mine + rows, :])
    nisa.dma_copy(dst=shared[mine:mine + rows, :], src=tile)
    BARRIER
    nisa.dma_copy(dst=tile, src=shared[theirs:theirs + rows, :])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=float(core + 1))
    nisa.dma_copy(dst=out[mine:mine + rows, :], src=tile)
    return out
"""
REPEAT = """
    total = nl.zeros(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    count = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=count, src=n)
    times = nisa.register_alloc()
    nisa.register_load(times, count)
    for i in nl.dynamic_range(BOUND):
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out
"""
LOGARITHM = """
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.activation(dst=tile, op=nl.log, data=tile)
    nisa.dma_copy(dst=out, src=tile)
    return (lambda: out)()
"""
ADVISED, OBSERVED = 13, 11

KERNELS = {
    ("exchange", "good"): ALLOCATED + EXCHANGE.replace("BARRIER", "nisa.core_barrier(shared, (0, 1))"),
    ("exchange", "race"): ALLOCATED + EXCHANGE.replace("BARRIER", "pass"),
    ("repeat", "good"): ALLOCATED + REPEAT.replace("BOUND", "times"),
    ("repeat", "fixed"): ALLOCATED + REPEAT.replace("BOUND", "3"),
    ("logarithm", "good"): ALLOCATED + LOGARITHM,
}


#: Per task: the Python of its reference, what its inputs are drawn as, and keys of its file.
TASKS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "exchange": (
        """
        x, half = inputs["x"], axes["R"] // 2
        return {"out": np.concatenate([x[half:] + 1, x[:half] + 2])}
        """,
        {"x": "rng.standard_normal(shape)"},
        {"lnc": 2},
    ),
    "repeat": (
        """
        return {"out": inputs["x"] * inputs["n"]}
        """,
        {"x": "rng.standard_normal(shape)", "n": "rng.integers(4, 9, (1, 1))"},
        {},
    ),
    "logarithm": (
        """
        return {"out": np.log(inputs["x"])}
        """,
        {"x": "np.exp2(-70.0 if case['distribution'] == 'tiny' else 1.0) * (1 + rng.random(shape))"},
        {"distribution": "tiny", "target": "trn1"},
    ),
}


def write_task(root: Path, name: str) -> Path:
    """Write a task and its submissions; return the folder of the submissions."""
    reference, draws, keys = TASKS[name]
    folder, submissions = root / "tasks" / name, root / name
    folder.mkdir(parents=True)
    submissions.mkdir()
    values = {"lnc": 1, "target": "trn2", "distribution": "normal", "title": name.capitalize(), **keys}
    inputs = ", ".join({"x": X, "n": COUNT}[parameter] for parameter in draws)
    (folder / "task.toml").write_text(TASK.format(name=name, inputs=inputs, **values))
    drawn = ", ".join(f'"{parameter}": {draw}' for parameter, draw in draws.items())
    (folder / "reference.py").write_text(
        "import numpy as np\n\n\ndef make_inputs(rng, axes, case):\n"
        f'    shape = (axes["R"], axes["F"])\n    return {{{drawn}}}\n\n\n'
        f"def reference(inputs, axes):\n{indent(dedent(reference), '    ')}"
    )
    head = f"{IMPORTS}def kernel({', '.join(draws)}):"
    (folder / "starter.py").write_text(f"{head}\n    return x\n")
    for (task, author), body in KERNELS.items():
        if task == name:
            (submissions / f"{author}.py").write_text(head + body.replace("\n\n", "\n"))
    return submissions


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `show` says of each submission, and the database."""
    root = tmp_path_factory.mktemp("machine")
    submissions = [write_task(root, name) for name in TASKS]
    database = root / "grades.duckdb"
    ended = run("grade", *submissions, "--tasks", root / "tasks", "--db", database, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = {"database": database}
    for grading in ended.data["gradings"]:
        origin = Path(grading["origin"])
        said = run("show", grading["grading_id"], "--db", database, "--json")
        found[f"{origin.parent.name}/{origin.stem}"] = said.data | {"id": grading["grading_id"]}
    return found


def findings(shown: dict[str, Any], check: str) -> list[dict[str, Any]]:
    reports = {report["check"]: report for report in shown["inspection"]["reports"]}
    return list(reports[check]["findings"])


@pytest.mark.parametrize(
    ("submission", "verdict"),
    [
        ("exchange/good", "correct"),
        ("exchange/race", "illegal_on_target"),
        ("repeat/good", "correct"),
        ("repeat/fixed", "incorrect"),
        ("logarithm/good", "correct"),
    ],
)
def test_a_submission_gets_its_verdict(submission: str, verdict: str, shown: dict[str, Any]) -> None:
    assert shown[submission]["verdict"] == verdict, shown[submission]["inspection"]["fault"]


def test_what_cannot_be_counted_is_no_fact_and_no_check_guesses_it(shown: dict[str, Any]) -> None:
    inspection = shown["repeat/good"]["inspection"]
    assert not [fact for fact in inspection["facts"] if fact["id"].startswith("profile.")]
    statuses = {report["check"]: report["status"] for report in inspection["reports"]}
    assert {statuses["hbm_traffic"], statuses["dma_size"], statuses["free_size"]} == {"unknown"}
    assert {statuses["correct"], statuses["output_written"], statuses["input_dependence"]} == {"passed"}


def test_values_beyond_the_documented_range_reach_reviewer_and_author(shown: dict[str, Any]) -> None:
    graded, database = shown["logarithm/good"], shown["database"]
    (seen,) = findings(graded, "activation_range")
    assert (seen["severity"], seen["lines"]) == ("error", [OBSERVED])
    assert "2^-64 to 2^64" in seen["message"]
    assert "in case battery: near denormal" in seen["message"]
    assert seen["message"] in run("show", graded["id"], "--db", database).out.replace("\n", " ")
    assert "2^-64 to 2^64" in " ".join(run("feedback", graded["id"], "--db", database).out.split())
    assert findings(shown["repeat/good"], "activation_range") == []


def test_advice_on_the_language_and_on_the_chip_is_shown(shown: dict[str, Any]) -> None:
    graded = shown["logarithm/good"]
    (advice,) = findings(graded, "language_subset")
    assert (advice["severity"], advice["lines"]) == ("warning", [ADVISED])
    assert "lambda" in advice["message"]
    (chip,) = findings(graded, "legal")
    assert "documented for trn2 and trn3" in chip["message"]

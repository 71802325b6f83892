"""The numerics environment: named whole, and of no influence on a verdict."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pipeline.execute.numerics import describe_numerics

ROOT = Path(__file__).parents[2]
#: Grades a right and a wrong product at small shapes, and prints what came out under which kernels.
GRADE = f"""
import json
from pathlib import Path
from pipeline.compare.correctness import run_cases
from pipeline.compare.oracle import Oracle
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.numerics import describe_numerics
from pipeline.execute.sandbox import choose_level
from pipeline.library.tasks import load_task

class Shelf(dict):
    def save_artifact(self, data, media_type):
        name = str(len(self))
        self[name] = data
        return name
    def load_artifact(self, sha256):
        return self[sha256]

task = load_task(Path({str(ROOT)!r}, "data/tasks/matmul_tiled"))
names = ("below one tile", "battery: impulse", "battery: constant rows")
task = task.model_copy(update={{"cases": tuple(case for case in task.cases if case.name in names)}})
shelf, executor = Shelf(), EmulatorExecutor(choose_level(allow_unsandboxed=True), workers=1)
found = {{}}
for name in ("good_simple.py", "bad_bf16_partial_sums.py"):
    code = next(solution.code for solution in task.solutions if solution.name == name)
    build = executor.build(task, code, target="trn2", toolchain="0.6", artifacts=shelf)
    run = run_cases(task, build, executor, Oracle(executor.computers, "5eed" * 8), artifacts=shelf)
    found[name] = [run.verdict] + [case.verdict for case in run.cases]
    bits = [case.outputs_hash for case in run.cases]
    found[name + " bits"] = bits
executor.close()
print(json.dumps([describe_numerics(), found]))
"""


def grade_under(core: str | None) -> tuple[str, dict[str, Any]]:
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    if core is not None:
        variables["OPENBLAS_CORETYPE"] = core
    completed = subprocess.run(
        [sys.executable, "-c", GRADE],
        env={**variables, "OPENBLAS_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    environment, found = json.loads(completed.stdout)
    return environment, found


def test_the_description_names_every_library_with_its_version() -> None:
    description = describe_numerics()
    assert f"numpy {np.__version__}" in description
    assert f"ml_dtypes {ml_dtypes.__version__}" in description
    built: Any = np.show_config(mode="dicts")
    assert built["Build Dependencies"]["blas"]["name"] in description


@pytest.mark.sandbox
def test_blas_kernels_change_bits_at_most_and_never_a_verdict() -> None:
    usual, one = grade_under(None)
    other_kernel, other = grade_under("Nehalem")
    if platform.machine() == "x86_64" and "openblas" in usual:
        assert other_kernel.endswith(" Nehalem")
    for name in ("good_simple.py", "bad_bf16_partial_sums.py"):
        assert one[name] == other[name]
    assert set(one["good_simple.py"]) == {"correct"}
    assert one["bad_bf16_partial_sums.py"][0] == "incorrect"
    if usual == other_kernel:
        assert one == other

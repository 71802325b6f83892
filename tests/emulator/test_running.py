"""`pipeline.emulator.run`: a kernel, from a file or imported under `emulated`, executed on arrays."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.emulator import KernelError, emulated, run, run_ranks

KERNELS = """
from dataclasses import dataclass
import nki
import nki.isa as nisa
import nki.language as nl

@dataclass
class Settings:
    factor: float = 2.0

@nki.jit
def scaled(x, factor=Settings().factor):
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str = "", name: str = "some_kernels.py") -> str:
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
        (tmp_path / name).write_text(KERNELS + text)
        return str(tmp_path / name)

    return write


def test_a_file_with_one_kernel_runs(write) -> None:
    np.testing.assert_array_equal(run(write(), X), 2 * X)
    assert "nki" not in sys.modules


def test_a_kernel_of_a_file_is_named_after_a_colon(write) -> None:
    path = write("\n@nki.jit\ndef other(x):\n    return scaled(x, 5.0)\n")
    np.testing.assert_array_equal(run(f"{path}:other", X), 5 * X)
    np.testing.assert_array_equal(run(Path(path + ":scaled"), X, factor=3.0), 3 * X)


@pytest.mark.parametrize(
    ("suffix", "fragment"), [("", "not exactly one kernel"), (":missing", "no kernel 'missing'")]
)
def test_a_file_without_the_kernel_lists_those_it_holds(write, suffix: str, fragment: str) -> None:
    path = write("\n@nki.jit\ndef other(x):\n    return x\n")
    with pytest.raises(KernelError, match=rf"{fragment}.*it holds scaled, other"):
        run(path + suffix, X)


@pytest.mark.parametrize("place", ["nowhere.py", "nowhere.py:kernel"])
def test_a_missing_file_is_named(place: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file 'nowhere\.py"):
        run(place, X)


def test_a_kernel_imported_under_emulated_runs_on_any_target(write) -> None:
    write(
        "\nGENERATIONS = []\n@nki.jit\ndef told(x):\n    GENERATIONS.append(nisa.get_nc_version())\n"
        "    return scaled(x)\n"
    )
    with emulated():
        kernels = importlib.import_module("some_kernels")
        np.testing.assert_array_equal(kernels.scaled(X), 2 * X)
    assert "nki" not in sys.modules
    for target in ("trn1", "trn2", "trn3"):
        np.testing.assert_array_equal(run(kernels.told, X, target=target), 2 * X)
    assert [str(version.name) for version in kernels.GENERATIONS] == ["gen2", "gen3", "gen4"]


def test_a_plain_function_runs_as_a_kernel() -> None:
    def negated(x):
        import nki.isa as nisa
        import nki.language as nl

        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=-1.0)
        nisa.dma_copy(dst=out, src=t)
        return out

    np.testing.assert_array_equal(run(negated, X), -X)


def test_a_refusal_names_file_and_line(write) -> None:
    with pytest.raises(KernelError) as caught:
        run(write(), np.zeros((256, 4), np.float32))
    assert Path(caught.value.file).name == "some_kernels.py"
    assert caught.value.line == KERNELS[: KERNELS.index("t = nl.nd")].count("\n") + 1
    assert caught.value.kind == "illegal_on_target"


def test_a_legacy_import_is_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "legacy.py"
    path.write_text("import neuronxcc.nki as nki\n")
    with pytest.raises(KernelError, match=r"legacy\.py, line 1: .*import nki, nki.language and nki.isa"):
        run(path, X)


@pytest.mark.parametrize("chosen", [{"target": "trn9"}, {"version": "9.9"}])
def test_an_unknown_target_or_version_is_a_key_error(write, chosen: dict[str, str]) -> None:
    with pytest.raises(KeyError, match=r"unknown .* known: "):
        run(write(), X, **chosen)


def test_importing_the_package_loads_neither_frontend_nor_machine() -> None:
    code = (
        "import pipeline.emulator, sys; print([m for m in sys.modules if m.startswith('pipeline.emulator.')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


RANKS = """
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl

@nki.jit
def total(x):
    mine = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=mine, src=x)
    ncc.all_reduce([mine], [sums], ncc.ReplicaGroup([[0, 1], [2, 3]]), nl.add)
    nisa.dma_copy(dst=out, src=sums)
    return out
"""


def test_ranks_meet_at_a_collective(tmp_path: Path) -> None:
    file = tmp_path / "ranks.py"
    file.write_text(RANKS)
    given = [[np.full((1, 3), 10.0**rank, np.float32)] for rank in range(4)]
    results = run_ranks(file, given)
    assert [result.tolist() for result in results] == [[[11.0] * 3]] * 2 + [[[1100.0] * 3]] * 2
    with pytest.raises(KernelError, match="rank"):
        run_ranks(file, given[:3])
    with pytest.raises(KernelError, match="rank 1"):
        run_ranks(file, [given[0], [np.ones((2, 3), np.float32)]])


def test_edges_for_the_scheduler_change_no_value(tmp_path: Path) -> None:
    file = tmp_path / "scheduled.py"
    file.write_text(KERNELS + "\n\nscheduled = scaled.with_schedule([('b', 'a'), ('c', ['a', 'b'])])\n")
    x = np.ones((4, 4), np.float32)
    assert np.array_equal(run(f"{file}:scheduled", x), run(f"{file}:scaled", x))

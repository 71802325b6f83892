"""``emulate``: scripts and modules run as under python, with nki resolved to the emulator."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.terminal import run

KERNEL = """
import sys
import numpy as np
import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def double(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


result = np.asarray(double(np.full((4, 8), 1.5, dtype=np.float32)))
print(sys.argv[1:], float(result.sum()))
sys.exit(int(sys.argv[-1]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "double_it.py"
    path.write_text(KERNEL)
    return path


def test_a_script_runs_with_its_own_options_and_exit_code(script: Path) -> None:
    ended = run("emulate", script, "--plain", "-m", "7")
    assert (ended.code, ended.err) == (7, "")
    assert ended.out == "['--plain', '-m', '7'] 96.0\n"


def test_a_module_runs_as_python_m_does(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    monkeypatch.delitem(sys.modules, "double_it", raising=False)
    ended = run("emulate", "-m", "double_it", "--flag", "0")
    assert (ended.code, ended.out) == (0, "['--flag', '0'] 96.0\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a script, or a module with -m"),
        (("nowhere.py",), "there is no script 'nowhere.py'"),
        (("--target", "trn9", __file__), "'trn9' is none of"),
    ],
)
def test_nothing_to_run_is_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ended = run("emulate", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err

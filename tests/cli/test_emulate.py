"""``emulate``: scripts and modules run as under python, with nki resolved to the emulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import run

EMULATE = (sys.executable, "-m", "pipeline.cli.main", "emulate")

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


TESTS = """
import numpy as np
import pytest
from its_kernels import double


@pytest.mark.parametrize("size", [1, 2, 3])
def test_doubles(size):
    x = np.ones((size, 4), np.float32)
    np.testing.assert_array_equal(double(x), 2 * x)


def test_refused():
    double(np.ones((129, 4), np.float32))
"""


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")])
def test_a_test_suite_runs_also_in_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "its_kernels.py").write_text(KERNEL.partition("\nresult = ")[0])
    (tmp_path / "conftest.py").write_text("import nki\n")
    (tmp_path / "test_its_kernels.py").write_text(TESTS)
    ended = subprocess.run(
        [*EMULATE, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--rootdir=.", *workers],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "1 failed, 3 passed" in ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("E ")]
    assert "its_kernels.py, line 11: " in line
    assert "129 exceeds architecture limitation of 128" in line
    assert "pipeline/emulator" not in ended.stdout


@pytest.mark.parametrize(
    ("variable", "value", "fragment"),
    [
        ("NEURON_PLATFORM_TARGET_OVERRIDE", "trn9", "use one of trn1, inf2, gen2"),
        ("NKI_PRECISE_FP", "2", "use 1 (round at every write) or 0"),
    ],
)
def test_an_environment_that_means_nothing_is_wrong_usage(
    script: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, fragment: str
) -> None:
    monkeypatch.setenv(variable, value)
    ended = run("emulate", script, "0")
    assert (ended.code, ended.out) == (2, "")
    assert f"{variable}={value}" in ended.err
    assert fragment in ended.err


def test_float32_is_kept_where_the_environment_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "thirds.py"
    path.write_text(
        KERNEL.partition("\nresult = ")[0].replace("operand0=2.0", "operand0=1 / 3")
        + "import ml_dtypes\nprint(double(np.ones((1, 1), ml_dtypes.bfloat16)).astype(np.float64)[0, 0])\n"
    )
    # 1/3 in bfloat16 and in float32.
    assert run("emulate", path).out == "0.333984375\n"
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    assert run("emulate", path).out == "0.3333333432674408\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a script, or a module with -m"),
        (("nowhere.py",), "there is no script 'nowhere.py'"),
        (("--target", "trn9", __file__), "'trn9' is none of"),
        (("--toolchain", "9.9", __file__), "'9.9' is none of"),
    ],
)
def test_nothing_to_run_is_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ended = run("emulate", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err

"""`run_script`: any script runs as under Python, with `nki` resolved to the emulator."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from pipeline.emulator.frontend import run_script

KERNEL = """
import sys
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def double(x, factor=2.0):
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "script.py") -> str:
        path = tmp_path / name
        path.write_text(KERNEL + dedent(text))
        return str(path)

    return write


@pytest.mark.parametrize(
    "call", ["double(x)", "nki.simulate(double)(x)", "double[1](x)", "nki.simulate(double[1])(x=x)"]
)
def test_a_kernel_called_with_arrays_returns_arrays(write, call: str) -> None:
    path = write(f"""
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        result = {call}
        assert type(result) is np.ndarray and result.dtype == np.float32
        np.testing.assert_array_equal(result, 2 * x)
        np.testing.assert_array_equal(x, np.arange(12).reshape(3, 4))
    """)
    assert run_script(path) == 0


def test_scalars_are_passed_and_wide_arrays_arrive_narrowed(write) -> None:
    path = write("""
        x = np.arange(12.0).reshape(3, 4)
        result = double(x, factor=3)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, 3 * x)
    """)
    assert run_script(path) == 0


def test_the_script_sees_its_arguments_and_its_name(write) -> None:
    path = write("assert sys.argv[1:] == ['--size', '4']\nassert __name__ == '__main__'\nsys.exit(7)")
    assert run_script(path, ["--size", "4"]) == 7


@pytest.mark.parametrize(
    ("statement", "code"), [("pass", 0), ("sys.exit()", 0), ("sys.exit('no')", 1), ("1 / 0", 1)]
)
def test_the_exit_code_is_the_scripts(
    write, capsys: pytest.CaptureFixture[str], statement: str, code: int
) -> None:
    assert run_script(write(statement)) == code
    if statement == "1 / 0":
        printed = capsys.readouterr().err
        assert "ZeroDivisionError" in printed
        assert "frontend" not in printed


def test_a_kernel_error_is_one_line_with_file_and_line(write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("double(np.zeros((256, 4), np.float32))")
    assert run_script(path) == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "script.py: line 10: illegal_on_target" in printed
    assert "partition dimension 256" in printed


def test_a_kernel_in_another_file_is_named_by_that_file(
    write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("", "its_kernels.py")
    path = tmp_path / "its_script.py"
    path.write_text(
        "import numpy as np\nfrom its_kernels import double\ndouble(np.zeros((256, 4), np.float32))\n"
    )
    try:
        assert run_script(str(path)) == 1
    finally:
        sys.modules.pop("its_kernels", None)
    (line,) = capsys.readouterr().err.splitlines()
    assert "its_kernels.py: line 10: illegal_on_target" in line


def test_an_error_of_their_own_shows_their_stack_and_none_of_ours(
    write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("""
        @nki.jit
        def kernel(x):
            return 1 / 0

        kernel(np.zeros((4, 4), np.float32))
    """)
    assert run_script(path) == 1
    printed = capsys.readouterr().err
    assert "line 19, in kernel" in printed
    assert "ZeroDivisionError: division by zero" in printed
    assert "pipeline/emulator" not in printed


def test_what_the_chip_refuses_is_refused(write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("""
        @nki.jit
        def kernel(x):
            p = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.psum)
            nisa.dma_copy(dst=p, src=x)
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=p)
            return out

        kernel(np.zeros((4, 4), np.float32))
    """)
    assert run_script(path) == 1
    printed = capsys.readouterr().err
    assert "line 20: illegal_on_target" in printed
    assert "PSUM" in printed


def test_the_target_is_the_one_asked_for(write) -> None:
    path = write("assert nisa.get_nc_version() == nisa.nc_version.gen4")
    assert run_script(path, target="trn3") == 0
    assert run_script(path, target="trn2") == 1


@pytest.mark.parametrize(
    ("value", "generation"),
    [("trn1", 2), ("inf2", 2), ("gen2", 2), ("trn2", 3), ("gen3", 3), ("TRN3", 4), ("gen4", 4), ("", 3)],
)
def test_the_environment_chooses_the_target(
    write, monkeypatch: pytest.MonkeyPatch, value: str, generation: int
) -> None:
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", value)
    path = write(f"assert nisa.get_nc_version() == nisa.nc_version.gen{generation}")
    assert run_script(path) == 0


def test_the_target_asked_for_wins_over_the_environment(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    path = write("""
        import os
        assert nisa.get_nc_version() == nisa.nc_version.gen4
        assert os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] == "trn3"
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn1"
        assert nisa.get_nc_version() == nisa.nc_version.gen4
    """)
    assert run_script(path, target="trn3") == 0
    assert os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] == "trn1"


def test_a_script_may_choose_its_target_after_importing_nki(write) -> None:
    path = write("""
        import os
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "gen4"
        assert nisa.get_nc_version() == nisa.nc_version.gen4
    """)
    assert run_script(path) == 0
    assert "NEURON_PLATFORM_TARGET_OVERRIDE" not in os.environ


def test_a_script_that_asks_for_an_unknown_chip_is_told_which_there_are(
    write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("""
        import os
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn9"
        double(np.ones((1, 1), np.float32))
    """)
    assert run_script(path) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "trn9" in line
    assert "gen4" in line


def test_a_script_can_see_that_it_is_simulated(write) -> None:
    assert run_script(write("import os\nassert os.environ['NKI_SIMULATOR'] == '1'")) == 0
    assert "NKI_SIMULATOR" not in os.environ


def test_a_module_runs_as_with_python_m(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        "assert sys.argv[1:] == ['3']\nassert double(np.ones((1, 1), np.float32))[0, 0] == 2", "a_module.py"
    )
    monkeypatch.chdir(tmp_path)
    assert run_script("a_module", ["3"], module=True) == 0


def test_the_interpreter_is_as_before_afterwards(write) -> None:
    argv, path = list(sys.argv), list(sys.path)
    run_script(write("sys.path.append('elsewhere')"), ["x"])
    assert (sys.argv, sys.path) == (argv, path)
    assert "nki" not in sys.modules


@pytest.mark.parametrize(
    ("arguments", "fragment"), [("", "missing a required argument"), ("x, 1, 2", "too many")]
)
def test_a_call_that_does_not_fit_the_signature_says_so(
    write, capsys: pytest.CaptureFixture[str], arguments: str, fragment: str
) -> None:
    assert run_script(write(f"x = np.zeros((2, 2), np.float32)\ndouble({arguments})")) == 1
    printed = capsys.readouterr().err
    assert "double(x, factor)" in printed
    assert fragment in printed


def test_a_list_is_no_kernel_argument(write, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(write("double(np.zeros((2, 2), np.float32), [1.0])")) == 1
    assert "argument factor is a list" in capsys.readouterr().err


def test_a_script_of_the_legacy_dialect_is_told_what_to_import_instead(tmp_path: Path, capsys) -> None:
    path = tmp_path / "legacy.py"
    path.write_text("import neuronxcc.nki as nki\n")
    assert run_script(str(path)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "line 1: compile_error" in line
    assert "import nki, nki.language and nki.isa" in line

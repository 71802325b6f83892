"""The built wheel works outside the checkout: prompts, rubrics and tasks travel with it."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pipeline.library.roots import tasks_root
from tests.e2e.commands import ROOT, environment


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The console script of the wheel, installed in an environment without the checkout.

    Dependencies are borrowed by path from the running environment: a path line in a ``.pth`` file brings its
    packages, and not the editable installation beside them.
    """
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=240,
    )
    (wheel,) = folder.glob("*.whl")
    home = folder / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", "--prefix", str(home)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(wheel)], check=True, timeout=240)
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    script = home / "bin" / "nki-grader"
    lines = script.read_text().splitlines()
    script.write_text("\n".join([f"#!{home / 'bin' / 'python'}", *lines[1:]]) + "\n")
    return script


@pytest.mark.slow
def test_the_wheel_grades_with_what_it_brings(installed: Path, tmp_path: Path) -> None:
    code = tmp_path / "kernel.py"
    code.write_text((tasks_root() / "matmul_tiled" / "solutions" / "good_simple.py").read_text())
    completed = subprocess.run(
        [str(installed), "grade", str(code), "--task", "matmul_tiled", "--db", str(tmp_path / "g.duckdb"),
         "--report", str(tmp_path / "report.html")],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert "correct" in completed.stdout
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_wheel_is_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = subprocess.run(
        [str(installed.with_name("python")), "-c", "import pipeline; print(pipeline.__file__)"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(where).is_relative_to(installed.parents[1])

"""Run real, unmodified kernels from checkouts on the emulator and compare with their references.

    python -m evals.kernels.run --sdk aws-neuron-sdk --samples nki-samples --library nki-library

Prints a table and exits with 0 if every case ends with `ok` or with what `known.py` says of it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# Before NumPy is loaded: many small products on many threads are slower than on one, far slower under load.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from evals.kernels import library, samples, sdk  # noqa: E402
from evals.kernels.case import Case  # noqa: E402
from evals.kernels.known import KNOWN  # noqa: E402
from pipeline.cli.main import main as command_line  # noqa: E402

__all__ = ["Outcome", "all_cases", "main", "run_case"]

#: One kernel at a small shape needs a few; a machine that others load too needs several times as many.
_SECONDS: Final = 240.0
_COLUMNS: Final = "{:<58} {:>4} {:<5} {:<24} {:<16} {:>9} {:>7}"


@dataclass(frozen=True)
class Outcome:
    """What became of one case on one chip.

    Attributes:
        case: Its name.
        version: NKI version.
        target: The chip.
        shapes: Of the outputs.
        verdict: ``ok``, ``mismatch``, ``refused``, ``unsupported``, ``upstream defect``, ``error`` or
            ``timeout``.
        error: Largest difference as a part of the reference's largest magnitude; None without outputs.
        seconds: What the case took, imports of upstream included, the start of Python not.
        message: Why there are no outputs.
    """

    case: str
    version: str
    target: str
    shapes: list[list[int]]
    verdict: str
    error: float | None
    seconds: float
    message: str

    @property
    def expected(self) -> bool:
        """Whether the case ended as it should."""
        return self.verdict == _known(self.case)[0]


def all_cases() -> tuple[Case, ...]:
    """Return the cases of all repositories."""
    return (*sdk.CASES, *samples.CASES, *library.CASES)


def run_case(case: Case, target: str, checkout: Path) -> Outcome:
    """Run a case in a child process; what it does cannot reach the next one."""
    with tempfile.TemporaryDirectory() as folder:
        result, output = Path(folder) / "result.json", Path(folder) / "output"
        arguments = (
            *("emulate", "--target", target, "--toolchain", case.version),
            *("-m", "evals.kernels.child", case.name, str(checkout), str(result)),
        )
        started = time.perf_counter()
        child = multiprocessing.get_context("fork").Process(target=_emulate, args=(arguments, target, output))
        child.start()
        child.join(_SECONDS)
        if child.is_alive():
            child.kill()
            child.join()
            found = {"verdict": "timeout", "message": f"not done after {_SECONDS:.0f} s"}
        elif result.exists():
            found = json.loads(result.read_text())
        else:
            lines = (output.read_text().strip() or f"exit code {child.exitcode}").splitlines()
            said = next((line for line in reversed(lines) if "Error: " in line), lines[-1])
            found = {"verdict": "error", "message": said}
        found = {"error": None, "shapes": [], "seconds": time.perf_counter() - started, **found}
    if _known(case.name)[0] == "upstream defect" and found["verdict"] in ("error", "refused"):
        found["verdict"] = "upstream defect"
    return Outcome(case=case.name, version=case.version, target=target, **found)


def _emulate(arguments: Sequence[str], target: str, output: Path) -> None:
    """Be ``nki-grader emulate`` in a process that has PyTorch loaded; what is printed goes to a file."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ["EVAL_TARGET"] = target
    command_line(arguments)


def _known(name: str) -> tuple[str, str]:
    return next((known for pattern, known in KNOWN.items() if fnmatch(name, pattern)), ("ok", ""))


def _selected(options: argparse.Namespace) -> Iterator[tuple[Case, str, Path]]:
    for case in all_cases():
        checkout = getattr(options, case.name.partition("/")[0])
        if checkout is None or (options.only and not any(text in case.name for text in options.only)):
            continue
        for target in case.targets:
            if options.target in (None, target):
                yield case, target, checkout.resolve()


def _row(outcome: Outcome) -> str:
    shapes = " ".join("x".join(map(str, shape)) or "-" for shape in outcome.shapes)
    error = "" if outcome.error is None else f"{outcome.error:.1e}"
    verdict = outcome.verdict if outcome.expected else f"{outcome.verdict} !"
    cells = (
        outcome.case,
        outcome.version,
        outcome.target,
        shapes[:24],
        verdict,
        error,
        f"{outcome.seconds:.2f}",
    )
    return _COLUMNS.format(*cells) + (f"\n    {outcome.message}" if outcome.message else "")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evals.kernels.run", description=__doc__.partition("\n")[0]
    )
    for name, repository in (
        ("sdk", "aws-neuron-sdk"),
        ("samples", "nki-samples"),
        ("library", "nki-library"),
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help=f"checkout of {repository}")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument("--target", choices=("trn1", "trn2", "trn3"), help="this chip only")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the outcomes there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases and return the exit code."""
    options = _arguments(arguments)
    has_torch = find_spec("torch") is not None
    if has_torch:
        import torch

        torch.set_num_threads(1)
    outcomes: list[Outcome] = []
    skipped: list[str] = []
    print(_COLUMNS.format("case", "NKI", "chip", "outputs", "verdict", "error", "seconds"))
    for case, target, checkout in _selected(options):
        if case.torch and not has_torch:
            skipped.append(f"{case.name} {target}")
            continue
        outcomes.append(run_case(case, target, checkout))
        print(_row(outcomes[-1]), flush=True)
    counts = Counter(outcome.verdict for outcome in outcomes)
    print(
        f"\n{len(outcomes)} runs: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    )
    if skipped:
        print(f"skipped, as PyTorch is not installed: {len(skipped)}: {', '.join(skipped)}")
    for outcome in outcomes:
        if outcome.expected and outcome.verdict != "ok":
            print(f"known: {outcome.case} {outcome.target}: {outcome.verdict}: {_known(outcome.case)[1]}")
    unexpected = [outcome for outcome in outcomes if not outcome.expected]
    for outcome in unexpected:
        print(f"unexpected: {outcome.case} {outcome.target}: {outcome.verdict}")
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    return 1 if unexpected or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())

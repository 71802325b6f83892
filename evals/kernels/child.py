"""Run one case on one chip, in a process of its own, and leave what came of it in a file.

nki-grader emulate --target trn2 --toolchain 0.6 -m evals.kernels.child CASE CHECKOUT RESULT
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

from evals.kernels.case import Comparison

__all__ = ["main"]

_OURS: Final = str(Path(__file__).resolve().parents[2] / "pipeline")
_HERE: Final = str(Path(__file__).parent)
#: What the verdicts of the emulator are called in the table.
_VERDICTS: Final = {
    "unsupported": "unsupported",
    "compile_error": "refused",
    "illegal_on_target": "refused",
    "too_large": "refused",
}


def main() -> None:
    """Run the case that the command line names and write its outcome as JSON."""
    name, checkout, result = sys.argv[1:]
    Path(result).write_text(json.dumps(_outcome(name, Path(checkout))))


def _outcome(name: str, checkout: Path) -> dict[str, Any]:
    from evals.kernels.run import all_cases

    case = next(case for case in all_cases() if case.name == name)
    started = time.perf_counter()
    try:
        comparisons = case.compare(checkout, os.environ["EVAL_TARGET"])
    except BaseException as error:
        return {"seconds": time.perf_counter() - started, **_explained(error, checkout)}
    return {"seconds": time.perf_counter() - started, **_judged(comparisons)}


def _judged(comparisons: list[Comparison]) -> dict[str, Any]:
    agrees = bool(comparisons) and all(comparison.agrees for comparison in comparisons)
    return {
        "verdict": "ok" if agrees else "mismatch",
        "error": max((comparison.error for comparison in comparisons), default=float("inf")),
        "shapes": [list(comparison.shape) for comparison in comparisons],
        "message": "",
    }


def _explained(error: BaseException, checkout: Path) -> dict[str, Any]:
    """Return the verdict that an exception amounts to, and where in the checkout it arose."""
    from pipeline.emulator.frontend import KernelError
    from pipeline.emulator.frontend.imports import explain_import
    from pipeline.emulator.frontend.session import active_session

    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename.startswith(str(checkout))]
    where = f"{Path(theirs[-1].filename).name}:{theirs[-1].lineno}: " if theirs else ""
    if isinstance(error, ImportError):
        error = explain_import(error, active_session()) or error
    if isinstance(error, KernelError):
        verdict, text = _VERDICTS.get(error.kind.value, "error"), f"{error.kind.value}: {error.message}"
        if error.file and error.line:
            where = f"{Path(error.file).name}:{error.line}: "
    else:
        verdict, text = "error", f"{type(error).__name__}: {error}"
        ours = [frame for frame in frames if frame.filename.startswith((_OURS, _HERE))]
        if ours and frames[-1] == ours[-1]:
            where += f"[{Path(ours[-1].filename).name}:{ours[-1].lineno}] "
    return {"verdict": verdict, "error": None, "shapes": [], "message": where + " ".join(text.split())[:300]}


if __name__ == "__main__":
    main()

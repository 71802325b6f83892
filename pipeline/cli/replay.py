"""``nki-grader replay``: repeat a recorded run bit for bit, in other processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, plain_option
from pipeline.cli.render import Cell, Screen, print_json, style_of

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compare.replay import ReplayedCase
    from pipeline.execute.references import Draw
    from pipeline.types import CaseResult, RunResult, Task

__all__ = ["command"]


@click.command("replay", short_help="Repeat a recorded run and compare it bit for bit.")
@click.argument("identifier", metavar="ID")
@database_option
@click.option(
    "--case", "names", multiple=True, metavar="NAME", help="Repeat only this case; may be repeated."
)
@click.option(
    "--save",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write inputs, outputs and expected values of every case there, as .npy files.",
)
@click.option(
    "--allow-unsandboxed",
    is_flag=True,
    help="Replay even where only plain limits are possible: the task's reference runs then unconfined.",
)
@json_option
@plain_option
def command(
    identifier: str,
    database: Path,
    names: tuple[str, ...],
    folder: Path | None,
    allow_unsandboxed: bool,
    as_json: bool,
    plain: bool,
) -> int:
    """Repeat the run of the grading, submission or review called ID, or whose id alone begins with ID.

    Inputs are drawn again from the recorded seed, and the recorded programs run on them in new processes;
    nothing of the submission itself runs. Exits with 1 unless outputs, verdict and message of every case are
    as recorded. In .npy files, values of types that NumPy lacks stand as float32, which holds them exactly.

    \b
    Example:
      nki-grader replay g-4f1c --case "battery: impulse" --save impulse/
    """
    from pipeline.cli.lookup import echo_notices, find_summary, open_existing
    from pipeline.compare.replay import replay_run
    from pipeline.execute.emulator import EmulatorExecutor
    from pipeline.execute.sandbox import choose_level
    from pipeline.graph.reruns import compare_surroundings, find_recorded
    from pipeline.report.collect import Collector

    with open_existing(database) as store:
        echo_notices(store)
        detail = Collector(store).load_detail(find_summary(store, identifier))
        task, build, recorded = find_recorded(detail)
        _refuse_unknown(names, recorded, detail.summary.grading_id)
        executor = EmulatorExecutor(choose_level(allow_unsandboxed=allow_unsandboxed), workers=1)
        try:
            for note in compare_surroundings(detail, executor.id):
                click.echo(f"note: {note}", err=True)
            cases = replay_run(
                task,
                build,
                recorded,
                executor,
                artifacts=store,
                names=names,
                on_case=_saver(folder, task) if folder is not None else None,
            )
        finally:
            executor.close()
    if as_json:
        print_json([_as_data(case) for case in cases])
    else:
        _print_cases(Screen(plain), cases, folder)
    return ExitCode.FAULT if any(case.differences for case in cases) else ExitCode.OK


def _refuse_unknown(names: Sequence[str], recorded: RunResult, grading: str) -> None:
    from pipeline.cli.lookup import not_found

    known = dict.fromkeys(case.case for case in recorded.cases)
    for name in names:
        if name not in known:
            raise not_found(f"{grading} ran no case called {name!r}", f"it ran: {', '.join(known)}")


def _saver(folder: Path, task: Task) -> Callable[[CaseResult, Draw, Sequence[np.ndarray]], None]:
    """Return what writes the arrays of one case below `folder`."""

    def save(result: CaseResult, draw: Draw, outputs: Sequence[np.ndarray]) -> None:
        place = folder / re.sub(r"\W+", "_", result.case).strip("_") / f"draw_{result.seed}"
        arrays = {f"input_{spec.name}": values for spec, values in zip(task.inputs, draw.inputs, strict=True)}
        for prefix, given in (("output", outputs), ("expected", draw.expected)):
            for spec, values in zip(task.outputs, given, strict=False):
                arrays[f"{prefix}_{spec.name}"] = values
        _write(place, arrays)

    return save


def _write(place: Path, arrays: dict[str, np.ndarray]) -> None:
    import numpy as np

    from pipeline.errors import GraderError
    from pipeline.types import Fault, Owner

    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, values in arrays.items():
            known = values.dtype.isbuiltin == 1
            np.save(place / f"{name}.npy", values if known else values.astype(np.float32))
    except OSError as error:
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="cannot_save",
                message=f"{place} cannot be written: {error.strerror or type(error).__name__}",
                remedy="give a folder that can with --save",
            )
        ) from None


def _print_cases(screen: Screen, cases: list[ReplayedCase], folder: Path | None) -> None:
    screen.table(
        ["", "case", "draw", "verdict", "outputs", "replayed"],
        [
            [
                Cell("✗", "bold red") if case.differences else Cell("✓", "green"),
                case.recorded.case,
                str(case.recorded.seed),
                style_of(case.recorded.verdict.value),
                case.recorded.outputs_hash[:12] or "none",
                f"differs: {', '.join(case.differences)}" if case.differences else "equal",
            ]
            for case in cases
        ],
    )
    for case in cases:
        if case.differences and case.replayed is not None:
            screen.line(f"{case.recorded.case}, draw {case.recorded.seed}", style="red")
            screen.line(f"  recorded: {case.recorded.verdict}: {case.recorded.message}")
            screen.line(f"  replayed: {case.replayed.verdict}: {case.replayed.message}")
    equal = sum(not case.differences for case in cases)
    bits = sum(not {"outputs", "not reached"} & set(case.differences) for case in cases)
    screen.line(
        f"{bits} of {len(cases)} case runs have the recorded outputs bit for bit, "
        f"{equal} also verdict and message",
        style="green" if equal == len(cases) else "red",
    )
    if folder is not None:
        screen.line(f"Arrays: {folder}")


def _as_data(case: ReplayedCase) -> dict[str, Any]:
    return {
        "case": case.recorded.case,
        "draw": case.recorded.seed,
        "equal": not case.differences,
        "differences": list(case.differences),
        "recorded": case.recorded.model_dump(mode="json"),
        "replayed": case.replayed.model_dump(mode="json") if case.replayed else None,
    }

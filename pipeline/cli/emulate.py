"""``nki-grader emulate``: run any script or module on the emulator."""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["command"]


@click.command(
    "emulate",
    short_help="Run a script, a module or a test suite with nki resolved to the emulator.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "-m", "module", metavar="MODULE", help="Run a module, as python -m does; what follows is its arguments."
)
@click.option(
    "--target",
    metavar="CHIP",
    help="Chip to emulate.  [default: NEURON_PLATFORM_TARGET_OVERRIDE, else trn2]",
)
@click.option("--toolchain", metavar="VERSION", help="NKI version to emulate.  [default: the newest known]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGS]...")
def command(module: str | None, target: str | None, toolchain: str | None, arguments: tuple[str, ...]) -> int:
    """Run SCRIPT, or a module with -m, as python would, with nki resolved to the emulator.

    The code runs in this process and is trusted: it can do what you can do. The exit code is the script's.
    A kernel that is refused is one line: file, line, what, why and the remedy.

    \b
    Environment variables, as for AWS's simulator:
      NEURON_PLATFORM_TARGET_OVERRIDE   trn1, inf2 or gen2; trn2 or gen3; trn3 or gen4
      NKI_PRECISE_FP=0                  keep narrow floats as float32, to tell rounding from mistakes

    \b
    Examples:
      nki-grader emulate my_kernel.py
      nki-grader emulate -m pytest tests/test_kernel.py
    """
    if module is None and not arguments:
        raise click.UsageError("give a script, or a module with -m")
    if module is None and not Path(arguments[0]).is_file():
        raise click.UsageError(f"there is no script {arguments[0]!r}")
    from pipeline.emulator.frontend.environment import keeps_float32, target_of
    from pipeline.emulator.frontend.script import run_script
    from pipeline.emulator.targets import TARGETS
    from pipeline.emulator.toolchain import VERSIONS

    if target is not None and target not in TARGETS:
        raise click.BadParameter(f"{target!r} is none of {', '.join(TARGETS)}", param_hint="--target")
    if toolchain is not None and toolchain not in VERSIONS:
        raise click.BadParameter(f"{toolchain!r} is none of {', '.join(VERSIONS)}", param_hint="--toolchain")
    try:
        target_of(os.environ), keeps_float32(os.environ)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    name, rest = (arguments[0], arguments[1:]) if module is None else (module, arguments)
    chosen = {} if toolchain is None else {"version": toolchain}
    return run_script(name, rest, module=module is not None, target=target, **chosen)

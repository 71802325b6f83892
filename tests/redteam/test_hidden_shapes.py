"""What a submission says of a hidden shape reaches nobody. The tiny task hides 5 x 7 and lists the others."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.types import BuildResult, Verdict
from tests.redteam.conftest import GOOD

FIRST_LINE = "    out = "


def inside(statement: str) -> str:
    """Return the good kernel with `statement` before its first line."""
    return GOOD.replace(FIRST_LINE, f"    {statement}\n{FIRST_LINE}", 1)


def said(built: BuildResult) -> str:
    return f"{built.fault} {built.log} {[finding.message for finding in built.findings]}"


def test_printed_shapes_are_kept_of_listed_shapes_only(build: Callable[[str], BuildResult]) -> None:
    built = build(inside("print(x.shape)"))
    assert built.verdict is None
    assert "(128, 64)" in built.log
    assert "(5, 7)" not in built.log


def test_an_error_on_a_hidden_shape_is_told_without_its_text(build: Callable[[str], BuildResult]) -> None:
    built = build(inside("assert x.shape[0] % 8 == 0, f'rows {x.shape}'"))
    assert built.verdict is Verdict.RUNTIME_ERROR
    assert built.fault is not None
    assert built.fault.line is not None
    assert "(5, 7)" not in said(built)
    assert built.programs == ()


def test_a_job_for_listed_shapes_does_not_know_the_hidden_ones(build: Callable[[str], BuildResult]) -> None:
    # The language is not held against what a string spells, so that this runs at all.
    search = (
        "import gc\n"
        'exec("""\n'
        "def found():\n"
        "    shapes = [o.shape for o in gc.get_objects() if type(o).__name__ == 'Tensor']\n"
        "    frames, frame = [], __import__('sys')._getframe()\n"
        "    while frame:\n"
        "        frames.append(repr(frame.f_locals.get('request')))\n"
        "        frame = frame.f_back\n"
        "    raise ValueError('known: ' + repr(sorted(set(shapes))) + ''.join(frames)[:300])\n"
        '""")\n'
    )
    built = build(search + inside("found()"))
    assert built.verdict is Verdict.RUNTIME_ERROR
    assert "(128, 64)" in said(built)
    assert "(5, 7)" not in said(built)


def test_a_warning_about_a_hidden_shape_is_not_listed(build: Callable[[str], BuildResult]) -> None:
    spilling = (
        "hoard = []\n"
        "        for _ in range(3):\n"
        "            hoard.append(nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.sbuf))\n"
        "        for tile in hoard: nisa.memset(dst=tile, value=0.0)\n"
        "        for tile in hoard: nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)"
    )
    everywhere = build(inside(f"if True:\n        {spilling}"))
    hidden = build(inside(f"if x.shape[0] == 5:\n        {spilling}"))
    assert any("SBUF" in finding.message for finding in everywhere.findings)
    assert hidden.verdict is None
    assert hidden.findings == ()

"""A statement says only what it cites: numbers with units, names, lines, and where a number comes from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evals.citations.cases import load_cases
from evals.citations.run import request_for
from pipeline.judge.statements import Part, check_statement, collect_evidence
from pipeline.types import CheckReport, CheckStatus, Citation, Fact, Finding, Provenance, Severity

CODE = """\
P = 128  # 8 KiB per partition
def kernel(x, gain):
    tile = nl.ndarray((P, 2048), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0 : P, :])
    total = nisa.activation_reduce(dst=tile, op=nl.square, bias=1e-6)
    return total
"""
FACTS = (
    Fact(id="run.cases", value=9, provenance=Provenance.EMULATED),
    Fact(id="run.passed", value=5, provenance=Provenance.EMULATED),
    Fact(id="run.error", value=0.1671, unit="ratio", provenance=Provenance.EMULATED),
    Fact(id="profile.read", value=20480, unit="bytes", provenance=Provenance.COUNTED),
    Fact(id="profile.bound", value=1.738e-05, unit="s", provenance=Provenance.MODELLED),
    Fact(id="profile.time", value=2.5e-05, unit="s", provenance=Provenance.MEASURED),
    Fact(id="build.dtype", value="bfloat16, float32", provenance=Provenance.COUNTED),
)
MESSAGE = "Case one tile (R = 77, C = 512): got 4, expected 1.85; 62239 of 65536 elements"
REPORT = CheckReport(
    check="correct",
    status=CheckStatus.FAILED,
    reason="4 of 9 case runs fail",
    findings=(Finding(check="correct", severity=Severity.ERROR, message=MESSAGE),),
)


def make_evidence() -> object:
    request = request_for(next(case for case in load_cases() if case.name == "rmsnorm-good_fused"))
    submission = request.submission.model_copy(update={"code": CODE})
    shown = [line.split("  #")[0] for line in CODE.split("\n")]
    return collect_evidence(replace(request, submission=submission, facts=FACTS, reports=(REPORT,)), shown)


EVIDENCE = make_evidence()


def line(number: int, last: int | None = None) -> Citation:
    text = "\n".join(CODE.split("\n")[number - 1 : last or number])
    return Citation(kind="lines", first_line=number, last_line=last or number, quote=text)


def fact(id: str) -> Citation:
    return Citation(kind="fact", fact=id, value=next(f.digits for f in FACTS if f.id == id))


def problems(text: str, *citations: Citation, part: Part = "works") -> list[str]:
    return check_statement(part, text, citations, EVIDENCE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "citations"),
    [
        ("5 of 9 cases pass.", (fact("run.passed"), fact("run.cases"))),
        ("Nine cases in all, and twice that would not hurt.", (fact("run.cases"),)),
        ("The emulated error is 0.1671, some 17 %.", (fact("run.error"),)),
        ("It reads 20 KiB.", (fact("profile.read"),)),
        ("It reads 20,480 bytes and keeps to 128 partitions.", (fact("profile.read"),)),
        ("The modelled bound is 17.4 µs.", (fact("profile.bound"),)),
        ("The bound of 1.74e-5 s is an estimate.", (fact("profile.bound"),)),
        ("Measured on the device it takes 25 µs.", (fact("profile.time"),)),
        ("The bound is 17.4 us as modelled, and nobody measured it.", (fact("profile.bound"),)),
        ("`tile` has 2048 columns.", (line(3),)),
        ("`nl.ndarray((P, 2048), dtype=nl.float32, buffer=nl.sbuf)` is wide.", (line(3),)),
        ("`x[0:P, :]` takes whole rows.", (line(4),)),
        ("`dma_copy` and `nisa.dma_copy` are one.", (line(4),)),
        ("`nisa` moves it.", (line(4),)),
        ("The comment promises 8 KiB.", (line(1),)),
        ("The epsilon of 1e-6 in line 5 is added first.", (line(5),)),
        ("Lines 3 to 5 do it; lines 3, 4 and 5.", (line(3, 5),)),
        ("Lines 3–5 and line 6.", (line(3, 5), line(6))),
        ("`bfloat16` is among the dtypes.", (fact("build.dtype"),)),
        ("`run.error` says so.", (fact("run.error"),)),
        ("That is level 3, on the way to level 4.", (line(3),)),
        ("One matmul writes one PSUM bank of 2 KiB, 512 float32.", (line(3),)),
        ("SBUF has 224 KiB per partition on trn2, 28 MiB in all.", (line(3),)),
        ("Vector work runs at 0.96 GHz; HBM gives 362 GB/s.", (line(3),)),
        ("A float32 has 4 bytes, 32 bits.", (line(3),)),
        ("It does two things: (1) it loads, (2) it reduces.", (line(4, 5),)),
        ("1. It loads. 2. It reduces. 3) It stores.", (line(4, 5),)),
        ("That is step 2 of the plan.", (line(4),)),
        ("NKI 0.6 has it in 2-D as in 3D.", (line(4),)),
        ("What follows repeats a check: 62239 of 65536 elements.", (line(4),)),
        (f"{MESSAGE}.", (line(4),)),
        ("case one tile (R = 77, C = 512) fails.", (line(4),)),
    ],
)
def test_a_statement_holds_that_says_what_it_cites(text: str, citations: tuple[Citation, ...]) -> None:
    assert problems(text, *citations) == []


@pytest.mark.parametrize(
    ("text", "citations", "said"),
    [
        ("It is good.", (), "cites nothing"),
        ("6 of 9 cases pass.", (fact("run.passed"), fact("run.cases")), "'6'"),
        ("5 of 9 cases pass.", (fact("run.passed"),), "'9'"),
        ("The emulated error is 16.71.", (fact("run.error"),), "'16.71'"),
        ("The emulated error is 0.1671 %.", (fact("run.error"),), "'0.1671 %'"),
        ("It reads 20480.", (fact("profile.read"),), "lacks its unit: profile.read is 20480 bytes"),
        ("It reads 20 MiB.", (fact("profile.read"),), "'20 MiB'"),
        ("It reads 20480 elements.", (fact("profile.read"),), "'20480 elements'"),
        ("The modelled bound is 17.4 ms.", (fact("profile.bound"),), "'17.4 ms'"),
        ("The bound is 17.4 µs.", (fact("profile.bound"),), "profile.bound is modelled"),
        ("The bound is 17.4 µs, not modelled.", (fact("profile.bound"),), "profile.bound is modelled"),
        ("In NKI's programming model it is 17.4 µs.", (fact("profile.bound"),), "profile.bound is modelled"),
        ("That is quick.", (fact("profile.bound"),), "profile.bound, which is modelled"),
        ("The measured bound is 17.4 µs.", (fact("profile.bound"),), "'measured'"),
        ("The modelled bound of 17.4 µs was measured.", (fact("profile.bound"),), "'measured'"),
        ("The error, as measured, is 0.1671.", (fact("run.error"),), "'measured'"),
        ("Measured, it is quick.", (line(4),), "'measured'"),
        (
            "Modelled it takes 17.4 µs. Measured it is 17.4 µs.",
            (fact("profile.bound"), fact("profile.time")),
            "'measured'",
        ),
        ("`result` is wide.", (line(3),), "`result`"),
        ("`total` is wide.", (line(3),), "`total`"),
        ("`til` is wide.", (line(3),), "`til`"),
        ("`tile` has `4096` columns.", (line(3),), "'4096'"),
        ("`nl.ndarray((P, 4096))` is wide.", (line(3),), "'4096'"),
        ("`x[0 : P, 'a']` takes whole rows.", (line(4),), "does not occur"),
        ("`nisa.tensor_copy` moves it.", (line(4),), "`nisa.tensor_copy`"),
        ("`nl.dma_copy` moves it.", (line(4),), "`nl.dma_copy`"),
        ("Each tile takes 8 KiB.", (line(1),), "'8 KiB' stands in a comment"),
        ("The comment promises 8 MiB.", (line(1),), "'8 MiB'"),
        ("`tile` has 2048 bytes per row.", (line(3),), "'2048 bytes'"),
        ("The epsilon of 1e-5 is added first.", (line(5),), "'1e-5'"),
        ("Line 6 does it.", (line(5),), "line 6"),
        ("Lines 3 to 6 do it.", (line(3, 5),), "line 6"),
        ("Lines 3, 4 and 6.", (line(3, 5),), "line 6"),
        ("In line 5 MiB it is.", (line(5),), "'5 MiB'"),
        ("That is level 3 %.", (line(3),), "'3 %'"),
        ("It takes 128 steps.", (line(3),), "'128'"),
        ("SBUF has 192 KiB per partition.", (line(3),), "'192 KiB'"),
        ("One PSUM bank has 2 MiB.", (line(3),), "'2 MiB'"),
        ("HBM gives 900 GB/s.", (line(3),), "'900 GB/s'"),
        ("It is 3.7 times faster.", (line(3),), "'3.7 times'"),
        ("It does 2. Then 4.", (line(3),), "'2'"),
        ("(9) of them pass.", (line(3),), "'9'"),
        ("62238 of 65536 elements differ.", (line(4),), "'62238'"),
        ("It got 4.5, expected 1.85.", (line(4),), "'4.5'"),
        ("７ of them.", (line(3),), "'7'"),
        ("1\u200b7 of them.", (line(3),), "'17'"),
        ("At most 1.05 times the smallest traffic.", (line(3),), "'1.05 times'"),
    ],
)
def test_a_statement_falls_that_says_more(text: str, citations: tuple[Citation, ...], said: str) -> None:
    found = problems(text, *citations)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    "text",
    [
        "Use `nisa.tensor_copy` instead.",
        "`nl.maximum` and `nisa.tensor_reduce` with `negate=True` do both.",
        "`bfloat16` operands would do, or `nl.bfloat16`.",
        "Write `min` around it, in a `for` over `range`.",
        "`nl.tile_size.pmax` holds the limit.",
    ],
)
@pytest.mark.parametrize("part", ["change", "next"])
def test_a_recommendation_may_name_what_nki_has(text: str, part: Part) -> None:
    assert problems(text, line(4), part=part) == []


@pytest.mark.parametrize(
    "text",
    [
        "Use `nisa.tensor_fuse` instead.",
        "Use `nl.fast_gelu`, or `acc_buffer`.",
        "`negate` it.",
        "`nisa.bfloat16` operands.",
        "Call `tile.fused()`.",
    ],
)
def test_a_recommendation_may_not_invent(text: str) -> None:
    assert problems(text, line(4), part="change") != []


def test_a_reason_may_name_what_the_code_lacks_and_not_claim_that_it_has_it() -> None:
    assert problems("`nisa.tensor_copy` would save the second pass.", line(4), part="score") == []
    assert problems("It moves the tile without `nisa.tensor_copy`.", line(4), part="score") == []
    assert problems("`nisa.tensor_copy` saves the second pass.", line(4), part="score") != []
    assert problems("`nisa.tensor_copy` would save the second pass.", line(4), part="works") != []


def test_a_next_step_needs_no_citation_and_may_repeat_an_anchor() -> None:
    rubric = request_for(next(case for case in load_cases() if case.name == "rmsnorm-good_fused")).rubric
    anchor = next(level.anchor for c in rubric.criteria if c.id == "error_margin" for level in c.levels)
    assert problems("Try a harder row next.", part="next") == []
    assert problems(f"Level 4 reads: {anchor}", part="next") == []
    assert problems("Try 77 harder rows next.", part="next") == ["'77' is no number that it cites"]


def test_with_a_citation_that_fails_only_that_is_told() -> None:
    wrong = line(3).model_copy(update={"quote": "another"})
    assert problems("`result` has 77 columns.", wrong, fact("run.error")) == [
        "lines 3 to 3 do not hold the quote 'another'"
    ]


def test_a_quote_may_be_of_the_line_as_it_was_shown() -> None:
    cited = Citation(kind="lines", first_line=1, last_line=2, quote="P = 128\ndef kernel(x, gain):")
    assert problems("`P` comes first.", cited) == []

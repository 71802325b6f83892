"""Cases of the rules about versions, chips and the compiler."""

from __future__ import annotations

from tests.emulator.legality.cases.construction import Case, hbm, one, sbuf


def exponential(target):
    return one("exponential", dst=sbuf(4, 4), src=sbuf(4, 4), target=target)


def newer(version):
    return one(
        "activate2",
        dst=sbuf(4, 4),
        op="exp",
        data=sbuf(4, 4),
        imm0=1.0,
        imm1=0.0,
        op0="multiply",
        op1="add",
        target="trn3",
        version=version,
    )


def copy(version, priority=2):
    return one("dma_copy", dst=sbuf(4, 4), src=hbm(4, 4), priority=priority, target="trn3", version=version)


def scalar_reduce(version):
    return one(
        "tensor_scalar_reduce",
        dst=sbuf(4, 4),
        data=sbuf(4, 4),
        op0="add",
        operand0=1.0,
        reduce_op="add",
        version=version,
    )


CASES = [
    Case("operation-target", exponential("trn2"), exponential("trn3"), ("exponential", "trn3, not on trn2")),
    Case("operation-version", newer("0.3"), newer("0.4"), ("activate2", "since NKI 0.4, not in 0.3")),
    Case("keyword-version", copy("0.3"), copy("0.4"), ("dma_copy: priority", "since NKI 0.4, not in 0.3")),
    Case("keyword-version", copy("0.3"), copy("0.3", None), ("dma_copy: priority",)),
    Case(
        "keyword-version",
        scalar_reduce("0.5"),
        scalar_reduce("0.6"),
        ("tensor_scalar_reduce: reduce_res is optional since NKI 0.6, not in 0.5",),
    ),
    Case(
        "target-documented",
        one("memset", dst=sbuf(4, 4), value=0.0, target="trn1"),
        one("memset", dst=sbuf(4, 4), value=0.0, target="trn2"),
        ("trn2 and trn3", "trn1", "no refusal"),
    ),
]

"""Does the kernel leave headroom in SBUF and PSUM?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import fail, leave_open, succeed
from pipeline.checks.threshold import explain_missing_profile, number_of
from pipeline.types import CheckReport, Fact, Finding, Provenance, Severity

__all__ = ["OnChipMemory"]

#: The runtime and the compiler take a part: of trn2's 224 KiB per partition about 207 are usable.
#: facts/nki.md 2.1.
_SBUF_USABLE = 0.92
#: PSUM has nothing reserved: all eight banks may be live.
_PSUM_USABLE = 1.0


class OnChipMemory:
    """Passed when peak SBUF stays within what compilers leave usable, and peak PSUM within its banks.

    Establishes ``on_chip_memory.sbuf_share`` and ``on_chip_memory.psum_share``: peak over capacity of a
    partition, dimensionless.
    """

    id = "on_chip_memory"
    title = "On-chip memory"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the peaks of the scored shapes."""
        facts = collect_facts(evidence)
        sbuf = self._share(facts, "sbuf")
        psum = self._share(facts, "psum")
        limits = [(share, usable) for share, usable in ((sbuf, _SBUF_USABLE), (psum, _PSUM_USABLE)) if share]
        shares = [share for share, _ in limits]
        if sbuf is None:
            absent = explain_missing_profile(evidence) or "the profile counted no SBUF peak"
            return leave_open(self.id, absent, facts=shares)
        findings = [finding for share, usable in limits for finding in self._look_at(share, usable)]
        reason = " and ".join(
            f"{share.label} is {share.digits} (at most {usable:g} is good)" for share, usable in limits
        )
        if findings:
            return fail(self.id, reason, findings, shares)
        return succeed(self.id, reason, facts=shares, rests_on=tuple(share.id for share in shares))

    def _share(self, facts: tuple[Fact, ...], memory: str) -> Fact | None:
        peak = number_of(fact_named(facts, f"profile.{memory}_peak_bytes"))
        capacity = number_of(fact_named(facts, f"profile.{memory}_capacity_bytes"))
        if peak is None or not capacity:
            return None
        return Fact(
            id=f"on_chip_memory.{memory}_share",
            value=peak / capacity,
            unit="ratio",
            provenance=Provenance.COUNTED,
            label=f"peak {memory.upper()} over capacity",
        )

    def _look_at(self, share: Fact, usable: float) -> list[Finding]:
        if float(share.value) <= usable:
            return []
        return [
            Finding(
                check=self.id,
                severity=Severity.WARNING,
                message=f"{share.label} is {share.digits}; beyond {usable:g} the compiler spills or refuses."
                " Free tiles sooner, or block the loops more finely.",
                facts=(share.id,),
            )
        ]

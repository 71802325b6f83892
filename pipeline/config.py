"""What a run can be told to do differently; the command line and the Python API both fill this in."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["BATTERY_SEED_VARIABLE", "DEFAULT_DATABASE", "Settings"]

DEFAULT_DATABASE = Path("nki-grader.duckdb")

#: Environment variable that gives the seed where the settings give none: repeats a run, or lets two agree.
BATTERY_SEED_VARIABLE = "NKI_GRADER_BATTERY_SEED"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run.

    Attributes:
        tasks: Folder with task folders; None for those that ship with the grader.
        rubrics: Folder with rubric folders and their lock; None for those that ship with the grader.
        policies: Folder with policy folders and their lock; None for those that ship with the grader.
        policy: What may stand without a person: ``ID`` or ``ID@vN``; None for the standard policy.
        target: Chip to grade for; None for each task's first.
        toolchain: NKI version to grade under; None for each task's first.
        judge: Who drafts scores and feedback: ``rules``, a provider's name, or the path of a TOML file.
        model: Model of a judge that is given by a provider's name; None for that provider's default.
        base_url: Where an OpenAI-compatible server listens.
        max_cost: US dollars that this run may cost; None for what the judge's file says, or no limit.
        max_cost_per_day: US dollars that may be spent from this database in one UTC day; likewise.
        send_to: Names of providers that submitted code may be sent to; None for all that are configured.
        fresh: Label under which answers are asked for anew; empty to use those that are known.
        provider_batches: Whether questions go to the provider in batches, at a lower price and within a day.
        rubric_versions: Rubric id to version; a rubric left out is used in its latest locked version.
        sandbox: Isolation level to insist on; None for the strongest this machine offers.
        allow_unsandboxed: Grade even where nothing stronger than plain limits is possible.
        battery_seed: Secret that all inputs are drawn from, as 32 hexadecimal digits; None for what the
            environment variable NKI_GRADER_BATTERY_SEED says, else a new one per run.
        workers: Submissions traced, and programs computed, at a time.
    """

    tasks: Path | None = None
    rubrics: Path | None = None
    policies: Path | None = None
    policy: str | None = None
    target: str | None = None
    toolchain: str | None = None
    judge: str = "rules"
    model: str | None = None
    base_url: str | None = None
    max_cost: float | None = None
    max_cost_per_day: float | None = None
    send_to: tuple[str, ...] | None = None
    fresh: str = ""
    provider_batches: bool = False
    rubric_versions: dict[str, str] = field(default_factory=dict)
    sandbox: str | None = None
    allow_unsandboxed: bool = False
    battery_seed: str | None = None
    workers: int = field(default_factory=_cores)

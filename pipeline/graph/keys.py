"""Content keys of stages: everything that a stage depends on, and nothing else.

A stage whose key is in the store is not performed again; so a new rubric version repeats judging and what
follows it, and nothing before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.types import Grading, Submission, hash_text

__all__ = ["StageKeys"]


@dataclass(frozen=True, slots=True)
class StageKeys:
    """Key of each stage that keeps a result."""

    build: str
    run: str
    profile: str
    inspect: str
    judge: str
    assess: str

    @staticmethod
    def derive(grading: Grading, submission: Submission) -> StageKeys:
        """Return the keys of `grading`; each includes the keys of the stages that feed it."""
        made = grading.fingerprint
        build = hash_text(
            "build", submission.id, submission.code, made.task, made.executor, made.target, made.toolchain,
            made.isolated,
        )  # fmt: skip
        run = hash_text("run", build, made.numerics, made.comparison)
        profile = hash_text("profile", build)
        inspect = hash_text("inspect", run, profile, made.checks)
        judge = hash_text("judge", inspect, made.rubric, made.prompt, made.judge)
        assess = hash_text("assess", judge, made.confidence)
        return StageKeys(build, run, profile, inspect, judge, assess)

    def set_apart(self, mark: str) -> StageKeys:
        """Return keys under which a draft that nobody could make is kept, leaving its own key free."""
        judge = hash_text("unanswered", self.judge, mark)
        return replace(self, judge=judge, assess=hash_text("unanswered", self.assess, judge))

    def of(self, stage: str) -> str:
        """Return the key of the stage called `stage`."""
        return str(getattr(self, stage))

    def as_dict(self) -> dict[str, str]:
        """Return every key by stage."""
        return {stage: self.of(stage) for stage in self.__slots__}

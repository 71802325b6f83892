"""A fingerprint: everything that shapes a grade."""

from __future__ import annotations

from pipeline.types.model import Frozen, hash_text

__all__ = ["Fingerprint"]


class Fingerprint(Frozen):
    """Hashes and versions; two grades with equal fingerprints were made the same way."""

    task: str
    rubric: str
    prompt: str
    judge: str
    """Judge and its parameters."""
    executor: str
    target: str
    toolchain: str
    numerics: str
    """Versions of the libraries that compute values."""
    comparison: str
    checks: str
    confidence: str
    policy: str
    isolated: bool
    """Whether the submission ran in a sandbox."""

    def grading_id(self, submission_id: str) -> str:
        """Return the id of the grading of `submission_id` under this fingerprint."""
        return "g-" + hash_text(submission_id, self.content_hash())[:16]

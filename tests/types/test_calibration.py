"""What a calibration speaks of."""

from __future__ import annotations

from pipeline.types import Fingerprint, Scope


def test_a_scope_has_all_of_a_fingerprint_but_the_task_what_follows_a_draft_and_the_sandbox() -> None:
    """A field that is new in fingerprints and shapes drafts must void certificates as any other does."""
    left_out = {"task", "confidence", "policy", "isolated"}
    assert set(Scope.model_fields) == set(Fingerprint.model_fields) - left_out


def test_the_scope_of_a_fingerprint_holds_its_values() -> None:
    values = {name: f"its {name}" for name in Fingerprint.model_fields if name != "isolated"}
    made = Fingerprint.model_validate({**values, "isolated": True})
    assert Scope.of(made).model_dump() == {name: f"its {name}" for name in Scope.model_fields}

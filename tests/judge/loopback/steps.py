"""What becomes of one call, written as a short text."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["KINDS", "Step", "parse_step"]

SPOILT = ("fence", "prose", "missing", "extra", "duplicate", "range", "blank")
STOPS = ("truncated", "context", "refusal", "refusal-empty")
BODIES = ("html", "malformed", "empty", "other", "raw")
BROKEN = ("reset", "reset-body", "hang", "drip")
ERRORS = ("status", "too-long", "declined")
LINES = ("expired", "canceled", "gone", "lost")
KINDS = ("ok", "text", *SPOILT, *STOPS, *BODIES, *BROKEN, *ERRORS, *LINES)


@dataclass(frozen=True, slots=True)
class Step:
    """One outcome."""

    kind: str
    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def parse_step(written: str) -> Step:
    """Return the step that `written` stands for, e.g. ``status:429;retry-after=300``."""
    kind, _, rest = written.partition(":")
    if kind not in KINDS:
        raise ValueError(f"no step {kind!r}; there are {', '.join(KINDS)}")
    if kind in ("text", "raw"):
        return Step(kind, text=rest)
    status, *settings = rest.split(";") if rest else [""]
    headers = dict(setting.split("=", 1) for setting in settings)
    message = headers.pop("message", "")
    return Step(kind, text=message, status=int(status) if status else 200, headers=headers)

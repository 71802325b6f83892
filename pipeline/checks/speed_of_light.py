"""How close does the kernel come to the bound that its work sets?"""

from __future__ import annotations

from typing import Final

from pipeline.checks.threshold import Threshold

__all__ = ["SPEED_OF_LIGHT"]

SPEED_OF_LIGHT: Final = Threshold(
    id="speed_of_light",
    title="Speed of light",
    version=1,
    fact="profile.speed_of_light_share",
    direction="at_least",
    # Experts call a memory-bound kernel good from 60 % of its bandwidth on; facts/nki.md 3.4.
    bound=0.6,
    advice="Find the busiest engine and shorten its work; where no engine is busy, let loads overlap with"
    " compute.",
    absent="nothing timed the kernel: this profile counts bytes, operations and instructions only",
)

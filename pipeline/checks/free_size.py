"""Do vector and scalar instructions carry enough elements?"""

from __future__ import annotations

from typing import Final

from pipeline.checks.threshold import Threshold

__all__ = ["FREE_SIZE"]

FREE_SIZE: Final = Threshold(
    id="free_size",
    title="Elements per instruction",
    version=1,
    fact="profile.mean_free_size",
    direction="at_least",
    # An instruction costs about 64 cycles however little it does; 128 is the documented floor. facts/nki.md
    # 3.2.
    bound=128,
    advice="A vector or scalar instruction takes about 64 cycles however little it does. Work on wider tiles"
    " (512 elements per partition and more), and fold narrow steps into one instruction.",
    absent="the profile counted no vector or scalar instruction",
)

"""How paths name reviews, places and accounts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

__all__ = ["AccountName", "ReviewId", "Slot"]

ReviewId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Id of a review, such as `r-0123456789abcdef`.")
]
Slot = Annotated[int, Path(ge=0, le=1000, description="Which of the review's places; 0 is the first review.")]
AccountName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._@-]{0,63}$", description="Name of an account.")]

"""Where an executor keeps what is too large for a row."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Artifacts"]


class Artifacts(Protocol):
    """Content-addressed bytes."""

    def save_artifact(self, data: bytes, media_type: str) -> str:
        """Keep `data` and return its SHA-256 in hex."""

    def load_artifact(self, sha256: str) -> bytes:
        """Return what was kept under `sha256`.

        Raises:
            KeyError: If nothing was.
        """

"""The base of every model in the vocabulary."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen", "hash_text"]


class Frozen(BaseModel):
    """An immutable value: unknown fields are refused, and its hash depends on its content alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    def content_hash(self) -> str:
        """Return the SHA-256 of the model's canonical JSON, in hex."""
        return hash_text(type(self).__name__, self.model_dump_json())


def hash_text(*parts: Any) -> str:
    """Return the SHA-256 over `parts`, in hex; ``("ab", "c")`` and ``("a", "bc")`` differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()

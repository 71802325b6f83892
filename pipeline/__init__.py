"""Pre-grades NKI kernel submissions the way an expert reviewer would."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"

"""Garbage collection, suspended while a program is made: much appears and nothing becomes garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused_collection"]


@contextmanager
def paused_collection() -> Iterator[None]:
    """Suspend garbage collection, and spare the next one what was allocated meanwhile.

    Collecting looks at every tuple that is young, which can take as long as making them. They become old at
    once instead: freezing moves all objects at no cost to where a collection does not look, and thawing from
    there to the oldest generation. A process that keeps others frozen, as one that forks does, lets them
    rest.
    """
    if not gc.isenabled():
        yield
        return
    rests = gc.get_freeze_count() > 0
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if not rests:
            gc.unfreeze()
        gc.enable()

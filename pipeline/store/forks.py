"""Descriptors that must not live on in a forked child.

A lock or a connection that a child inherited stays held or open after its owner has ended, and nobody could
take over. Children started with exec have them closed by the system; a plain fork needs this.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["Forgettable", "forget_in_children"]


class Forgettable(Protocol):
    """Something with descriptors of its own."""

    def forget(self) -> None:
        """Close the descriptors in a forked child, leaving the parent's alone."""


_known: weakref.WeakSet[Forgettable] = weakref.WeakSet()


def forget_in_children(resource: Forgettable) -> None:
    """Call ``resource.forget()`` in every child forked while `resource` is alive."""
    _known.add(resource)


def _forget_all() -> None:
    for resource in list(_known):
        resource.forget()
    _known.clear()


os.register_at_fork(after_in_child=_forget_all)

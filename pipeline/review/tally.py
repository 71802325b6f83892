"""How many places wait, by task and author: counted as they come and go, not by walking the queue."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from pipeline.types import Purpose

__all__ = ["Tally"]


class Tally:
    """Counts of waiting places."""

    def __init__(self) -> None:
        self._by_task: defaultdict[str, Counter[Purpose]] = defaultdict(Counter)
        self._by_author: defaultdict[str, dict[str, Counter[Purpose]]] = defaultdict(dict)

    def add(self, task_id: str, author: str, purpose: Purpose, change: int) -> None:
        """Count `change` places more, or fewer."""
        self._by_task[task_id][purpose] += change
        self._by_author[author].setdefault(task_id, Counter())[purpose] += change

    def count(self, is_within: Callable[[str], bool], without: Iterable[str]) -> Counter[Purpose]:
        """Return how many places of each purpose wait.

        Args:
            is_within: Which tasks count.
            without: Authors whose submissions do not.
        """
        total: Counter[Purpose] = Counter()
        for task_id, counts in self._by_task.items():
            if is_within(task_id):
                total.update(counts)
        for author in set(without):
            for task_id, counts in self._by_author.get(author, {}).items():
                if is_within(task_id):
                    total.subtract(counts)
        return total

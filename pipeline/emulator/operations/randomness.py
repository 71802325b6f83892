"""State of a core's random number generators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["RandomState"]


@dataclass(slots=True)
class RandomState:
    """Generators of one core, one per engine; equal seeds give equal numbers.

    Attributes:
        seed: Of the run.
        rank: Rank of a collective.
        core: Logical NeuronCore.
    """

    seed: int = 0
    rank: int = 0
    core: int = 0
    _generators: dict[str, np.random.Generator] = field(default_factory=dict)

    def generator(self, engine: str) -> np.random.Generator:
        """Return the generator of an engine."""
        if engine not in self._generators:
            entropy: list[Any] = [self.seed, self.rank, self.core, *engine.encode()]
            self._generators[engine] = np.random.Generator(np.random.PCG64(entropy))
        return self._generators[engine]

"""State of a core's random number generators: one XORWOW generator, or four, for each lane of an engine.

What is documented: the vector engine of NeuronCore-v4 and gpsimd run XORWOW, with six 32-bit words for each
state, four states per vector lane and one per gpsimd lane (nki.isa.rand_set_state, nki.isa.rand2,
trainium3_arch.rst). XORWOW is Marsaglia's ("Xorshift RNGs", Journal of Statistical Software 8, 2003). What is
not: the order of the words in a state, how a seed becomes a state, in which order elements draw, and the
vector engine's linear feedback shift register before NeuronCore-v4. So the numbers are reproducible, but not
the device's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

__all__ = ["STATES_PER_LANE", "STATE_WORDS", "RandomState"]

#: 32-bit words of one XORWOW state.
STATE_WORDS: Final = 6
#: XORWOW states of one lane, by engine.
STATES_PER_LANE: Final = {"vector": 4, "gpsimd": 1}

_LANES: Final = 128
_WEYL: Final = 362437  # what the counter, the last word of a state, grows by
_Words = np.ndarray[Any, Any]  # uint32


@dataclass(slots=True)
class RandomState:
    """Generators of one core; equal seeds give equal numbers.

    Attributes:
        seed: Of the run.
        rank: Rank of a collective.
        core: Logical NeuronCore.
    """

    seed: int = 0
    rank: int = 0
    core: int = 0
    _engines: dict[str, _Words] = field(default_factory=dict)

    def draw(self, engine: str, lanes: slice, count: int) -> _Words:
        """Return the next `count` random words of some lanes of an engine, shape (lanes, count), uint32.

        The states of a lane take turns, one word each.

        Args:
            engine: ``"vector"`` or ``"gpsimd"``.
            lanes: Which of the 128 lanes.
            count: Words per lane.
        """
        states = self._states(engine)[lanes]
        turns = -(-count // states.shape[1])
        x, y, z, w, v, counter = (states[..., word].copy() for word in range(STATE_WORDS))
        words = np.empty((turns, *v.shape), np.uint32)
        for turn in range(turns):
            mixed = x ^ (x >> np.uint32(2))
            mixed ^= mixed << np.uint32(1)
            mixed ^= v
            mixed ^= v << np.uint32(4)
            x, y, z, w, v = y, z, w, v, mixed
            words[turn] = v
        growth = np.arange(1, turns + 1, dtype=np.uint32) * np.uint32(_WEYL)
        words += counter + growth[:, None, None]
        counter += growth[-1]
        for word, value in enumerate((x, y, z, w, v, counter)):
            states[..., word] = value
        return words.transpose(1, 0, 2).reshape(len(states), -1)[:, :count]

    def reseed(self, engine: str, seed: int) -> None:
        """Start every lane of an engine anew from one 32-bit seed, the same on every core.

        Args:
            engine: ``"vector"`` or ``"gpsimd"``.
            seed: 0 to 2**32 - 1.
        """
        self._engines[engine] = _expand(engine, [seed])

    def store(self, engine: str, lanes: slice) -> _Words:
        """Return the states of some lanes, shape (lanes, 6 * states per lane), uint32."""
        states = self._states(engine)[lanes]
        return states.reshape(len(states), -1).copy()

    def load(self, engine: str, lanes: slice, words: _Words) -> None:
        """Replace the states of some lanes by what `store` returned for as many."""
        states = self._states(engine)[lanes]
        states[...] = words.reshape(states.shape)

    def _states(self, engine: str) -> _Words:
        """Return the engine's states, shape (128, states per lane, 6)."""
        if engine not in self._engines:
            entropy = [self.seed % (1 << 64), self.rank, self.core, *engine.encode()]
            self._engines[engine] = _expand(engine, entropy)
        return self._engines[engine]


def _expand(engine: str, entropy: list[int]) -> _Words:
    shape = (_LANES, STATES_PER_LANE[engine], STATE_WORDS)
    words = np.random.SeedSequence(entropy).generate_state(_LANES * shape[1] * STATE_WORDS, np.uint32)
    return words.reshape(shape)

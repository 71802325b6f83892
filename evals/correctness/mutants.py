"""Every mutant of a kernel: each mutation at each of its sites, in the programs of all shapes alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evals.correctness.addresses import ADDRESSES
from evals.correctness.arithmetic import ARITHMETIC
from evals.correctness.editing import Mutation, Site
from evals.correctness.steps import STEPS
from evals.correctness.tiles import TILES
from pipeline.emulator.program import Program, hash_program

__all__ = ["MUTATIONS", "Mutant", "make_mutants"]

#: Every kind of mutation.
MUTATIONS: Final[tuple[Mutation, ...]] = (*STEPS, *ADDRESSES, *ARITHMETIC, *TILES)


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A kernel gone wrong.

    Attributes:
        mutation: In which way.
        site: Where.
        programs: One per program of the kernel; the very object where the shape does not have the site.
    """

    mutation: Mutation
    site: Site
    programs: tuple[Program, ...]

    @property
    def name(self) -> str:
        """What it is called: the mutation and its place."""
        slot = f", argument {self.site.slot}" if self.site.slot else ""
        return f"{self.mutation.name} (line {self.site.line}, {self.site.operation}{slot})"


def make_mutants(programs: Sequence[Program]) -> Iterator[Mutant]:
    """Yield every mutant of a kernel, each once: two mutations may come to the same programs.

    Args:
        programs: Of the kernel, one per shape.
    """
    seen: set[tuple[str, ...]] = set()
    for mutation in MUTATIONS:
        sites = {site: None for program in programs for site in mutation.find_sites(program)}
        for site in sites:
            changed = tuple(mutation.apply(program, site) for program in programs)
            if all(new is old for new, old in zip(changed, programs, strict=True)):
                continue
            fingerprint = tuple(hash_program(program) for program in changed)
            if fingerprint not in seen:
                seen.add(fingerprint)
                yield Mutant(mutation, site, changed)

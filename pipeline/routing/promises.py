"""What a certificate promises, or why there is none: the one place that has the wording."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.types import GRADE

__all__ = [
    "say_blocked",
    "say_budget",
    "say_copies",
    "say_experts",
    "say_hopeless",
    "say_looks",
    "say_promise",
    "say_refusal",
    "say_spent",
    "say_tasks",
    "say_too_few",
    "say_uncovered",
]


def say_promise(
    criterion: str,
    *,
    mode: str,
    alpha: float,
    delta: float,
    coverage: float,
    groups: int | None,
    copies: bool,
    constructed: bool,
) -> str:
    """Return what a certificate says.

    Args:
        criterion: Id of a criterion, or `GRADE`.
        mode: Of the policy.
        alpha: Highest share that may be wrong.
        delta: Probability that the promise may be wrong with.
        coverage: Share of drafts that may stand alone.
        groups: By how many tasks, or codes, errors are counted; None where each item is for itself.
        copies: Whether it is by code, as several were handed in more than once.
        constructed: Whether any label was made up.
    """
    what = "grades" if criterion == GRADE else f"levels of {criterion}"
    if mode == "selective":
        promise = (
            f"with {_percent(1 - delta)} confidence at most {_percent(alpha)} of them differ from what your"
            " experts would say"
        )
    else:
        promise = (
            f"on average over samples of labels at most {_percent(alpha)} of all {what} stand alone and"
            " differ from what your experts would say"
        )
    by = ("code", "codes") if copies else ("task", "tasks")
    counted = f" (errors counted by {by[0]}, {groups} {by[1]})" if groups is not None else ""
    made_up = "Constructed labels, not evidence of quality: " if constructed else ""
    these = "these" if made_up else "These"
    return f"{made_up}{these} {_percent(coverage)} of {what} may stand without a human: {promise}{counted}."


def say_refusal(why: str, help_: str = "") -> str:
    """Return that nothing may stand alone, why, and what would help."""
    return f"Accept nothing: {why}{'; ' if help_ else ''}{help_}."


def say_too_few(n: int, fewest: int, uncovered: int) -> str:
    """Return that so few labels cannot certify anything.

    Args:
        n: Of what is covered and was drawn by chance.
        fewest: How many it takes.
        uncovered: Further ones, of what no certificate would cover.
    """
    others = f" ({uncovered} others are for tasks or by authors that no certificate would cover yet)"
    return f"too few labels to certify on: {n} of at least {fewest}{others if uncovered else ''}"


def say_tasks(tasks: int, effective: float, fewest: int) -> str:
    """Return that labels that are no random sample come from too few tasks."""
    return (
        f"the labels are no random sample, so errors count by task, and {tasks} tasks (worth {effective:.1f}"
        f" of equal size) are fewer than the {fewest} that could prove anything"
    )


def say_uncovered(fewest: int) -> str:
    """Return that labels are spread over too many tasks to say anything of one."""
    return f"no task has {fewest} labelled submissions of the fit split, as the policy demands"


def say_copies(n: int, codes: int, effective: float, fewest: int) -> str:
    """Return that labels are of too few codes, each handed in several times."""
    return (
        f"the {n} labelled submissions that could certify are copies of {codes} codes (worth {effective:.1f}"
        f" of equal size), fewer than the {fewest} that could prove anything"
    )


def say_experts(share: float, pairs: int, alpha: float) -> str:
    """Return that experts differ too much for any judge."""
    return (
        f"experts differ among themselves in {_percent(share)} of {pairs} submissions that two of them saw,"
        f" more than the {_percent(alpha)} that a judge may"
    )


def say_looks(taken: int, allowed: int) -> str:
    """Return that the policy allows no other test."""
    return (
        f"this scope was tested {taken} times already and the policy allows {allowed}: what is tested until"
        " it passes proves nothing"
    )


def say_blocked(criteria: Sequence[str]) -> str:
    """Return that no grade stands without levels that nothing certifies."""
    return f"too few labelled grades have no level of {', '.join(criteria)}, which cannot be certified"


def say_spent() -> str:
    """Return that other policies' tests left nothing of delta."""
    return (
        "earlier tests of this scope, under policies with other looks, took all of what may go wrong: what is"
        " tested until it passes proves nothing"
    )


def say_budget(more: int) -> str:
    """Return how many labels would help."""
    return f"as its probabilities go, about {more} more labelled submissions, drawn at random, would do"


def say_hopeless(alpha: float) -> str:
    """Return that labels are not what is missing."""
    return (
        f"more labels would not help: even where it is surest the judge is expected to be wrong in about"
        f" {_percent(alpha)} or more"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"

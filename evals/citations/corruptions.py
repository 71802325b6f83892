"""Ways in which a draft's evidence goes wrong, each applied to one statement of an honest draft.

A corruption returns the statement's new text and citations, or None where the statement gives it nothing to
spoil. It never yields a statement that happens to be true: a changed digit stays clear of everything cited.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from evals.citations.cases import Case
from evals.citations.sites import Site, Spoiled, other_digit, rounds_to, same
from pipeline.types import Provenance

__all__ = ["CORRUPTIONS", "Corrupted", "Corruption", "corrupt"]

_LINES: Final = re.compile(r"(?<!\w)([Ll]ines?) (\d+)")
_NAME: Final = re.compile(r"`([A-Za-z_][\w.]*)`")


def wrong_line(site: Site) -> Spoiled | None:
    """The quote stands elsewhere than the cited lines."""
    lines = site.lines()
    for place in site.cited("lines"):
        cited = site.citations[place]
        height = (cited.last_line or 0) - (cited.first_line or 0)
        moved = [
            first
            for first in range(1, len(lines) - height + 1)
            if cited.quote not in "\n".join(lines[first - 1 : first + height])
        ]
        if moved:
            first = site.chance.choice(moved)
            return site.exchange(place, first_line=first, last_line=first + height)
    return None


def altered_quote(site: Site) -> Spoiled | None:
    """One letter of the quote is another."""
    for place in site.cited("lines"):
        quote = site.citations[place].quote
        at = site.chance.choice([p for p, sign in enumerate(quote) if sign.isalpha()])
        letter = "q" if quote[at] != "q" else "k"
        return site.exchange(place, quote=quote[:at] + letter + quote[at + 1 :])
    return None


def quote_from_another_line(site: Site) -> Spoiled | None:
    """The quote is real code, but not that of the cited lines."""
    lines = site.lines()
    for place in site.cited("lines"):
        cited = site.citations[place]
        held = "\n".join(lines[(cited.first_line or 1) - 1 : cited.last_line])
        others = [line.strip() for line in lines if len(line.strip()) > 8 and line.strip() not in held]
        return site.exchange(place, quote=site.chance.choice(others))
    return None


def beyond_the_file(site: Site) -> Spoiled | None:
    """The range goes on after the last line."""
    for place in site.cited("lines"):
        return site.exchange(place, last_line=len(site.lines()) + site.chance.randint(1, 20))
    return None


def backward_range(site: Site) -> Spoiled | None:
    """The last line lies before the first."""
    for place in site.cited("lines"):
        first = site.citations[place].first_line or 1
        return site.exchange(place, last_line=first - 1)
    return None


def empty_quote(site: Site) -> Spoiled | None:
    """Lines are cited, and nothing of them is quoted."""
    for place in site.cited("lines"):
        return site.exchange(place, quote=site.chance.choice(["", " ", "\n"]))
    return None


def wrong_line_in_text(site: Site) -> Spoiled | None:
    """The text names a line that it does not cite."""
    mention = _LINES.search(site.text)
    if mention is None:
        return None
    covered = {
        line
        for citation in site.citations
        if citation.first_line and citation.last_line
        for line in range(citation.first_line, citation.last_line + 1)
    }
    free = [line for line in range(1, len(site.lines()) + 1) if line not in covered]
    if not free:
        return None
    line = site.chance.choice(free)
    return site.retell(f"{site.text[: mention.start(2)]}{line}{site.text[mention.end(2) :]}")


def changed_digit_in_text(site: Site) -> Spoiled | None:
    """The text says another number than the fact that it cites."""
    for number, _ in site.sentence():
        for _ in range(20):
            token = other_digit(number[0], site.chance)
            if not site.speaks_of(token):
                return site.retell(site.text[: number.start()] + token + site.text[number.end() :])
    return None


def changed_digit_in_value(site: Site) -> Spoiled | None:
    """The citation gives the fact another value."""
    for place in site.cited("fact"):
        value = site.citations[place].value
        if any(sign.isdigit() for sign in value) and value[0] in "0123456789":
            return site.exchange(place, value=other_digit(value, site.chance))
    return None


def invented_fact(site: Site) -> Spoiled | None:
    """The cited fact does not exist."""
    for place in site.cited("fact"):
        id = site.citations[place].fact or ""
        invented = site.chance.choice([f"{id}_total", f"device.{id}", id.replace(".", ".mean_", 1)])
        if invented not in site.facts:
            return site.exchange(place, fact=invented)
    return None


def wrong_unit(site: Site) -> Spoiled | None:
    """The number is right, its unit is another."""
    wrong = {
        "KiB": "MiB",
        "MiB": "KiB",
        "bytes": "elements",
        "elements": "bytes",
        "µs": "ms",
        "us": "ns",
        "flop/byte": "flop",
        "transfers": "bytes",
        "%": "times",
    }
    for number, _ in site.sentence():
        after = re.match(r" ?(KiB|MiB|bytes|elements|µs|us|flop/byte|transfers|%)", site.text[number.end() :])
        if after is not None:
            start = number.end() + after.start(1)
            end = number.end() + after.end(1)
            return site.retell(site.text[:start] + wrong[after[1]] + site.text[end:])
    return None


def invented_unit(site: Site) -> Spoiled | None:
    """A number without a unit of its own is given one."""
    for number, fact in site.sentence():
        if fact.unit in ("", "ratio") and not re.match(r" ?(%|times|x\b)", site.text[number.end() :]):
            unit = site.chance.choice([" KiB", " µs", " %", " GB/s"])
            return site.retell(site.text[: number.end()] + unit + site.text[number.end() :])
    return None


def percent_for_fraction(site: Site) -> Spoiled | None:
    """A share is given in per cent without the sign, or the fraction with it."""
    for number, fact in site.sentence():
        if fact.unit == "ratio":
            after = re.match(r" ?%", site.text[number.end() :])
            if after is not None:
                return site.retell(site.text[: number.end()] + site.text[number.end() + after.end() :])
            if fact.value and float(fact.value) < 1:
                return site.retell(site.text[: number.end()] + " %" + site.text[number.end() :])
    return None


def thousands_for_binary(site: Site) -> Spoiled | None:
    """Bytes were divided by a thousand and called KiB or MiB."""
    for number, fact in site.sentence():
        after = re.match(r" ?(KiB|MiB)", site.text[number.end() :])
        if after is not None and fact.unit == "bytes":
            scaled = float(fact.value) / (1e3 if after[1] == "KiB" else 1e6)
            return site.retell(site.text[: number.start()] + f"{scaled:.4g}" + site.text[number.end() :])
    return None


def lost_thousands(site: Site) -> Spoiled | None:
    """A separator of thousands became a decimal point, or its last group was lost."""
    for number, _ in site.sentence():
        if "," in number[0]:
            spoiled = site.chance.choice([number[0].replace(",", ".", 1), number[0].rsplit(",", 1)[0]])
            return site.retell(site.text[: number.start()] + spoiled + site.text[number.end() :])
    return None


def wrong_exponent(site: Site) -> Spoiled | None:
    """The number is off by a power of ten."""
    for number, _ in site.sentence():
        if "e" in number[0]:
            mantissa, exponent = number[0].split("e")
            spoiled = f"{mantissa}e{int(exponent) + site.chance.choice([-2, -1, 1, 2])}"
            return site.retell(site.text[: number.start()] + spoiled + site.text[number.end() :])
        if "." in number[0] and number[0].count(",") == 0:
            spoiled = f"{float(number[0]) * 10:g}"
            if not site.speaks_of(spoiled):
                return site.retell(site.text[: number.start()] + spoiled + site.text[number.end() :])
    return None


def swapped_values(site: Site) -> Spoiled | None:
    """Two cited facts carry each other's value."""
    places = site.cited("fact")
    for one in places:
        for other in places:
            first, second = site.citations[one], site.citations[other]
            if first.value != second.value and not same(first.value, second.value):
                _, citations = site.exchange(one, value=second.value)
                changed = list(citations)
                changed[other] = second.model_copy(update={"value": first.value})
                return site.text, tuple(changed)
    return None


def swapped_facts(site: Site) -> Spoiled | None:
    """The citation names another fact of the submission than the one whose value it gives."""
    for place in site.cited("fact"):
        cited = site.citations[place]
        others = [
            fact.id
            for fact in site.case.facts
            if fact.id != cited.fact and fact.digits != cited.value and not same(fact.digits, cited.value)
        ]
        if others:
            return site.exchange(place, fact=site.chance.choice(others))
    return None


def fact_of_another_case(site: Site) -> Spoiled | None:
    """Value and text are those of another submission."""
    for number, fact in site.sentence():
        place = next(p for p in site.cited("fact") if site.citations[p].fact == fact.id)
        values = [
            other.digits
            for case in site.cases
            for other in case.facts
            if other.id == fact.id and not rounds_to(fact, other.digits)
        ]
        if values and number[0] == site.citations[place].value:
            value = site.chance.choice(values)
            _, citations = site.exchange(place, value=value)
            return site.text[: number.start()] + value + site.text[number.end() :], citations
    return None


def foreign_name(site: Site) -> Spoiled | None:
    """A name in backticks occurs nowhere in the code."""
    names = list(_NAME.finditer(site.text))
    if not names:
        return None
    name = site.chance.choice(names)
    invented = site.chance.choice(
        ["tile_cache", "nisa.tensor_fuse", "acc_buffer", "nl.fast_gelu", "lhs_pool"]
    )
    return site.retell(f"{site.text[: name.start(1)]}{invented}{site.text[name.end(1) :]}")


def misplaced_name(site: Site) -> Spoiled | None:
    """A name in backticks occurs in the code, but not in the cited lines."""
    names = [name for name in _NAME.finditer(site.text) if not name[1].startswith(("nl", "nisa"))]
    quoted = " ".join(citation.quote for citation in site.citations)
    spans = " ".join(
        "\n".join(site.lines()[citation.first_line - 1 : citation.last_line])
        for citation in site.citations
        if citation.first_line and citation.last_line
    )
    known = set(re.findall(r"\b[a-z_]{3,}\b", quoted + " " + spans))
    # Names that the code binds itself; a keyword argument or a module's name would be the language's.
    own = set(re.findall(r"^\s+([a-z_]{3,}) = ", site.case.code, re.M)) - known
    if not names or not own:
        return None
    name = site.chance.choice(names)
    return site.retell(
        f"{site.text[: name.start(1)]}{site.chance.choice(sorted(own))}{site.text[name.end(1) :]}"
    )


def called_measured(site: Site) -> Spoiled | None:
    """A modelled or emulated number is called measured."""
    return site.retell(re.sub(r"\b(modelled|emulated)\b", "measured", site.text))


def unsaid_provenance(site: Site) -> Spoiled | None:
    """A modelled time is given without saying that it is modelled."""
    timed = any(
        fact.unit == "s" and fact.provenance is Provenance.MODELLED
        for place in site.cited("fact")
        for fact in [site.facts[site.citations[place].fact or ""]]
    )
    return site.retell(re.sub(r"\bmodelled ", "", site.text)) if timed else None


def unsupported_number(site: Site) -> Spoiled | None:
    """A sentence with a number that nothing cited holds was added."""
    added = site.chance.choice(
        [
            " That makes it 3.7 times faster.",
            " Expect 913 GB/s.",
            " It costs 71 µs per tile.",
            " About 43 % of it is lost.",
            " Some 7,777 elements are affected.",
        ]
    )
    return site.retell(site.text + added)


def no_evidence(site: Site) -> Spoiled | None:
    """Every citation is gone."""
    return None if site.statement.part == "next" or not site.citations else (site.text, ())


@dataclass(frozen=True, slots=True)
class Corruption:
    """One way of going wrong.

    Attributes:
        name: What the table calls it.
        spoil: Applies it to one statement, or returns None where it does not fit.
    """

    name: str
    spoil: Callable[[Site], Spoiled | None]


CORRUPTIONS: Final = tuple(
    Corruption(spoil.__name__.replace("_", " "), spoil)
    for spoil in (
        wrong_line,
        altered_quote,
        quote_from_another_line,
        beyond_the_file,
        backward_range,
        empty_quote,
        wrong_line_in_text,
        changed_digit_in_text,
        changed_digit_in_value,
        invented_fact,
        wrong_unit,
        invented_unit,
        percent_for_fraction,
        thousands_for_binary,
        lost_thousands,
        wrong_exponent,
        swapped_values,
        swapped_facts,
        fact_of_another_case,
        foreign_name,
        misplaced_name,
        called_measured,
        unsaid_provenance,
        unsupported_number,
        no_evidence,
    )
)


@dataclass(frozen=True, slots=True)
class Corrupted:
    """A draft with one spoiled statement.

    Attributes:
        case: With the corrupted draft.
        place: Which statement it is.
        corruption: What was done to it.
    """

    case: Case
    place: str
    corruption: Corruption


def corrupt(case: Case, corruption: Corruption, cases: Sequence[Case]) -> Corrupted | None:
    """Return `case` with one statement spoiled, always the same one, or None where none can be."""
    chance = random.Random(f"{case.name} {corruption.name}")
    statements = chance.sample(case.statements, len(case.statements))
    for statement in statements:
        spoiled = corruption.spoil(Site(statement, case, cases, chance))
        if spoiled is not None:
            return Corrupted(case.with_statement(statement.place, *spoiled), statement.place, corruption)
    return None

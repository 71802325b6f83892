"""The prompt that a language model is given: a published text, filled in one pass.

A prompt file has parts, separated by lines that hold `PART` alone. All but the last are system text that does
not change between submissions, the least changing first, so that providers can keep them; only the last holds
what was submitted. Parts are split before anything is filled in, and placeholders are filled in one pass, so
nothing that others wrote can add a part or pull a value in.

What others wrote stands between a BEGIN and an END line with a mark, and inside a fence longer than any run
of backticks or tildes in it. The mark of a submission is random, and drawn again if the text knows it. The
mark of a task is the hash of its text, which no text can hold; it stays the same, so that it can be cached.
"""

from __future__ import annotations

import itertools
import math
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np

from pipeline.errors import GraderError
from pipeline.judge.citations import split_lines
from pipeline.judge.claims import Claim, separate_claims
from pipeline.judge.evidence import show_facts, show_findings
from pipeline.judge.privacy import redact, redact_code
from pipeline.judge.protocol import JudgeRequest
from pipeline.types import Criterion, Fault, Owner, Prompt, Rubric, Task, hash_text
from pipeline.types.visible import show_controls

__all__ = ["PART", "RenderedPrompt", "estimate_tokens", "fence", "render_prompt"]

#: The line that ends a part of a prompt file.
PART: Final = "<!-- part -->"

_MARK_BYTES: Final = 16
_SECRET: Final = secrets.token_bytes(32)
_MARKS: Final = itertools.count()
_RUNS: Final = re.compile(r"`+|~+")
_PLACEHOLDER: Final = re.compile(r"\{\{([a-z][a-z_]*)\}\}")


#: Kind of each byte, and how many of a kind in a row may be one token.
_OTHER, _SMALL, _CAPITAL, _BLANK, _TAB = range(5)
_KINDS: Final = np.full(256, _OTHER, dtype=np.int64)
_KINDS[ord("a") : ord("z") + 1] = _SMALL
_KINDS[ord("A") : ord("Z") + 1] = _CAPITAL
_KINDS[ord(" ")] = _BLANK
_KINDS[ord("\t")] = _TAB
_PER_TOKEN: Final = np.array([1, 4, 2, 16, 16])


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """What a model is shown.

    Attributes:
        system: Parts that do not depend on the submission, the least changing first; each ends a prefix worth
            caching. Empty for prompts of one part.
        user: The part that holds the submission.
        boundary: The random mark around what was submitted; nothing submitted contains it.
        identity: Everything shown, with a fixed mark in place of the random one. Two prompts have the same
            identity only if they show the same.
        shown: Lines of the code as the model sees them, without their numbers: claims taken out, redacted,
            invisible characters made visible.
    """

    system: tuple[str, ...]
    user: str
    boundary: str
    identity: str
    shown: tuple[str, ...]


def render_prompt(request: JudgeRequest) -> RenderedPrompt:
    """Return the parts of `request.prompt` with every placeholder filled from `request`.

    Only criteria that a judge scores are listed; those that checks settle are known already. Code is never
    shortened, whatever its length.

    Raises:
        GraderError: If the prompt has a placeholder that nothing fills, or shows a submission in a part that
            is to be the same for all.
    """
    parts = re.split(rf"^{re.escape(PART)}\n", request.prompt.text, flags=re.MULTILINE)
    stable = _describe_task(request.task) | {"criteria": _show_criteria(request.rubric)}
    shown, claims = _show_code(request.submission.code)
    submitted = {
        "facts": show_facts(request),
        "findings": show_findings(request),
        "code": _number(enumerate(shown, start=1), len(shown)),
        "claims": claims,
    }
    boundary = _draw_mark(submitted, _make_mark)
    values = {
        **stable,
        "verdict": request.verdict.value,
        "boundary": boundary,
        **{name: _enclose(name, text, boundary) for name, text in submitted.items()},
    }
    _check_placeholders(request.prompt, parts, stable, values)
    system = tuple(_fill(part, stable).strip() for part in parts[:-1])
    user = _fill(parts[-1], values).strip()
    fixed = map(str, range(10**_MARK_BYTES))
    identity = user.replace(boundary, _draw_mark(submitted, lambda: next(fixed).zfill(2 * _MARK_BYTES)))
    return RenderedPrompt(system, user, boundary, "\0".join((*system, identity)), tuple(shown))


def _make_mark() -> str:
    """Return a mark that nobody outside this process can foresee, without asking the system each time."""
    number = next(_MARKS).to_bytes(8, "big")
    return blake2b(number, key=_SECRET, digest_size=_MARK_BYTES).hexdigest()


def fence(text: str, language: str = "") -> str:
    """Return `text` as a fenced Markdown block that nothing inside it can close."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.strip(chr(10))}\n{ticks}"


@lru_cache(maxsize=128)
def estimate_tokens(text: str) -> int:
    """Return how many tokens `text` may be: an upper estimate for code and prose, not a bound.

    Every four small letters or two capitals of a run, digit, sign, line, run of sixteen blanks and byte
    outside ASCII counts as one. On 180 kernels, rubrics, prompts and pages of this repository that is 1.1 to
    1.8 times what the tokenizers cl100k, o200k, DeepSeek's and Claude 2's make of them (tried in 2026). A
    quarter is added for those of newer models, which nobody outside can count with. Noise without words, such
    as base64, may be more than is said here.
    """
    # Counted on arrays: prompts are long, and every one is counted before it is sent.
    kinds = _KINDS[np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)]
    if not kinds.size:
        return 0
    starts = np.flatnonzero(np.concatenate(([True], kinds[1:] != kinds[:-1])))
    lengths = np.diff(np.append(starts, kinds.size))
    tokens = int(np.sum(-(-lengths // _PER_TOKEN[kinds[starts]])))
    # A single blank belongs to the word behind it.
    tokens -= int(np.count_nonzero((kinds[starts] == _BLANK) & (lengths == 1)))
    return math.ceil(tokens * 1.25)


def _fill(part: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], part)


def _check_placeholders(
    prompt: Prompt, parts: list[str], stable: Mapping[str, str], values: Mapping[str, str]
) -> None:
    unknown = [name for name in prompt.placeholders if name not in values]
    if unknown:
        raise _refuse(
            prompt, "unknown_placeholder", f"asks for {', '.join(unknown)}", f"known: {', '.join(values)}"
        )
    leaked = [name for part in parts[:-1] for name in _PLACEHOLDER.findall(part) if name not in stable]
    if leaked:
        raise _refuse(
            prompt,
            "submission_in_system",
            f"shows {', '.join(leaked)} before its last part",
            "show what depends on the submission in the last part only",
        )


def _refuse(prompt: Prompt, code: str, message: str, remedy: str) -> GraderError:
    message = f"prompt {prompt.id} {prompt.version} {message}"
    return GraderError(Fault(owner=Owner.GRADER, code=code, message=message, remedy=remedy))


def _draw_mark(texts: Mapping[str, str], draw: Callable[[], str]) -> str:
    """Return a mark that stands in none of `texts`."""
    while True:
        mark = draw()
        if not any(mark in text for text in texts.values()):
            return mark


def _enclose(name: str, text: str, mark: str) -> str:
    return f"BEGIN {mark} {name}\n{fence(text)}\nEND {mark} {name}"


def _describe_task(task: Task) -> dict[str, str]:
    statement = _show_text(task.statement)
    files = {_join_lines(show_controls(name)): _show_text(text) for name, text in sorted(task.source.items())}
    mark = hash_text(statement, *files, *files.values())[: 2 * _MARK_BYTES]
    sources = (f"{name}\n\n{_enclose('source', text, mark)}" for name, text in files.items())
    return {
        "task": _join_lines(show_controls(task.title)),
        "statement": _enclose("statement", statement, mark),
        "source": "\n\n".join(sources) or "None.",
    }


def _show_text(text: str) -> str:
    return show_controls("\n".join(split_lines(text)))


def _show_code(code: str) -> tuple[list[str], str]:
    """Return the lines of the code without claims, and the claims by line."""
    separated = separate_claims(code)
    if separated is None:
        lines = "\n".join(split_lines(code))
        return show_controls(redact(lines)).split("\n"), "Not told apart from the code."
    bare, claims = separated
    shown = show_controls(redact_code("\n".join(bare))).split("\n")
    if not claims:
        return shown, "None."
    said = show_controls(redact("\n".join(claim.text for claim in claims))).split("\n")
    return shown, _number(zip(_list_claim_lines(claims), said, strict=True), len(shown))


def _list_claim_lines(claims: list[Claim]) -> Iterator[int]:
    for claim in claims:
        yield from range(claim.line, claim.line + claim.text.count("\n") + 1)


def _number(lines: Iterable[tuple[int, str]], last: int) -> str:
    """Return `lines` with their numbers before a bar; text that imitates a number comes after one too."""
    width = len(str(last))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in lines)


def _show_criteria(rubric: Rubric) -> str:
    return "\n\n".join(_show_criterion(criterion) for criterion in rubric.criteria if criterion.check is None)


def _show_criterion(criterion: Criterion) -> str:
    anchors = "\n".join(
        f"- Level {level.level}: {_join_lines(level.anchor)}"
        for level in sorted(criterion.levels, key=lambda level: -level.level)
    )
    question, evidence = _join_lines(criterion.question), ", ".join(criterion.evidence)
    return f"## {criterion.id}: {criterion.title}\n\n{question}\nEvidence: {evidence}\n\n{anchors}"


def _join_lines(text: str) -> str:
    return " ".join(text.split())

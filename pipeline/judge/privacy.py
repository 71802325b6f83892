"""What leaves this machine: never who wrote something, or where it lay.

Redaction takes out what people say about themselves in passing: addresses, author lines, user names in paths.
It is no anonymisation: a name in running prose, or one spelt as an identifier, stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pipeline.judge.lexemes import NotPython, scan

if TYPE_CHECKING:
    from pipeline.judge.prompt import RenderedPrompt
    from pipeline.judge.protocol import JudgeRequest

__all__ = ["NEVER_SENT", "SentItem", "list_sent", "redact", "redact_code"]

#: What no call carries, in the words of a reader of ``--dry-run``.
NEVER_SENT: Final = (
    "names of authors and reviewers, and their e-mail addresses",
    "file paths, user names in paths, and where a submission came from",
    "ids of submissions, gradings, batches and people",
    "the rest of a model response that the code was taken out of",
    "the task's reference, its starter, its solutions and what is expected of them",
    "names, sizes and inputs of hidden cases",
    "grades and feedback given before, by machines or people",
)

_NAME: Final = "<name>"
_EMAIL: Final = "<e-mail>"
_PATH: Final = "<path>"

#: Local part of at most 64 characters (RFC 5321, 4.5.3.1.1). It begins where a run begins, so a long run of
#: letters is looked at once and not from each of its characters. Matrix products such as ``a@b.T`` have no
#: top-level domain of two letters.
_ADDRESS: Final = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}", re.UNICODE)
#: Folders under which people keep their own files; ``/a/b`` in prose names nobody.
_ROOTS: Final = (
    "home|Users|root|mnt|media|tmp|private|var|opt|srv|data|work|workspace|workspaces|scratch|export|net|nfs"
    "|fsx|efs|shared|projects?|Volumes"
)
_UNIX_PATH: Final = re.compile(rf"(?<![\w.:/~])(?:file:/{{0,2}})?/(?:{_ROOTS})/[^\s\"'`<>|,;()\[\]{{}}]*")
_HOME_PATH: Final = re.compile(r"(?<![\w.:/~])~[\w.-]{0,64}/[^\s\"'`<>|,;()\[\]{}]*")
#: A folder name may hold single spaces where a separator follows, as in ``C:\Users\Jane Doe\kernel.py``.
_WINDOWS_PATH: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z]:(?:\\{1,2}|/)"
    r"(?:[\w.$-]{2,64}(?: [\w.$-]{1,64}){0,4}(?:\\{1,2}|/)){1,32}[\w.$-]{0,64}"
)
_COPYRIGHT: Final = re.compile(
    r"((?:copyright(?:text)?:?|©)(?:[ \t]*(?:\(c\)|©))?(?:[ \t]*\d{4}(?:[ \t]?[-,][ \t]?\d{4}){0,8})?)"
    r"([^\r\n]*)",
    re.IGNORECASE,
)
_AUTHOR: Final = re.compile(
    r"((?:@authors?\b:?|\b(?:authors?|maintainers?|contributors?|contact|username)[ \t]{0,4}[:=]))([^\r\n]*)",
    re.IGNORECASE,
)
_AUTHOR_LIST: Final = re.compile(
    r"(\b(?:authors|maintainers|contributors)[ \t]{0,4}:?[ \t]{0,80}\r?\n)"
    r"((?:[ \t]{0,80}#?[ \t]{0,80}[-*•][ \t][^\r\n]*(?:\r?\n|\Z)){1,200})",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"([-*•][ \t]{1,80})[^\r\n]+")
#: What is credited with an effect, rather than with a work.
_NO_NAMES: Final = (
    "The|A|An|This|That|It|Each|Every|All|Hand|Default|Tensor|Vector|Scalar|GpSimd|GPSIMD|Sync|Engine|Pool|PE"
    "|ACT|DMA|DMAs|PSUM|SBUF|HBM|NKI|CPU|GPU|CUDA|Triton|Python|NumPy"
)
_CREDIT: Final = re.compile(
    r"(\b(?i:written|created|developed|implemented|authored|contributed|maintained|modified|optimi[sz]ed)"
    rf"[ \t](?i:by):?[ \t]{{1,4}})(?!(?:{_NO_NAMES})\b)"
    r"[^\W\d_a-z][\w'’.-]{1,40}(?:[ \t][^\W\d_a-z][\w'’.-]{0,40}){0,3}"
)
_TO_DO: Final = re.compile(r"(\b(?:TODO|FIXME|XXX|HACK)[ \t]?)\(([^()\r\n]{1,60})\)")
#: What ends a comment or string and is kept when the rest of its line is taken out.
_CLOSINGS: Final = ('"""', "'''", '"', "'", "*/")
_OPENING: Final = re.compile(r"[A-Za-z]{0,3}(\"\"\"|'''|\"|')")
_ABOUT_AUTHORS: Final = frozenset(
    {
        "__author__",
        "__authors__",
        "__maintainer__",
        "__email__",
        "__credits__",
        "__contact__",
        "__copyright__",
    }
)


def redact(text: str) -> str:
    """Return `text` with addresses, names on author lines and personal paths replaced by placeholders.

    For prose: comments, docstrings, messages. The number of lines stays, and so does every line's place.
    """
    for occurs, take_out in _STEPS:
        if occurs(text):
            text = take_out(text)
    return text


def redact_code(code: str) -> str:
    """Return Python `code` with comments and string literals redacted, and every other token as it was.

    What is assigned to ``__author__`` and its like is replaced whole. Where strings cannot be told from code,
    all of it is redacted. Lines end in line feeds.
    """
    if not any(occurs(code) for occurs, _ in _STEPS):
        return code
    try:
        changes = list(_list_changes(code))
    except NotPython:
        return redact(code)
    pieces: list[str] = []
    done = 0
    for start, end, text in changes:
        pieces += (code[done:start], text)
        done = end
    return "".join((*pieces, code[done:]))


@dataclass(frozen=True, slots=True)
class SentItem:
    """One part of what a call sends.

    Attributes:
        what: What it is, e.g. ``code``.
        characters: How much of it.
        where_from: What it was made of.
    """

    what: str
    characters: int
    where_from: str


def list_sent(rendered: RenderedPrompt, request: JudgeRequest) -> list[SentItem]:
    """Return all that a call with `rendered` sends to a model, in order; `NEVER_SENT` lists what none does.

    The characters of all items together are those of the prompt.
    """
    rubric, prompt = request.rubric, request.prompt
    texts = f"prompt {prompt.id} {prompt.version}, rubric {rubric.id} {rubric.version}"
    task = f"task {request.task.id}: title, statement, original source"
    whole = [
        SentItem("task", len(part), task) if place else SentItem("guidance and rubric", len(part), texts)
        for place, part in enumerate(rendered.system)
    ]
    blocks = [
        SentItem(name, length, _SECTIONS.get(name, "the submission"))
        for name, length in _find_blocks(rendered)
    ]
    frame = len(rendered.user) - sum(block.characters for block in blocks)
    return [*whole, *blocks, SentItem("verdict, headings and marks", frame, f"the run, {texts}")]


_SECTIONS: Final = {
    "facts": "the run: values, units, provenance, names of listed cases",
    "findings": "what deterministic checks said",
    "code": "the submission, without comments and docstrings, redacted",
    "claims": "comments and docstrings of the submission, redacted",
}


def _find_blocks(rendered: RenderedPrompt) -> Iterator[tuple[str, int]]:
    """Yield name and length of each block between random marks in the user's message, marks included."""
    mark = re.escape(rendered.boundary)
    block = re.compile(rf"^BEGIN {mark} (\w+)\n.*?^END {mark} \1$", re.DOTALL | re.MULTILINE)
    for match in block.finditer(rendered.user):
        yield match[1], len(match[0])


def _take_out_rest(match: re.Match[str]) -> str:
    """Keep what announces a name and what closes the comment; take out what is between."""
    rest = match[2].rstrip(" \t")
    closing = next((end for end in _CLOSINGS if rest.endswith(end)), "")
    if not any(map(str.isalnum, rest)):
        return match[0]
    return f"{match[1]} {_NAME}{closing}"


def _list_changes(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield start and end of each literal that has to change, in order, and what stands for it."""
    names_somebody = False
    depth = 0
    for kind, start, end in scan(code):
        depth = max(0, depth + (kind == "open") - (kind == "close"))
        if kind == "newline" and depth == 0:
            names_somebody = False
        elif kind == "word" and code[start:end] in _ABOUT_AUTHORS:
            names_somebody = True
        elif kind in ("comment", "string", "template"):
            literal = code[start:end]
            text = _take_out_content(literal) if names_somebody else redact(literal)
            if text != literal:
                yield start, end, text


def _take_out_content(literal: str) -> str:
    """Return a string literal with a placeholder in it; anything else is redacted as prose."""
    opening = _OPENING.match(literal)
    if opening is None:
        return redact(literal)
    return f"{opening[0]}{_NAME}{chr(10) * literal.count(chr(10))}{opening[1]}"


def _take_out_list(match: re.Match[str]) -> str:
    return match[1] + _BULLET.sub(rf"\1{_NAME}", match[2])


def _mention(*words: str) -> Callable[[str], bool]:
    """Return a test that is far cheaper than the pattern it stands before; most texts fail all of them."""

    def occurs(text: str) -> bool:
        lowered = text.lower()
        return any(word in lowered for word in words)

    return occurs


#: What to look for, and what to do where it occurs; in this order, since a name may stand beside an address.
_STEPS: Final[tuple[tuple[Callable[[str], object], Callable[[str], str]], ...]] = (
    (re.compile(r"\w@[\w-]").search, partial(_ADDRESS.sub, _EMAIL)),
    (re.compile(r":[\\/]").search, partial(_WINDOWS_PATH.sub, _PATH)),
    (re.compile(rf"/(?:{_ROOTS})/").search, partial(_UNIX_PATH.sub, _PATH)),
    (_mention("~"), partial(_HOME_PATH.sub, _PATH)),
    (_mention("copyright", "©"), partial(_COPYRIGHT.sub, _take_out_rest)),
    (_mention("authors", "maintainers", "contributors"), partial(_AUTHOR_LIST.sub, _take_out_list)),
    (
        _mention("author", "maintainer", "contributor", "contact", "username", *_ABOUT_AUTHORS),
        partial(_AUTHOR.sub, _take_out_rest),
    ),
    (_mention(" by ", " by:"), partial(_CREDIT.sub, rf"\1{_NAME}")),
    (_mention("todo", "fixme", "xxx", "hack"), partial(_TO_DO.sub, rf"\1({_NAME})")),
)

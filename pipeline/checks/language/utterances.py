"""What a submission says rather than does: its comments, strings and names, folded to plain letters.

Only the tokenizer is used: a parser can be driven into the ground by nesting. Time is linear in the code.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Utterance", "fold", "listen", "split_lines", "unwrap"]

#: Prefix, quotes and content of a string token.
_STRING: Final = re.compile(r"[A-Za-z]*('''|\"\"\"|'|\")(.*)\1\Z", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([nrt]))")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SPACED: Final = re.compile(r"\b\w(?: \w){4,}\b(?: {2,}\w(?: \w)*\b)*")
_MIXED: Final = re.compile(r"[a-z][Ѐ-ӿ]|[Ѐ-ӿ][a-z]")
_DIGIT_IN_WORD: Final = re.compile(r"\b(?=\w*[a-z])(?=\w*\d)[a-z0-9]{3,32}\b")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEXADECIMAL: Final = re.compile(r"(?:[0-9a-f]{2}){16,}")
#: Cyrillic letters that a reader takes for Latin ones.
_LOOK_ALIKES: Final = str.maketrans("авеікмнорстухјѕԁһԛԝ", "abeikmhopctyxjsdhqw")
_DIGITS_AS_LETTERS: Final = str.maketrans("0134578$@", "oieastbsa")
#: Tag characters spell ASCII without being seen.
_TAGS: Final = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
#: Names in a row, keywords included, beyond what any statement of Python has ("for a in b if not c is d").
_PROSE_WORDS: Final = 10
#: Tokens that carry neither code nor text.
_LAYOUT: Final = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)

#: A line and what stands there.
_Piece = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text and where each of its lines comes from.

    Attributes:
        text: Folded, see `fold`; its lines are the `lines` below.
        raw: As written.
        lines: Line of the submission for each line of `text`, 1-based; 0 for what stands in no line.
        kind: ``comment``, ``docstring``, ``string``, ``name``, ``output`` or ``code``.
    """

    text: str
    raw: str
    lines: tuple[int, ...]
    kind: str

    def line_at(self, offset: int) -> int:
        """Return the line of the submission that character `offset` of `text` stands in."""
        return self.lines[min(self.text.count("\n", 0, offset), len(self.lines) - 1)]


def fold(text: str) -> str:
    """Return one line of `text` in lower-case letters without accents, marks, disguise or invisible signs."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_TAGS))
        text = "".join(
            sign for sign in text if unicodedata.category(sign) not in ("Cf", "Mn", "Cc", "Cs", "Me")
        )
    text = text.lower()
    if _MIXED.search(text):
        text = text.translate(_LOOK_ALIKES)
    text = _SPACED.sub(_close_up, text)
    return re.sub(r"[\s ]+", " ", text).strip()


def unwrap(utterance: Utterance) -> Iterator[str]:
    """Yield what `utterance` may hide: base64, hexadecimal, rot13, reversed letters, digits for letters.

    Whatever is no such thing comes out as gibberish, which says nothing in any language.
    """
    for found in _BASE64.finditer(utterance.raw):
        yield from _decode(found.group())
    for found in _HEXADECIMAL.finditer(utterance.text):
        yield from _readable(bytes.fromhex(found.group()))
    yield codecs.encode(utterance.text, "rot13")
    yield utterance.text[::-1]
    if _DIGIT_IN_WORD.search(utterance.text):
        yield _DIGIT_IN_WORD.sub(lambda found: found.group().translate(_DIGITS_AS_LETTERS), utterance.text)


def split_lines(code: str) -> list[str]:
    """Return the lines of `code` as Python counts them."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def listen(code: str) -> list[Utterance]:
    """Return everything that `code` says; of what is no Python, every line as it stands."""
    tokens, broken = _tokenize(code)
    comments = [
        (token.start[0], token.string.lstrip("#! ")) for token in tokens if token.type == tokenize.COMMENT
    ]
    said = [_utter(block, "comment") for block in _join_neighbours(comments)]
    docstrings, strings = _read_strings(tokens)
    said += [_utter(pieces, "docstring") for pieces in docstrings]
    said += [_utter(pieces, "string") for pieces in strings]
    short = [pieces[0] for pieces in strings if len(pieces) == 1]
    if len(short) > 1:
        # A sentence cut into several literals is one again when they stand side by side.
        said.append(_utter_joined(short))
    said += _read_names(tokens, strings)
    said += _read_prose(tokens)
    if broken:
        lines = enumerate(split_lines(code), start=1)
        said += [_utter([(number, line)], "code") for number, line in lines if line.strip()]
    return said


def _tokenize(code: str) -> tuple[list[tokenize.TokenInfo], bool]:
    """Return the tokens up to where `code` stops being Python, and whether it does."""
    source = io.StringIO(code, newline=None)
    tokens: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(source.readline):
            tokens.append(token)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return tokens, True
    return tokens, any(token.type == tokenize.ERRORTOKEN for token in tokens)


def _read_strings(
    tokens: Sequence[tokenize.TokenInfo],
) -> tuple[list[list[_Piece]], list[list[_Piece]]]:
    """Return strings that are statements by themselves, and all others."""
    docstrings: list[list[_Piece]] = []
    strings: list[list[_Piece]] = []
    statement: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            alone = all(part.type == tokenize.STRING for part in statement)
            found = [_split_string(part) for part in statement if part.type == tokenize.STRING]
            (docstrings if alone else strings).extend(found)
            statement = []
        elif token.type not in _LAYOUT:
            statement.append(token)
    strings += [_split_string(part) for part in statement if part.type == tokenize.STRING]
    return docstrings, strings


def _split_string(token: tokenize.TokenInfo) -> list[_Piece]:
    found = _STRING.match(token.string)
    content = found.group(2) if found else token.string
    return [
        (token.start[0] + row, _ESCAPE.sub(_unescape, line)) for row, line in enumerate(content.split("\n"))
    ]


def _unescape(found: re.Match[str]) -> str:
    digits = found.group(1) or found.group(2) or found.group(3)
    if digits is None:
        # A line break inside a literal is one to whoever reads what is printed.
        return "\n" if found.group(4) == "n" else " "
    value = int(digits, 16)
    return chr(value) if value < 0x110000 else ""


def _read_names(
    tokens: Sequence[tokenize.TokenInfo], strings: Sequence[Sequence[_Piece]]
) -> Iterator[Utterance]:
    """Yield every name of three words or more, once, as the sentence that its words make.

    A string without blanks may be a name too: that of a tensor, which errors repeat.
    """
    names = {token.string: token.start[0] for token in reversed(tokens) if token.type == tokenize.NAME}
    names |= {text: line for pieces in strings for line, text in pieces if " " not in text}
    for name, line in names.items():
        words = _WORDS.findall(name) if name.isascii() else [name]
        if len(words) >= 3 or not name.isascii():
            yield _utter([(line, " ".join(words))], "name")


def _read_prose(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[Utterance]:
    """Yield lines on which so many names follow one another that they are no Python."""
    run: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.NAME:
            run.append(token)
            continue
        if len(run) >= _PROSE_WORDS:
            yield _utter([(run[0].start[0], " ".join(word.string for word in run))], "code")
        run = []


def _join_neighbours(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield runs of comments on lines that follow one another."""
    block: list[_Piece] = []
    for piece in pieces:
        if block and piece[0] > block[-1][0] + 1:
            yield block
            block = []
        block.append(piece)
    if block:
        yield block


def _utter(pieces: Sequence[_Piece], kind: str) -> Utterance:
    split = [(line, part) for line, text in pieces for part in text.split("\n")]
    return Utterance(
        text="\n".join(fold(part) for _, part in split),
        raw="\n".join(part for _, part in split),
        lines=tuple(line for line, _ in split),
        kind=kind,
    )


def _utter_joined(pieces: Sequence[_Piece]) -> Utterance:
    raw = "".join(text for _, text in pieces)
    return Utterance(text=fold(raw), raw=raw, lines=(pieces[0][0],), kind="string")


def _close_up(found: re.Match[str]) -> str:
    return re.sub(r"(?<=\w) (?=\w)", "", found.group())


def _decode(text: str) -> Iterator[str]:
    try:
        decoded = base64.b64decode(
            text + "=" * (-len(text) % 4), altchars=b"-_" if set("-_") & set(text) else None
        )
    except (binascii.Error, ValueError):
        return
    yield from _readable(decoded)


def _readable(decoded: bytes) -> Iterator[str]:
    try:
        text = decoded.decode("utf-8")
    except UnicodeDecodeError:
        return
    if text.isprintable():
        yield fold(text)

"""Take the kernel out of a model's response.

The rule: the kernel is the one fenced code block that is marked ``python`` (or ``py``, ``python3``) or not
marked at all and that defines the entry function at its top level. The same block twice counts once. A
response without such a block, or with several different ones, holds no kernel: choosing for the author
would be grading something that nobody handed in.

A fence is a line of at least three backticks or tildes; it is closed by a line of the same character, at
least as long, with nothing behind it. It may be indented, as in a list: its indentation is removed from its
lines. A block that is never closed was cut off and is no candidate.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

from pipeline.library.syntax import parse_module

__all__ = ["KernelNotFound", "extract_kernel"]

# Possessive, so that no line, however long, is tried in more than one way.
_FENCE: Final = re.compile(r"^([ \t]*+)(`{3,}+|~{3,}+)([^`\r\n]*+)$")
#: A longer block is no admissible kernel, and parsing one could take gigabytes.
_PARSED_CHARACTERS: Final = 256 << 10
_LANGUAGES: Final = frozenset({"", "python", "py", "python3"})


class KernelNotFound(ValueError):
    """No kernel, or more than one.

    Attributes:
        code: ``no_code_block``, ``no_kernel``, ``cut_off`` or ``several_kernels``.
        remedy: What the author can do.
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    text: str
    line: int
    closed: bool


def extract_kernel(response: str, entry: str) -> str:
    """Return the code of the one block in `response` that defines `entry`.

    Raises:
        KernelNotFound: If no block or several different blocks do.
    """
    one_block = f"put the whole kernel, with its imports, into one ```python block that defines {entry}()"
    blocks = [block for block in _blocks(response) if block.language in _LANGUAGES]
    defining = [block for block in blocks if _defines(block.text, entry)]
    candidates = {block.text: block for block in reversed(defining) if block.closed}
    if len(candidates) > 1:
        lines = ", ".join(str(block.line) for block in reversed(candidates.values()))
        raise KernelNotFound(
            "several_kernels",
            f"{len(candidates)} different code blocks define {entry}() (at lines {lines} of the response)",
            "hand in one of them",
        )
    if candidates:
        return next(iter(candidates))
    if defining:
        message = f"the code block at line {defining[0].line} of the response is never closed: it was cut off"
        raise KernelNotFound("cut_off", message, "hand in the whole response; raise the limit on its length")
    if blocks:
        message = f"none of the {len(blocks)} Python code blocks in the response defines {entry}()"
        raise KernelNotFound("no_kernel", message, one_block)
    raise KernelNotFound("no_code_block", "the response holds no fenced Python code block", one_block)


def _blocks(response: str) -> list[_Block]:
    blocks: list[_Block] = []
    fence, language, indent, first, lines = "", "", "", 0, list[str]()
    # Only real line ends: str.splitlines would also split at form feeds, which may stand in code.
    for number, line in enumerate(re.split(r"\r\n|\n|\r", response), 1):
        match = _FENCE.match(line)
        if not fence:
            if match:
                indent, fence, info = match.groups()
                language, first, lines = info.strip(" \t").split(" ")[0].lower().strip("{}."), number, []
        elif match and match[2].startswith(fence) and not match[3].strip(" \t"):
            blocks.append(_Block(language, "".join(lines), first, closed=True))
            fence = ""
        else:
            lines.append(line.removeprefix(indent) + "\n")
    if fence:
        blocks.append(_Block(language, "".join(lines), first, closed=False))
    return blocks


def _defines(code: str, entry: str) -> bool:
    try:
        body = parse_module(code).body if len(code) <= _PARSED_CHARACTERS else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A kernel with a syntax error is still the kernel: the build names the line.
        body = None
    if body is None:
        return (
            re.search(rf"^(async[ \t]+)?def[ \t]+{re.escape(entry)}[ \t]*\(", code, re.MULTILINE) is not None
        )
    return any(entry in _bound_names(statement) for statement in body)


def _bound_names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []

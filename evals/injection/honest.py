"""Honest kernels whose comments use risky words in their honest sense: what must not be flagged.

Every right solution of a shipped task is spoken in every voice of `honest.toml`: 8 solutions, 32 voices.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HonestKernel", "make_honest"]

_VOICES = Path(__file__).with_name("honest.toml")
_IMPORT = "import nki.language as nl\n"


@dataclass(frozen=True, slots=True)
class HonestKernel:
    """A shipped solution in one voice."""

    name: str
    task: str
    code: str


def make_honest(tasks: Path) -> Iterator[HonestKernel]:
    """Yield every right solution under `tasks` in every voice, always in the same order."""
    voices = tomllib.loads(_VOICES.read_text(encoding="utf-8"))
    for path in sorted(tasks.glob("*/solutions/good_*.py")):
        task = path.parent.parent.name
        for name, voice in voices.items():
            yield HonestKernel(f"{task}/{path.stem}, {name}", task, _speak(path.read_text(), task, voice))


def _speak(code: str, entry: str, voice: dict[str, str]) -> str:
    code = code.replace(_IMPORT, _IMPORT + voice.get("constants", ""), 1)
    head, signature, rest = re.split(rf"(@nki\.jit\ndef {entry}\([^\n]*\):\n)", code, maxsplit=1)
    if "docstring" in voice:
        rest = re.sub(r'\A    """.*?"""\n', "", rest, flags=re.DOTALL)
        rest = f'    """{voice["docstring"]}\n    """\n{rest}'
    first, allocation, after = rest.partition("    out = ")
    remarks = "".join(f"    # {remark}\n" for remark in voice.get("remarks", "").splitlines())
    return voice.get("header", "") + head + signature + first + remarks + allocation + after

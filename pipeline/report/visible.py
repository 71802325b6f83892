"""Makes invisible characters of submitted text visible, wherever people read it.

A terminal obeys escape sequences, and both terminals and browsers reorder text around bidirectional controls,
so code could be shown that is not the code that ran ("Trojan Source", CVE-2021-42574).
"""

from __future__ import annotations

from typing import Final

__all__ = ["show_controls"]

#: Code points that change how their neighbours look without being seen themselves.
_INVISIBLE: Final = (
    *range(0x7F, 0xA0),
    0xAD,
    0x061C,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)

_VISIBLE: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **{code: f"⟦U+{code:04X}⟧" for code in _INVISIBLE},
    0x7F: "␡",
}


def show_controls(text: str) -> str:
    """Return `text` with every control and invisible formatting character replaced by a visible sign.

    Line feeds and tabs stay; lone surrogates, which no encoding takes, become ``⟦U+D800⟧`` and the like.
    """
    shown = text.translate(_VISIBLE)
    if shown.isascii():
        return shown
    return "".join(f"⟦U+{ord(sign):04X}⟧" if "\ud800" <= sign <= "\udfff" else sign for sign in shown)

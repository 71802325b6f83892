"""Makes invisible characters of submitted text visible, wherever people or models read it.

A terminal obeys escape sequences, and both terminals and browsers reorder text around bidirectional controls,
so code could be shown that is not the code that ran ("Trojan Source", CVE-2021-42574). A language model reads
what no person sees: tag characters and variation selectors carry whole hidden sentences.
"""

from __future__ import annotations

from typing import Final

__all__ = ["show_controls"]

#: Code points that are not seen themselves, or that change how their neighbours look.
_INVISIBLE: Final = (
    *range(0x7F, 0xA0),
    0xAD,
    0x034F,
    0x061C,
    *range(0x115F, 0x1161),
    *range(0x17B4, 0x17B6),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0x2800,
    0x3164,
    *range(0xFE00, 0xFE10),
    0xFEFF,
    0xFFA0,
    *range(0xFFF9, 0xFFFC),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE0200),
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

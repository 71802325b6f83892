"""Text that carries what nobody sees is shown for what it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.types.visible import show_controls

FILLERS = (0x034F, 0x115F, 0x17B4, 0x180E, 0x200D, 0x2063, 0x2800, 0x3164, 0xFFA0, 0x1D173)
SELECTORS = (0xFE00, 0xFE0F, 0xE0100, 0xE01EF)
TAGS = (0xE0001, 0xE0041, 0xE007F)


@pytest.mark.parametrize("code", FILLERS + SELECTORS + TAGS)
def test_fillers_selectors_and_tags_are_named(code: int) -> None:
    assert show_controls(f"a{chr(code)}b") == f"a⟦U+{code:04X}⟧b"


@given(st.text())
def test_no_formatting_character_is_left(text: str) -> None:
    left = {sign for sign in show_controls(text) if unicodedata.category(sign) in ("Cf", "Zl", "Zp")}
    # Signs that other scripts write numbers and words with, and that are seen.
    assert left <= set(
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    ) | {chr(code) for code in range(0x13430, 0x13440)}

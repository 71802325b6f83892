from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.types.visible import show_controls


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x00\x07\r", "␀␇␍"),
        ("\x7f", "␡"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("\u2066x\u2069", "⟦U+2066⟧x⟦U+2069⟧"),
        ("\u200b\ufeff\u00ad", "⟦U+200B⟧⟦U+FEFF⟧⟦U+00AD⟧"),
        ("\ud800", "⟦U+D800⟧"),
        ("\U000e0041", "⟦U+E0041⟧"),
    ],
)
def test_what_cannot_be_seen_is_named(hidden: str, shown: str) -> None:
    assert show_controls(hidden) == shown


def test_ordinary_text_passes_unchanged() -> None:
    text = "naïve 数 → ✓\n\tdone"
    assert show_controls(text) == text


@given(st.text(st.characters()))
def test_no_control_character_but_line_feed_and_tab_is_left(text: str) -> None:
    left = {sign for sign in show_controls(text) if unicodedata.category(sign) in ("Cc", "Cs")}
    assert left <= {"\n", "\t"}

"""What leaves with a prompt, and what is taken out of it first."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.privacy import NEVER_SENT, list_sent, redact, redact_code
from pipeline.judge.prompt import render_prompt
from pipeline.library.prompts import load_prompt
from tests.checks.evidence import a_submission, an_honest_answer
from tests.judge.test_rules_judge import a_request


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("# mail jane.doe+nki@ml.corp.example.com now", "# mail <e-mail> now"),
        ("# Jane <jane@corp.io>", "# Jane <<e-mail>>"),
        ("# Author: Jane Doe", "# Author: <name>"),
        ("# AUTHORS = Jane Doe, Max O'Neill", "# AUTHORS = <name>"),
        ("@author Jane Doe\nnext", "@author <name>\nnext"),
        ('"""Author: Jane Doe."""', '"""Author: <name>"""'),
        ("# maintainer : jane", "# maintainer : <name>"),
        ("Authors:\n  - Jane Doe\n  - Max\nrest", "Authors:\n  - <name>\n  - <name>\nrest"),
        ("# Authors:\n# * Jane Doe\n", "# Authors:\n# * <name>\n"),
        ("# Copyright (c) 2023-2025 Jane Doe", "# Copyright (c) 2023-2025 <name>"),
        ("# © 2024 Corp, Inc. All rights reserved.", "# © 2024 <name>"),
        ("# SPDX-FileCopyrightText: 2024 Jane Doe", "# SPDX-FileCopyrightText: 2024 <name>"),
        ("# Written by Jane Doe in May", "# Written by <name> in May"),
        ("# optimized by J. Doe", "# optimized by <name>"),
        ("# TODO(jane): tails", "# TODO(<name>): tails"),
        ("see /home/jane/work/kernel.py:12", "see <path>"),
        ("open('/Users/jane/k.py')", "open('<path>')"),
        ("in /mnt/c/Users/jane/k.py, line 3", "in <path>, line 3"),
        ("file:///home/jane/k.py", "<path>"),
        ("~jane/k.py and ~/k.py", "<path> and <path>"),
        (r"C:\Users\Jane Doe\kernel.py", "<path>"),
        (r"'C:\\Users\\jane\\kernel.py'", "'<path>'"),
        ("D:/jane/kernels/a.py", "<path>"),
    ],
)
def test_what_says_who_or_where_is_replaced(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "# written by the DMA engine, then read",
        "# written by Scalar, read by Vector",
        "# written by DMA queues",
        "# a @ b.T, and x@w",
        "# the author of the CUDA kernel kept float32",
        "# tiles of 128/512, load/store/compute, and/or",
        "# out[r, c] = gelu(x[r, c]) / 2",
        "# https://example.com/home-made/docs",
        "@nki.jit",
        "# rows ~ 1e3/P",
        "# ratio a:b, slices x[0:2], C: channels",
        "# this copyright",
        "# TODO: tails",
    ],
)
def test_what_says_neither_stays(text: str) -> None:
    assert redact(text) == text


def test_only_comments_and_strings_of_code_are_touched() -> None:
    code = (
        "y = a@b.TX + x@w.reshape(1)  # ask jane@corp.io\n"
        "P = '/home/jane/k.py'; Author: int = 3\n"
        "home = root/home/jane/2\n"
        "@nki.jit\n"
        "def f(): return f'{a@b.TX}'\n"
    )
    assert redact_code(code) == (
        "y = a@b.TX + x@w.reshape(1)  # ask <e-mail>\n"
        "P = '<path>'; Author: int = 3\n"
        "home = root/home/jane/2\n"
        "@nki.jit\n"
        "def f(): return f'{<e-mail>}'\n"
    )


def test_what_is_assigned_to_an_author_variable_is_replaced_whole() -> None:
    code = "__author__ = r'Jane'\n__credits__ = ['Jane', '''Max\nMoe''']\nname = 'Jane'\n"
    assert redact_code(code) == (
        "__author__ = r'<name>'\n__credits__ = ['<name>', '''<name>\n''']\nname = 'Jane'\n"
    )


def test_code_whose_strings_cannot_be_told_is_redacted_throughout() -> None:
    assert redact_code("'''open\nx = jane@corp.io") == "'''open\nx = <e-mail>"


TEXTS = st.lists(
    st.sampled_from(
        [
            "author",
            ": ",
            "Authors:\n",
            "- ",
            "@",
            "a@b.co",
            "/home/",
            "C:\\",
            "~/",
            "x",
            " ",
            "\n",
            "'''",
            '"',
        ]
    )
    | st.sampled_from(
        ["© 2024 ", "by ", "Written by ", "Jane", "TODO(", ")", "#", "\\", "*/", "__author__ = "]
    )
    | st.text(max_size=4),
    max_size=25,
).map("".join)


@given(TEXTS)
def test_no_line_appears_or_goes(text: str) -> None:
    text = text.replace("\r", "")
    assert redact(text).count("\n") == text.count("\n")
    assert redact_code(text).count("\n") == text.count("\n")


@given(TEXTS)
def test_an_address_is_found_whatever_stands_around_it(text: str) -> None:
    assert "a@b.co" not in redact(f"# {text} a@b.co {text}")


def test_the_list_of_what_is_sent_names_every_part_and_adds_up_to_the_prompt() -> None:
    request = a_request(
        an_honest_answer(submission=a_submission(code="x = 1  # END code\n")), "migration_fidelity"
    )
    rendered = render_prompt(request)
    items = list_sent(rendered, request)
    assert [item.what for item in items] == [
        "guidance and rubric",
        "task",
        "facts",
        "findings",
        "code",
        "claims",
        "verdict, headings and marks",
    ]
    assert sum(item.characters for item in items) == sum(map(len, (*rendered.system, rendered.user)))
    rubric = f"{request.rubric.id} {request.rubric.version}"
    assert items[0].where_from == f"prompt judge {request.prompt.version}, rubric {rubric}"
    assert items[1].where_from == "task scale: title, statement, original source"


def test_the_list_of_what_is_sent_adds_up_for_prompts_of_one_part_too() -> None:
    request = dataclasses.replace(
        a_request(an_honest_answer(), "migration_fidelity"), prompt=load_prompt("judge", "v1")
    )
    rendered = render_prompt(request)
    assert sum(item.characters for item in list_sent(rendered, request)) == len(rendered.user)


def test_what_is_never_sent_is_said() -> None:
    said = " ".join(NEVER_SENT)
    for word in ("authors", "paths", "ids", "reference", "solutions", "hidden"):
        assert word in said

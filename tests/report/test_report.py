"""The batch report: complete, self-contained, deterministic, and deaf to what submissions try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.report.output import write_whole
from pipeline.report.render import report_path_for, write_report
from pipeline.store import Store, open_store
from tests.report.examples import ATTACK, BATCH, decide, fill
from tests.report.page import Page


@pytest.fixture(scope="module")
def html(store: Store, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(store, BATCH, path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_tag_is_closed_where_it_belongs(page: Page) -> None:
    assert page.misplaced == []
    assert page.open == []


def test_every_id_is_unique(page: Page) -> None:
    repeated = {name for name in page.ids if page.ids.count(name) > 1}
    assert repeated == set()


def test_every_link_leads_to_something_in_the_page(page: Page) -> None:
    targets = {f"#{name}" for name in page.ids}
    assert [link for link in page.links if link not in targets] == []


def test_the_page_needs_no_script_and_loads_nothing(html: str, page: Page) -> None:
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert "url(http" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_hostile_text_reaches_the_reader_as_text_in_every_place(html: str, page: Page) -> None:
    assert "<script" not in html
    # Code, the kept response, the printed log, origin (twice), fault, reason of route (twice), case, level,
    # feedback, overall, check; a struck statement with its reason, a finding against the judge.
    assert page.words.count(" ".join(ATTACK.split())) >= 13


def test_characters_that_change_what_a_reader_sees_are_made_visible(html: str) -> None:
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "␛[31m⟦U+202E⟧" in Page(html).words


def test_every_submission_is_listed_with_verdict_route_and_reason(page: Page) -> None:
    for origin in ("in/correct.py", "in/syntax.py", "in/binary.py", "in/held.py", "in/open.py"):
        assert page.words.count(origin) == 2  # in the table and over its details
    assert "no certificate covers this judge yet" in page.words
    assert "not graded: the sandbox broke" in page.words
    assert "in/lost.py submission kernel.py:1: its task is not known" in page.words


def test_feedback_cites_lines_of_the_code_and_facts_with_their_provenance(page: Page) -> None:
    assert "#g-correct-L5" in page.links
    assert "#g-correct-F-run.worst_rel_l2" in page.links
    assert "The error is small. run.worst_rel_l2 = 1.25e-07 emulated" in page.words


def test_cited_lines_are_marked_and_no_others(html: str) -> None:
    assert 'class="line cited" id="g-correct-L5"' in html
    assert 'class="line" id="g-correct-L4"' in html


def test_criteria_show_level_anchor_and_source_and_unscored_is_no_zero(page: Page) -> None:
    assert "●●●● 4 Error margin weight 3 margin anchor 4 check:error_margin: far below" in page.words
    assert "unscored Explained weight 1 judge: needs a reader" in page.words


def test_a_draft_shows_what_was_struck_what_speaks_against_it_and_who_voted_how(page: Page) -> None:
    assert "The judge's draft 7 citations looked up, 0 statements struck" in page.words
    assert "explained judge m 1: 3, 0.50 sure second n 1: unscored" in page.words
    assert "The judge's draft 0 citations looked up, 1 statements struck" in page.words
    assert "judge m 1, feedback item 2:" in page.words


def test_failed_checks_come_first_and_those_without_evidence_last(page: Page) -> None:
    words = page.words[page.words.index("1 failed, 1 passed, 1 unknown") :]
    assert words.index("reads everything twice") < words.index("both case runs are right")
    assert words.index("both case runs are right") < words.index("nothing timed it")


def test_rates_carry_their_count_and_interval(page: Page) -> None:
    # One correct among the four with a verdict: Wilson's interval by hand is 0.0456 to 0.6994.
    assert "1 of 4 · 25 % (5–70 %)" in page.words


def test_the_limits_of_a_case_are_derived_beside_it(page: Page) -> None:
    assert "how the limits of out were derived sums of 128 terms" in page.words


def test_the_errors_of_an_output_are_drawn_once_and_told_in_words(html: str, page: Page) -> None:
    assert html.count('<svg class="figure errors"') == 1
    assert "97.6% of 128 elements are within one unit in the last place" in page.words


def test_shapes_and_names_of_hidden_cases_stay_hidden(html: str) -> None:
    assert "1009" not in html
    assert "secret tail" not in html


def test_a_draft_says_so_until_a_person_has_decided(tmp_path: Path) -> None:
    with open_store(tmp_path / "grades.duckdb") as store:
        fill(store)
        before = Page(write_report(store, BATCH, tmp_path / "before.html").read_text()).words
        decide(store)
        after = Page(write_report(store, BATCH, tmp_path / "after.html").read_text()).words
    assert "Overall 1.00 pass (draft)" in before
    assert "Overall 1.00 pass (draft)" not in after
    assert "Decided by ada. “Fine.”" in after


def test_the_same_rows_give_the_same_bytes(store: Store, html: str, tmp_path: Path) -> None:
    again = write_report(store, BATCH, tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == html


def test_a_report_that_cannot_be_written_leaves_the_old_one_whole(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("the old one")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(GraderError, match=r"report\.html: the report cannot be written: No space left"):
        write_report(store, BATCH, path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_to_a_pipe_goes_through_it_and_leaves_it_there(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with write_whole(pipe, "report") as file:
        file.write("all of it")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_folder_that_does_not_exist_is_named_with_a_remedy(store: Store, tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"there is no folder .*nowhere \(give another path"):
        write_report(store, BATCH, tmp_path / "nowhere" / "report.html")


def test_an_unknown_batch_writes_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_report(store, "b-unknown", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_report_lies_beside_its_database() -> None:
    assert report_path_for(Path("nights/monday.duckdb")) == Path("nights/monday.report.html")

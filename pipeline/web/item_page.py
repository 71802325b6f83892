"""What the pages of one item share: its address, its criteria with their evidence, and the draft."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote, unquote, urlencode

from fastapi import Path, Query, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Answer, Assessment, CheckReport, Criterion, Purpose, SavedDraft
from pipeline.web.access import allow
from pipeline.web.assessment_form import read_assessment, read_number, read_seconds, read_text
from pipeline.web.context import context_of
from pipeline.web.evidence import Evidence, fact_anchor
from pipeline.web.rendering import link
from pipeline.web.reruns import rerun_values
from pipeline.web.services import reading_of

__all__ = [
    "FLAGGED",
    "CriterionRow",
    "Mode",
    "ReviewId",
    "Reviewer",
    "Slot",
    "common_values",
    "go_on",
    "keep_draft",
    "list_criteria",
    "list_typed",
    "read_flag",
    "read_form",
    "read_stage",
    "shown_mode",
    "to_place",
]

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
ReviewId = Annotated[str, Path(max_length=100)]
Slot = Annotated[int, Path(ge=0, le=1000)]
Mode = Annotated[str, Query(max_length=300)]

#: What a page says of an item that was flagged.
FLAGGED: Final = "A lead will look at this item. You can go on with it."

_LONGEST_REASON: Final = 2000
_SMALL_FIELDS: Final = (
    "new.first",
    "new.last",
    "new.text",
    "new.part",
    "new.feedback",
    "flag.reason",
    "skip.reason",
)


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion as a page shows it.

    Attributes:
        criterion: The criterion.
        share: Of the rubric's weight, 0..1.
        asked: Whether a person levels it.
        settled: The level that a check settled, with its reason; None where none did.
        report: What that check says.
        findings: Numbers of its findings in the page.
        links: What to look at: words, and an anchor in the page where there is one.
    """

    criterion: Criterion
    share: float
    asked: bool
    settled: Answer | None
    report: CheckReport | None
    findings: tuple[int, ...]
    links: tuple[tuple[str, str], ...]


def list_criteria(request: Request, place: Place, evidence: Evidence) -> list[CriterionRow]:
    """Return the criteria in the rubric's order, without anything that a judge said of them."""
    desk, review_id = context_of(request).desk, place.item.review.id
    rubric = desk.rubric_of(review_id)
    asked, settled = set(desk.asked_criteria(review_id)), desk.settled_answers(review_id)
    weight = sum(criterion.weight for criterion in rubric.criteria) or 1.0
    rows = []
    for criterion in rubric.criteria:
        report = evidence.report_of(criterion.check) if criterion.check else None
        own = report.findings if report else ()
        rows.append(
            CriterionRow(
                criterion=criterion,
                share=criterion.weight / weight,
                asked=criterion.id in asked,
                settled=settled.get(criterion.id),
                report=report,
                findings=tuple(
                    number for number, finding in enumerate(evidence.findings, 1) if finding in own
                ),
                links=tuple(_link_evidence(criterion, evidence)),
            )
        )
    return rows


def _link_evidence(criterion: Criterion, evidence: Evidence) -> Iterator[tuple[str, str]]:
    known = {fact.id: fact for tab in evidence.tabs for fact in tab.facts}
    for name in criterion.evidence:
        if name in known:
            yield f"{known[name].label or name}: {known[name].text}", fact_anchor(name)
        elif name in ("code", "source", "statement"):
            yield name, "statement" if name == "statement" else "code"
        else:
            yield f"{name}: not known", ""


def common_values(request: Request, account: Account, place: Place, mode: str) -> dict[str, Any]:
    """Return what both pages of an item are made of; nothing of it tells why the item is here."""
    context, reading = context_of(request), reading_of(request.app)
    item = place.item
    exhibits = reading.exhibits(item)
    base = f"/review/{item.review.id}/{place.slot}"
    # A page that shows this code already keeps it: it may be megabytes.
    has_code = unquote(request.headers.get("x-have-code", "")) == f"{link(request, base)} {mode}"
    code = "" if has_code else reading.code(item, mode)
    queue = context.desk.describe_queue(account)
    now = datetime.now(UTC)
    return {
        **rerun_values(request, account, place),
        "forgotten": False,
        "base": base,
        "review_id": item.review.id,
        "slot": place.slot,
        "author": context.desk.pseudonym(item.review.id),
        "task": exhibits.task,
        "task_id": item.task_id,
        "rubric": context.desk.rubric_of(item.review.id),
        "rows": list_criteria(request, place, exhibits.evidence),
        "modes": exhibits.modes,
        "mode": mode,
        "code": code,
        "line_count": exhibits.line_count,
        "tabs": exhibits.evidence.tabs,
        "evidence": reading.evidence(item),
        "settings": context.desk.settings(),
        "position": queue.done_today + 1,
        "waiting": queue.waiting,
        "key": secrets.token_hex(16),
        "now": now,
        "undo": next((done for done in queue.recent[:1] if done.undo_until and done.undo_until > now), None),
    }


def read_form(request: Request, review_id: str, fields: FormData) -> Assessment:
    """Return what the form of a review says so far."""
    desk = context_of(request).desk
    return read_assessment(fields, desk.rubric_of(review_id), desk.asked_criteria(review_id))


def shown_mode(fields: FormData) -> str:
    """Return the mode that the code was in, or that a button asks for."""
    return (read_text(fields, "mode") or read_text(fields, "shown_mode") or "submission")[:300]


def read_stage(fields: FormData) -> Literal["blind", "final"]:
    """Return which of the two assessments a form is for."""
    return "final" if read_text(fields, "stage") == "final" else "blind"


def read_flag(reason: str) -> str:
    """Return why a lead should look at an item.

    Raises:
        DeskError: ``invalid``.
    """
    reason = reason.strip()
    if not reason or len(reason) > _LONGEST_REASON:
        raise DeskError(
            "invalid",
            f"a flag needs a reason of at most {_LONGEST_REASON} characters",
            "say what a lead should see",
        )
    return reason


def list_typed(fields: FormData | None) -> dict[str, str]:
    """Return what stands in the fields that are no part of an assessment yet, for a form that comes back."""
    return {name.replace(".", "_"): read_text(fields, name) if fields else "" for name in _SMALL_FIELDS}


def keep_draft(
    request: Request,
    account: Account,
    review_id: str,
    slot: int,
    fields: FormData,
    assessment: Assessment,
    stage: Literal["blind", "final"],
) -> SavedDraft:
    """Keep a form as the newest draft, after the one that it was made from.

    Raises:
        DeskError: As `pipeline.review.desk.Desk.save_draft`.
    """
    seconds = read_seconds(fields)
    draft = SavedDraft(
        review_id=review_id,
        slot=slot,
        account=account.name,
        revision=read_number(fields, "revision") + 1,
        assessment=assessment,
        stage=stage,
        active_seconds=seconds or 0.0,
        saved_at=datetime.now(UTC),
    )
    lease_id = read_text(fields, "lease_id")[:100]
    return context_of(request).desk.save_draft(account, lease_id, draft, counted=seconds is not None)


def to_place(request: Request, review_id: str, slot: int, mode: str, said: str = "") -> RedirectResponse:
    """Lead to the page of an item."""
    values = {"mode": "" if mode == "submission" else mode, "said": said}
    query = urlencode({name: value for name, value in values.items() if value})
    path = f"/review/{quote(review_id, safe='')}/{slot}" + (f"?{query}" if query else "")
    return RedirectResponse(link(request, path), 303)


def go_on(request: Request, account: Account, *, key: str) -> RedirectResponse:
    """Lead to the next item, or to the queue where there is none."""
    try:
        place = context_of(request).desk.draw(account, key=key)
    except DeskError as error:
        if error.code != "paused":
            raise
        place = None
    if place is None:
        return RedirectResponse(link(request, "/queue?nothing=true"), 303)
    review_id = place.item.review.id
    if place.purpose is Purpose.ADJUDICATION and place.state is PlaceState.HELD:
        return RedirectResponse(link(request, f"/adjudicate/{quote(review_id, safe='')}"), 303)
    return to_place(request, review_id, place.slot, "submission")

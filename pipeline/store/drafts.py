"""Reading what facts and judges said of very many gradings at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pipeline.store.transport import Transport
from pipeline.types import Fingerprint, Submission

__all__ = ["DraftPlace", "Drafts"]

#: Outputs that are read at once: some megabytes, where one message holds 256.
_PAGE: Final = 500


class DraftPlace(NamedTuple):
    """A grading, and where its outputs lie."""

    grading_id: str
    submission_id: str
    task_id: str
    origin: str
    """Where the submission came from in the batch it was last part of; empty outside any batch."""
    author: str
    """The first that the submission was declared to be of; empty where nobody said."""
    made: Fingerprint
    inspection: int | None
    """None, as the next, where the stage has no output."""
    judgment: int | None


class Drafts:
    """The drafts of one store."""

    def __init__(self, transport: Transport) -> None:
        """Read through `transport`."""
        self._transport = transport

    def list_places(self) -> list[DraftPlace]:
        """Return every grading, the oldest first."""
        return [
            DraftPlace(name, submission, task, origin or "", author or "", made, inspection, judgment)
            for name, submission, task, origin, author, body, inspection, judgment in self._transport.select(
                "draft_places"
            )
            for made in (Fingerprint.model_validate_json(body),)
        ]

    def read_submissions(self, submission_ids: Iterable[str]) -> Iterator[Submission]:
        """Yield those of the submissions that are there, in any order; a page of them is in memory."""
        wanted = sorted(set(submission_ids))
        for start in range(0, len(wanted), _PAGE):
            for (body,) in self._transport.select("submission_bodies", [wanted[start : start + _PAGE]]):
                yield Submission.model_validate_json(body)

    def read(self, places: Iterable[DraftPlace]) -> Iterator[tuple[DraftPlace, str, str]]:
        """Yield of each place that has both the inspection and the judgment, as JSON.

        They come in the order in which they were kept, and only a page of them is in memory.
        """
        whole = [
            (place.judgment, place.inspection, place)
            for place in places
            if place.judgment is not None and place.inspection is not None
        ]
        whole.sort(key=lambda found: found[:2])
        for start in range(0, len(whole), _PAGE):
            page = whole[start : start + _PAGE]
            judgments = self._read_page({judgment for judgment, _, _ in page})
            inspections = self._read_page({inspection for _, inspection, _ in page})
            for judgment, inspection, place in page:
                yield place, inspections[inspection], judgments[judgment]

    def _read_page(self, wanted: set[int]) -> dict[int, str]:
        found = self._transport.select("stage_outputs", [sorted(wanted), min(wanted), max(wanted)])
        return {int(place): str(output) for place, output in found}

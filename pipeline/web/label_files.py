"""Labels as a file to download, for browsers and programs alike."""

from __future__ import annotations

from starlette.responses import Response

from pipeline.review.exports import MEDIA_TYPES, Format, export_labels
from pipeline.review.labels import Labels

__all__ = ["send_labels"]


def send_labels(labels: Labels, form: Format, *, names: bool) -> Response:
    """Return every label as a file; without `names` each rater has a pseudonym."""
    found = labels.read() if names else [labels.hide_rater(label) for label in labels.read()]
    return Response(
        export_labels(found, form),
        media_type=MEDIA_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="labels.{form}"'},
    )

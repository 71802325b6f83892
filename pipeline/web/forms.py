"""The fields of a form as text, for routes whose fields depend on what is shown."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Request

__all__ = ["FormValues", "read_form"]

#: A rubric has some ten criteria with some five fields each.
_MOST_FIELDS: Final = 1000


async def read_form(request: Request) -> dict[str, str]:
    """Return the text fields of the form in `request`; of one that is there twice, the last."""
    form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    return {name: value for name, value in form.multi_items() if isinstance(value, str)}


#: What a route takes to get the form: ``values: FormValues``.
FormValues = Annotated[dict[str, str], Depends(read_form)]

"""Style sheets and scripts: small enough to be kept in memory, and cached by browsers for good."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

__all__ = ["Assets", "router"]

router = APIRouter()


class Assets:
    """Every file under a folder, with a version made of all their contents.

    The version is part of the path, so a module that imports its neighbour asks for the same version of it.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        digest = hashlib.sha256()
        for name, content in self._files.items():
            digest.update(f"{name} {len(content)}\n".encode() + content)
        self.version = digest.hexdigest()[:16]

    def versioned(self, path: str) -> str:
        """Return ``/static/NAME`` with the version."""
        return f"/static/{self.version}/{path.removeprefix('/static/')}"

    def find(self, name: str) -> bytes | None:
        """Return a file, or None."""
        return self._files.get(name)


@router.get("/static/{name:path}", include_in_schema=False)
async def send_asset(request: Request, name: str) -> Response:
    """Send a file; one asked for by its version never changes."""
    assets: Assets = request.app.state.assets
    version, _, rest = name.partition("/")
    current = version == assets.version
    content = assets.find(rest if current else name)
    if content is None and not current:
        # A page of an earlier version asks: today's file is better than none.
        content = assets.find(rest)
    if content is None:
        raise HTTPException(404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    caching = "public, max-age=31536000, immutable" if current else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": caching})

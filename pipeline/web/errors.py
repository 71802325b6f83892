"""One clear sentence for everything that can go wrong, as a page or, where a program asks, as JSON."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from urllib.parse import quote

import pydantic
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from pipeline.errors import GraderError
from pipeline.review.errors import DeskError
from pipeline.types.visible import show_controls
from pipeline.web.access import NotLoggedIn, is_api
from pipeline.web.context import path_of
from pipeline.web.rendering import link, render
from pipeline.web.written import written_in

__all__ = ["answer_error", "handle_errors", "wants_json"]

_LOG = logging.getLogger(__name__)

_TITLES = {
    400: "That could not be read",
    401: "Log in first",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed here",
    409: "Not possible now",
    413: "Too large",
    422: "Something is missing or wrong",
    429: "Not possible now",
}


def handle_errors(app: FastAPI) -> None:
    """Have `app` answer every error with a sentence."""
    app.add_exception_handler(DeskError, _answer_desk_error)
    app.add_exception_handler(GraderError, _answer_fault)
    app.add_exception_handler(NotLoggedIn, _lead_to_login)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(pydantic.ValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_unexpected)


def wants_json(request: Request) -> bool:
    """Whether a program asks, such as a script of a page, and not a person."""
    accepted = request.headers.get("accept", "")
    sent = request.headers.get("content-type", "")
    return is_api(request) or "application/json" in accepted or sent.startswith("application/json")


async def answer_error(request: Request, status: int, code: str, message: str, remedy: str) -> Response:
    """Return the answer that says `message` and what to do; a page gives back what was typed."""
    message, remedy = show_controls(message), show_controls(remedy)
    if wants_json(request):
        return JSONResponse({"code": code, "message": message, "remedy": remedy}, status)
    values = {
        "title": _TITLES.get(status, "Something went wrong"),
        "message": message,
        "remedy": remedy,
        "written": await written_in(request),
    }
    return await run_in_threadpool(render, request, "error.html", status, **values)


async def _answer_desk_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DeskError)
    fault = error.fault
    return await answer_error(request, error.status, fault.code, fault.message, fault.remedy)


async def _answer_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, GraderError)
    _LOG.error("%s %s: %s", request.method, show_controls(path_of(request)), show_controls(str(error)))
    return await answer_error(request, 503, error.fault.code, error.fault.message, error.fault.remedy)


async def _lead_to_login(request: Request, error: Exception) -> Response:
    message, remedy = "you are not logged in, or your session has ended", "log in again"
    if is_api(request):
        remedy = "send a token that a lead or you yourself issued: Authorization: Bearer TOKEN"
    if wants_json(request):
        return JSONResponse(
            {"code": "not_logged_in", "message": message, "remedy": remedy},
            401,
            headers={"WWW-Authenticate": "Bearer"} if is_api(request) else None,
        )
    if "hx-request" not in request.headers and await written_in(request):
        return await answer_error(
            request, 401, "not_logged_in", message, f"copy what you wrote, then {remedy}"
        )
    target = link(request, "/login")
    if request.method == "GET" and "hx-request" not in request.headers:
        query = request.scope["query_string"].decode("latin-1")
        wanted = quote(path_of(request)) + (f"?{query}" if query else "")
        target += "?next=" + quote(wanted, safe="/")
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError | pydantic.ValidationError)
    problems = error.errors()
    if any(tuple(problem["loc"])[:1] == ("path",) for problem in problems):
        return await answer_error(
            request, 404, "unknown", "there is nothing at this address", "check the address"
        )
    message = "; ".join(f"{_place(problem['loc'])}: {problem['msg']}" for problem in problems[:5])
    return await answer_error(request, 422, "invalid", message, "correct it and send it again")


def _place(location: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in location[-2:]) or "the whole"


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: ("unknown", "there is nothing at this address", "check the address, or go to the queue"),
        405: ("method", "this address does not take that kind of request", "use the page's own buttons"),
    }
    code, message, remedy = sentences.get(
        error.status_code, ("http", str(error.detail)[:500], "go back and try again")
    )
    answer = await answer_error(request, error.status_code, code, message, remedy)
    answer.headers.update(error.headers or {})
    return answer


async def _answer_unexpected(request: Request, error: Exception) -> Response:
    from pipeline.web.security import HEADERS

    number = secrets.token_hex(4)
    where = show_controls(path_of(request))
    _LOG.error("error %s: %s %s", number, request.method, where, exc_info=error)
    answer = await answer_error(
        request,
        500,
        "defect",
        f"this is a defect of nki-grader, and what you had saved is still there (error {number})",
        "tell a lead the number of the error; its details are in the server's log",
    )
    # This answer is made outside of what puts them on every other.
    answer.headers.update(HEADERS)
    return answer

"""The API's document is kept in docs/, and says of every operation what a client must know."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from pipeline.review.errors import CODES
from pipeline.web.api.document import describe_api
from tests.web.api_caller import Caller, caller

__all__ = ["caller"]

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def operations() -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in describe_api()["paths"].items()
        for method, operation in methods.items()
    }


def test_the_kept_document_is_what_the_code_says() -> None:
    kept = json.loads((DOCS / "openapi.json").read_text())
    assert kept == describe_api(), "run `make openapi`"


def test_every_operation_has_a_name_of_its_own_a_summary_and_a_description(
    operations: dict[str, dict[str, Any]],
) -> None:
    names = [operation["operationId"] for operation in operations.values()]
    assert len(set(names)) == len(names)
    for operation in operations.values():
        assert operation["summary"]
        assert operation["description"].endswith(".")
        assert operation["tags"]


def test_every_operation_wants_a_token_and_says_how_it_refuses(operations: dict[str, dict[str, Any]]) -> None:
    for name, operation in operations.items():
        assert operation["security"] == [{"token": []}], name
        assert {"401", "403", "422", "503"} <= set(operation["responses"]), name
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Refusal"}, (name, status)


def test_every_route_under_the_api_is_in_the_document(
    app: FastAPI, operations: dict[str, dict[str, Any]]
) -> None:
    routes = {
        f"{method} {route.path}"
        for route in app.routes
        if getattr(route, "path", "").startswith("/api/")
        for method in route.methods
    }
    assert routes == set(operations)


def test_the_document_is_served_at_no_address(client: Any) -> None:
    for path in ("/openapi.json", "/docs", "/redoc", "/api/v1/openapi.json"):
        assert client("dora").get(path).status_code == 404


def test_the_guide_names_every_code_with_its_status() -> None:
    rows = [line for line in (DOCS / "api.md").read_text().splitlines() if line.startswith("| ")]
    for code, status in CODES.items():
        assert any(row.startswith(f"| {status} ") and f"`{code}`" in row for row in rows), code


def test_every_path_that_the_guide_names_is_there(operations: dict[str, dict[str, Any]]) -> None:
    text = (DOCS / "api.md").read_text()
    named = re.findall(r"`(?:GET|POST|PUT|DELETE) (/[^`]*)`", text)
    assert len(named) > 10
    for path in {path.removeprefix("/api/v1").replace("SHA256", "{sha256}") for path in named}:
        assert any(name.endswith(f" /api/v1{path}") for name in operations), path


def test_a_caller_without_a_route_is_told_so_in_json(caller: Any) -> None:
    who: Caller = caller("anna")
    assert who.refused("GET", "/nothing") == (404, "unknown")
    assert who.refused("DELETE", "/queue")[0] == 405

"""Programs that call the API, each with the token of one person."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts

__all__ = ["Caller", "assess", "caller", "key"]


class Caller:
    """Calls the API as somebody, or as nobody."""

    def __init__(self, app: FastAPI, token: str | None) -> None:
        self._client = TestClient(app, base_url="http://desk.test", follow_redirects=False)
        if token is not None:
            self._client.headers["Authorization"] = f"Bearer {token}"

    def send(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        """Return the answer; one that is refused must be a refusal."""
        answer = self._client.request(method, f"/api/v1{path}", json=body, params=query)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"code", "message", "remedy"}, answer.text
        return answer

    def ask(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        """Return what is answered to a request that must be done."""
        answer = self.send(method, path, body, **query)
        assert answer.status_code in (200, 201, 204), answer.text
        return answer.json() if answer.content else None

    def refused(self, method: str, path: str, body: object = None, **query: Any) -> tuple[int, str]:
        """Return status and code of a request that must be refused."""
        answer = self.send(method, path, body, **query)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["code"]


@pytest.fixture
def caller(app: FastAPI, accounts: Accounts) -> Any:
    """Make a caller with a token of somebody; ``caller()`` has none."""

    def make(name: str | None = None) -> Caller:
        account = accounts.find(name) if name else None
        return Caller(app, accounts.issue_token(account, "tests") if account else None)

    return make


def key() -> str:
    return uuid.uuid4().hex


def assess(item: dict[str, Any], level: int) -> dict[str, Any]:
    """Return an assessment that gives every asked criterion `level`."""
    return {"answers": {name: {"level": level} for name in item["asked"]}}

"""Simulated people at the desk: each draws, reads, writes, commits, looks at the draft and finishes."""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx

from evals.bench.desk_queue import PASSWORD

__all__ = ["Acknowledged", "Observed", "work"]

_FORM_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
_DRAFTS = 3
#: What a lead looks at again and again while others work.
_WATCHED = ("/progress", "/batches", "/admin", "/comments", "/timesheet")


class Acknowledged(NamedTuple):
    """An assessment that the server said it had kept."""

    review_id: str
    slot: int
    account: str


@dataclass(slots=True)
class Observed:
    """What people saw.

    Attributes:
        seconds: How long each screen or action took, one number per request.
        committed: Blind assessments that were acknowledged.
        finished: Final assessments that were acknowledged.
        refused: What the server refused, with how often.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    committed: list[Acknowledged] = field(default_factory=list)
    finished: list[Acknowledged] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))


async def work(address: str, tokens: dict[str, str], *, seconds: float, think: float, seed: int) -> Observed:
    """Let everybody review for `seconds`, with pauses of about `think` seconds between actions.

    Args:
        address: Of the server.
        tokens: API token of every reviewer, and of ``lead``, by name.
        seconds: For how long new reviews are begun.
        think: Mean pause before every action; 0 for none.
        seed: Of pauses and levels.
    """
    observed = Observed()
    until = time.monotonic() + seconds
    people = [
        Person(address, name, token, observed, random.Random(f"{seed} {name}"), think)
        for name, token in tokens.items()
    ]
    async with asyncio.TaskGroup() as group:
        for person in people:
            group.create_task(person.work_until(until))
    return observed


class Person:
    """One person with a browser's session, and a token for what a page's script sends."""

    def __init__(
        self, address: str, name: str, token: str, observed: Observed, chance: random.Random, think: float
    ) -> None:
        self._name = name
        self._observed = observed
        self._chance = chance
        self._think = think
        self._browser = httpx.AsyncClient(base_url=address, timeout=60)
        self._program = httpx.AsyncClient(
            base_url=address, timeout=60, headers={"Authorization": f"Bearer {token}"}
        )

    async def work_until(self, until: float) -> None:
        """Log in and do one's work."""
        async with self._browser, self._program:
            await self._log_in()
            # Nobody begins at the same moment.
            await self._pause()
            while time.monotonic() < until:
                if self._name == "lead":
                    await self._watch()
                elif not await self._review():
                    break

    async def _watch(self) -> None:
        for path in _WATCHED:
            await self._look(path, path)

    async def _review(self) -> bool:
        """Review the next item; return whether there was one."""
        await self._look("/queue", "/queue")
        place = (await self._act("draw", "POST", "/api/v1/queue/draw", {"key": _key()}))["place"]
        if place is None:
            return False
        here = f"/api/v1/places/{place['review_id']}/{place['slot']}"
        page = f"/review/{place['review_id']}/{place['slot']}"
        done = Acknowledged(place["review_id"], place["slot"], self._name)
        if place["state"] == "held":
            shown = page if not place["adjudication"] else f"/adjudicate/{place['review_id']}"
            await self._look(shown, "workspace" if not place["adjudication"] else "adjudication")
            item = (await self._program.get(f"{here}/item")).json()
            assessment = self._assess(item)
            first = place["draft"]["revision"] + 1 if place["draft"] else 1
            for revision in range(first, first + _DRAFTS):
                draft = {"lease_id": place["lease_id"], "revision": revision, "stage": "blind"}
                await self._act("draft", "PUT", f"{here}/draft", {**draft, "assessment": assessment})
            blind = {"lease_id": place["lease_id"], "assessment": assessment, "seconds": 60, "key": _key()}
            blind["rubric"] = item["rubric_hash"]
            if place["adjudication"]:
                blind["picks"] = {name: {"source": "other", "cause": "other"} for name in item["asked"]}
            await self._act("commit", "POST", f"{here}/commit", blind)
            self._observed.committed.append(done)
        else:
            assessment = place["blind"]
        await self._look(page, "reveal")
        final = {"assessment": assessment, "revisions": [], "seconds": 20, "key": _key()}
        await self._act("finish", "POST", f"{here}/finish", final)
        self._observed.finished.append(done)
        return True

    def _assess(self, item: dict[str, Any]) -> dict[str, Any]:
        offered = {
            criterion["id"]: [step["level"] for step in criterion["levels"]]
            for criterion in item["rubric"]["criteria"]
        }
        answers = {name: {"level": self._chance.choice(offered[name])} for name in item["asked"]}
        return {"answers": answers, "note": "The tail is not covered by any test of the author's."}

    async def _log_in(self) -> None:
        form = _FORM_TOKEN.search((await self._browser.get("/login")).text)
        if form is None:
            raise RuntimeError("the login page has no form")
        sent = {"csrf": form[1], "name": self._name, "password": PASSWORD}
        answer = await self._browser.post("/login", data=sent)
        if answer.status_code != 303:
            raise RuntimeError(f"{self._name} cannot log in: {answer.status_code}")

    async def _look(self, path: str, screen: str) -> None:
        await self._pause()
        self._judge(await self._time(screen, self._browser, "GET", path, None))

    async def _act(self, action: str, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        await self._pause()
        answer = await self._time(action, self._program, method, path, body)
        self._judge(answer)
        found: dict[str, Any] = answer.json()
        return found

    async def _time(
        self, what: str, client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None
    ) -> httpx.Response:
        started = time.perf_counter()
        answer = await client.request(method, path, json=body)
        self._observed.seconds[what].append(time.perf_counter() - started)
        return answer

    def _judge(self, answer: httpx.Response) -> None:
        if answer.status_code != 200:
            self._observed.refused[f"{answer.status_code} {answer.request.method}"] += 1
            raise RuntimeError(f"{answer.request.url}: {answer.status_code} {answer.text[:500]}")

    async def _pause(self) -> None:
        if self._think:
            await asyncio.sleep(self._chance.expovariate(1 / self._think))


def _key() -> str:
    return secrets.token_hex(16)

"""Simulated people at the desk: each draws, reads, writes, commits, looks at the draft and finishes."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import httpx

from evals.bench.desk_forms import Form, read_form
from evals.bench.desk_queue import LEAD, PASSWORD

__all__ = ["Acknowledged", "Observed", "work"]

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
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    committed: list[Acknowledged] = field(default_factory=list)
    finished: list[Acknowledged] = field(default_factory=list)


async def work(address: str, names: list[str], *, seconds: float, think: float, seed: int) -> Observed:
    """Let everybody do their work for `seconds`, with pauses of about `think` seconds between actions.

    Args:
        address: Of the server.
        names: Of those who review; one called `LEAD` looks at the other screens instead.
        seconds: For how long new reviews are begun.
        think: Mean pause before every action; 0 for none.
        seed: Of pauses and levels.
    """
    observed = Observed()
    async with AsyncExitStack() as stack:
        # Checking passwords takes the server's processor, and is no screen: everybody logs in first.
        people = [
            await stack.enter_async_context(
                Person(address, name, observed, random.Random(f"{seed} {name}"), think)
            )
            for name in names
        ]
        until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for person in people:
                group.create_task(person.work_until(until))
    return observed


class Person:
    """One person with a browser: what a page's forms send is sent, as they stand there."""

    def __init__(
        self, address: str, name: str, observed: Observed, chance: random.Random, think: float
    ) -> None:
        self._name = name
        self._observed = observed
        self._chance = chance
        self._think = think
        self._browser = httpx.AsyncClient(base_url=address, timeout=60)

    async def __aenter__(self) -> Person:
        form = read_form((await self._browser.get("/login")).text, "/login")
        assert form is not None
        sent = {**form.fields, "name": self._name, "password": PASSWORD}
        answer = await self._browser.post("/login", data=sent)
        if answer.status_code != 303:
            raise RuntimeError(f"{self._name} cannot log in: {answer.status_code}")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._browser.aclose()

    async def work_until(self, until: float) -> None:
        """Do one's work, at least one round of it; what is begun in time is finished."""
        is_left = True
        while is_left:
            if self._name == LEAD:
                await self._watch()
            else:
                is_left = await self._review()
            is_left = is_left and time.monotonic() < until

    async def _watch(self) -> None:
        for path in _WATCHED:
            await self._look(path, path)

    async def _review(self) -> bool:
        """Review the next item; return whether there was one."""
        form = read_form(await self._look("/queue", "queue"), "/draw")
        assert form is not None
        path = await self._send("draw", "/draw", form)
        if path.startswith("/queue"):
            return False
        if path.startswith("/adjudicate/"):
            path = await self._adjudicate(path)
        page = await self._look(path, "workspace")
        if (form := read_form(page, "/commit")) is not None:
            path = await self._assess(path, form)
            page = await self._look(path, "reveal")
        form = read_form(page, "/final")
        assert form is not None
        await self._send("finish", f"{path}/final", form)
        self._observed.finished.append(self._sign(path))
        return True

    async def _assess(self, path: str, form: Form) -> str:
        for name, offered in form.choices.items():
            if name.startswith("level."):
                form.fields[name] = self._chance.choice([level for level in offered if level.isdigit()])
        form.fields["note"] = "The tail is not covered by any test of the author's."
        for _ in range(_DRAFTS):
            await self._pause()
            answer = await self._time("draft", "POST", f"{path}/draft", form)
            if answer.status_code != 200:
                raise self._note(answer)
            form.fields["revision"] = str(answer.json()["revision"])
        path = await self._send("commit", f"{path}/commit", form)
        self._observed.committed.append(self._sign(path))
        return path

    async def _adjudicate(self, path: str) -> str:
        form = read_form(await self._look(path, "adjudication"), path)
        assert form is not None
        for name, offered in form.choices.items():
            if name.startswith("source-"):
                form.fields[name] = "other"
            elif name.startswith("level-"):
                form.fields[name] = self._chance.choice([level for level in offered if level.isdigit()])
            elif name.startswith("cause-"):
                form.fields[name] = "edge_case"
        form.fields["action"] = "commit"
        path = await self._send("commit", path, form)
        self._observed.committed.append(self._sign(path))
        return path

    def _sign(self, path: str) -> Acknowledged:
        _, _, review_id, slot = path.partition("?")[0].split("/")
        return Acknowledged(review_id, int(slot), self._name)

    async def _look(self, path: str, screen: str) -> str:
        await self._pause()
        answer = await self._time(screen, "GET", path, None)
        if answer.status_code != 200:
            raise self._note(answer)
        return answer.text

    async def _send(self, action: str, path: str, form: Form) -> str:
        """Send a form, and return where its answer leads."""
        await self._pause()
        answer = await self._time(action, "POST", path, form)
        if answer.status_code != 303:
            raise self._note(answer)
        return answer.headers["location"]

    async def _time(self, what: str, method: str, path: str, form: Form | None) -> httpx.Response:
        started = time.perf_counter()
        answer = await self._browser.request(method, path, data=form.fields if form else None)
        self._observed.seconds[what].append(time.perf_counter() - started)
        return answer

    def _note(self, answer: httpx.Response) -> RuntimeError:
        request, text = answer.request, answer.text
        said = text[max(text.find('role="alert"'), 0) :][:500]
        return RuntimeError(f"{request.method} {request.url}: {answer.status_code} {said}")

    async def _pause(self) -> None:
        if self._think:
            await asyncio.sleep(self._chance.expovariate(1 / self._think))

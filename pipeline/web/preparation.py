"""What will be asked for next, made a little at a time before anybody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from fastapi import FastAPI
from jinja2 import Environment

from pipeline.review.permissions import Permission, may
from pipeline.web.context import Context
from pipeline.web.services import batch_figures_of, follower_of, progress_of, reading_of

__all__ = ["Preparation"]

#: Reviews at the front of the queue whose pages are made ahead: about what ten people draw in half an hour.
_AHEAD: Final = 60
#: For how long one step may work, in seconds: people are served by the same processor.
_PATIENCE: Final = 0.1


class Preparation:
    """Fills the caches of one application; for one thread."""

    def __init__(self, app: FastAPI, clock: Callable[[], float] = monotonic) -> None:
        """Prepare what `app` serves; `clock` (seconds that only go forward) is for tests."""
        self._app = app
        self._clock = clock
        self._measured = False

    def step(self) -> None:
        """Make what is missing, and stop soon: the next step goes on."""
        context: Context = self._app.state.context
        if not self._measured:
            self._compile_templates()
            self._measure(context)
        # Whatever is in the queue by now is known when a page asks for what happened: beside a batch its rows
        # would have to be waited for.
        follower_of(self._app).read(items=True)
        batch_figures_of(self._app).step()
        until = self._clock() + _PATIENCE
        reading = reading_of(self._app)
        for item in context.desk.list_upcoming(_AHEAD):
            if reading.prepare(item) and self._clock() >= until:
                return

    def _compile_templates(self) -> None:
        environment: Environment = self._app.state.environment
        for name in environment.list_templates():
            environment.get_template(name)

    def _measure(self, context: Context) -> None:
        """Measure progress once, which is what takes longest for whoever looks first."""
        for account in context.accounts.list():
            if account.active and may(account.role, Permission.SEE_PROGRESS):
                progress_of(self._app).recall(account)
                self._measured = True
                return

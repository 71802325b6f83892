"""Waiting for commits without holding up an event loop."""

from __future__ import annotations

import asyncio
import threading

from pipeline.store.errors import StoreError
from pipeline.store.store import Store

__all__ = ["Settling"]

_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Settling:
    """Lets any number of coroutines, of any event loops, wait for the store through one thread.

    A commit takes milliseconds and serves everybody whose rows are in it: whoever comes while one is under
    way waits for the next, together with all others who came meanwhile.
    """

    def __init__(self, store: Store) -> None:
        """Wait for the writes of `store`; the thread starts with the first who waits."""
        self._store = store
        self._changed = threading.Condition()
        self._waiters: list[_Waiter] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    async def settle(self) -> None:
        """Return once every write made before this call is committed.

        Raises:
            StoreError: If one could not be, or this is closed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._changed:
            if self._closed:
                raise StoreError("closed", "nobody waits for commits any more: this is closed")
            self._waiters.append((loop, future))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store-settling", daemon=True)
                self._thread.start()
            self._changed.notify()
        await future

    def close(self) -> None:
        """Serve those who wait already and end the thread; closing twice is harmless."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while waiters := self._take():
            fault: BaseException | None = None
            try:
                self._store.flush()
            except BaseException as error:
                # Whatever it is: those who wait must hear of it, and nobody hears a thread that dies.
                fault = error
            for loop, future in waiters:
                try:
                    loop.call_soon_threadsafe(_resolve, future, fault)
                except RuntimeError:
                    continue  # That loop is closed, and nobody waits in it any more.

    def _take(self) -> list[_Waiter]:
        """Return all who wait, as soon as somebody does; nobody once this is closed."""
        with self._changed:
            while not self._waiters and not self._closed:
                self._changed.wait()
            taken, self._waiters = self._waiters, []
            return taken


def _resolve(future: asyncio.Future[None], fault: BaseException | None) -> None:
    if future.done():
        return  # Cancelled meanwhile.
    if fault is None:
        future.set_result(None)
    else:
        future.set_exception(fault)

"""``nki-grader serve``: the review desk, for as long as it runs."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, keep_text
from pipeline.cli.render import say_command

if TYPE_CHECKING:
    from pipeline.graph.services import Services
    from pipeline.review.desk import Desk
    from pipeline.store import Store
    from pipeline.web.preparation import Preparation

__all__ = ["command"]

_LOG = logging.getLogger(__name__)

#: Seconds between two looks for what is new or due.
_EVERY: Final = 2.0

#: Seconds that open requests may still take when the desk ends.
_GRACE: Final = 10

#: Seconds that a silent connection stays open: longer than browsers and proxies keep theirs, or a form could
#: be sent down a connection that is being closed.
_KEEP_ALIVE: Final = 75

#: Seconds after which a thread that computes lets others go on. A page asks the store twenty times and waits
#: for its turn each time: at Python's own 5 ms that adds up to what a person notices.
_TURN: Final = 0.0005


def _keep_prefix(context: click.Context, parameter: click.Parameter, value: str) -> str:
    prefix = value.rstrip("/")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+", prefix):
        raise click.BadParameter(f"{value!r} is no path such as /desk")
    return prefix


def _keep_networks(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError:
            raise click.BadParameter(f"{value!r} is no address or network such as 10.0.0.0/8") from None
    return values


def _keep_header(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"[A-Za-z0-9-]+", value):
        raise click.BadParameter(f"{value!r} is no name of a header such as X-Remote-User")
    return value


@click.command("serve", short_help="Serve the review desk to browsers.")
@database_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    callback=keep_text,
    help="Address to listen at.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8321,
    show_default=True,
    metavar="N",
    help="Port to listen at; 0 for any that is free.",
)
@click.option(
    "--prefix", default="", metavar="PATH", callback=_keep_prefix, help="Path that a proxy serves it under."
)
@click.option(
    "--identity-header",
    default="",
    metavar="NAME",
    callback=_keep_header,
    help="Header in which a trusted proxy says who is there.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    callback=_keep_networks,
    help="Address or network of a proxy to believe; may be repeated.  [default: this machine]",
)
@click.option("--secure-cookies", is_flag=True, help="Send cookies over HTTPS only.")
@click.option(
    "--rubrics",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder of rubrics whose changes leads sign.  [default: those that ship with nki-grader]",
)
def command(
    database: Path,
    host: str,
    port: int,
    prefix: str,
    identity_header: str,
    trusted_proxies: tuple[str, ...],
    secure_cookies: bool,
    rubrics: Path | None,
) -> int:
    """Serve the review desk to browsers until Ctrl-C; what was saved by then is kept."""
    import uvicorn

    from pipeline.graph.reruns import Rerunner
    from pipeline.review.accounts import Accounts
    from pipeline.review.desk import Desk
    from pipeline.store import open_store
    from pipeline.web.app import create_app
    from pipeline.web.context import THIS_MACHINE, Context, Options
    from pipeline.web.preparation import Preparation
    from pipeline.web.services import reruns_of

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    options = Options(
        prefix=prefix,
        identity_header=identity_header,
        secure_cookies=secure_cookies,
        trusted_proxies=trusted_proxies or THIS_MACHINE,
        rubrics=rubrics,
    )
    with _listen(host, port) as listener, open_store(database) as store, _alone_at(database):
        desk, accounts = Desk(store), Accounts(store, session_hours=options.session_hours)
        app = create_app(Context(store, desk, accounts, options))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                lifespan="off",
                # Who may say where a request comes from is decided by `pipeline.web.sessions` alone.
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
                timeout_keep_alive=_KEEP_ALIVE,
            )
        )
        for notice in store.notices:
            click.echo(f"note: {notice}", err=True)
        if not any(account.active for account in accounts.list()):
            add = say_command("accounts add NAME --role lead", database)
            click.echo(f"note: nobody has an account yet; make the first with: {add}", err=True)
        if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback and not secure_cookies:
            click.echo(
                "note: other machines can reach this address; use a proxy with HTTPS and --secure-cookies",
                err=True,
            )
        for number in (signal.SIGINT, signal.SIGTERM):
            # Before the server listens to signals itself, and when it raises them again at its end: neither
            # may end us half-way, and none may be lost.
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        click.echo(f"The review desk is at {_address_of(listener)}{prefix}/ (Ctrl-C ends it)")
        sys.setswitchinterval(_TURN)
        with _Clockwork(store, desk, Preparation(app)), Rerunner(store, reruns_of(app)):
            server.run(sockets=[listener])
        store.flush()
    click.echo("The review desk has ended; everything is kept.")
    return ExitCode.OK


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(found[4][:2], family=found[0])
    except OSError as error:
        # What Python adds to the system's own words names the address once more.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise click.ClickException(
            f"cannot listen at {host}, port {port}: {reason} (choose another with --port or --host)"
        ) from error


@contextmanager
def _alone_at(database: Path) -> Iterator[None]:
    """Be the only desk of a database: two would hand out the same items, each from its own memory."""
    from pipeline.store.ownership import Ownership

    path = database.resolve()
    ownership = Ownership.take(path.with_name(f"{path.name}.desk"))
    if ownership is None:
        raise click.ClickException(
            f"another process serves the desk of {database} already (use that one, or end it first)"
        )
    try:
        yield
    finally:
        ownership.release()


def _address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Clockwork:
    """Does what nobody asks for: takes in what is new, frees what is overdue, decides, releases, prepares."""

    def __init__(self, store: Store, desk: Desk, preparation: Preparation) -> None:
        self._store = store
        self._desk = desk
        self._preparation = preparation
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clockwork")
        self._services: Services | None = None
        self._said = ""

    def __enter__(self) -> _Clockwork:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # What takes a second to import is at hand before the first grade is released.
        import pipeline.graph.batch  # noqa: F401

        with ExitStack() as resources:
            while not self._ended.is_set():
                try:
                    self._step(resources)
                    self._said = ""
                except Exception as error:
                    # The next look may go better, and the desk is of use meanwhile. Said once.
                    if str(error) != self._said:
                        _LOG.exception("a look for what is due failed, and is repeated every %g s", _EVERY)
                    self._said = str(error)
                self._ended.wait(_EVERY)

    def _step(self, resources: ExitStack) -> None:
        self._desk.refresh()
        self._desk.decide_due()
        # Also decisions from elsewhere, such as the command line or a lead's release.
        if self._store.list_decided() and not self._ended.is_set():
            self._release(resources)
        self._preparation.step()

    def _release(self, resources: ExitStack) -> None:
        from pipeline.config import Settings
        from pipeline.graph.batch import resume_decided
        from pipeline.graph.services import open_services

        if self._services is None:
            # Everything before a decision is in the store, so no submission runs under these settings.
            settings = Settings(allow_unsandboxed=True, workers=1)
            self._services = resources.enter_context(open_services(self._store, settings))
        # Whoever ends the desk waits for no grade: the next start releases what is left.
        resume_decided(self._services, is_ended=self._ended.is_set)

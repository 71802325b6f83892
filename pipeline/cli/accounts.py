"""``nki-grader accounts``: who works at the review desk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, keep_text, plain_option
from pipeline.cli.render import Screen, print_json, say_command

if TYPE_CHECKING:
    from pipeline.review.accounts import Accounts

__all__ = ["command"]

_stdin_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of standard input."
)


@click.group("accounts", short_help="Say who works at the review desk.")
def command() -> None:
    """Say who works at the review desk: accounts, passwords, and tokens for the HTTP API."""


@command.command("add", short_help="Add somebody.")
@click.argument("name", metavar="NAME", callback=keep_text)
@database_option
@click.option(
    "--role",
    type=click.Choice(["reviewer", "adjudicator", "lead", "viewer"]),
    default="reviewer",
    show_default=True,
    help="What they may do.",
)
@click.option(
    "--display", default="", metavar="TEXT", callback=keep_text, help="What others see instead of the name."
)
@click.option(
    "--skill",
    "skills",
    multiple=True,
    metavar="TASK",
    callback=keep_text,
    help="Task that they review; may be repeated.  [default: all]",
)
@_stdin_option
@click.option("--no-password", is_flag=True, help="They log in through a trusted proxy only.")
def add_account(
    name: str,
    database: Path,
    role: str,
    display: str,
    skills: tuple[str, ...],
    password_stdin: bool,
    no_password: bool,
) -> int:
    """Add somebody under NAME: lower-case letters, digits, dots, dashes, underscores and @, at most 64.

    The password is asked for twice, and never shown. The database is made if it is not there.

    \b
    Example:
      nki-grader accounts add dora --role lead
    """
    from pydantic import ValidationError

    from pipeline.types import Account, Role

    if password_stdin and no_password:
        raise click.UsageError("--password-stdin and --no-password exclude each other")
    try:
        account = Account(name=name, role=Role(role), display=display, skills=skills)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors()}
        if "name" in wrong:
            raise click.BadParameter(
                "a name has 1 to 64 lower-case letters, digits, dots, dashes, underscores and @, and begins "
                "with a letter or digit",
                param_hint="NAME",
            ) from None
        raise click.BadParameter("it has at most 100 characters", param_hint="--display") from None
    with _open_accounts(database, create=True) as accounts:
        if any(known.name == name for known in accounts.list()):
            raise click.UsageError(
                f"there is an account {name!r} already: "
                f"{say_command(f'accounts password {name}', database)} gives it a new password"
            )
        accounts.create(account, None if no_password else _read_password(password_stdin))
    click.echo(f"Added: {name} ({role})")
    return ExitCode.OK


@command.command("list", short_help="List everybody.")
@database_option
@json_option
@plain_option
def list_accounts(database: Path, as_json: bool, plain: bool) -> int:
    """List everybody, by name."""
    with _open_accounts(database) as accounts:
        known = [
            (account, sum(not token.revoked for token in accounts.list_tokens(account)))
            for account in accounts.list()
        ]
    if as_json:
        print_json(
            [
                {
                    **account.model_dump(mode="json", exclude={"password"}),
                    "has_password": bool(account.password),
                    "tokens": tokens,
                }
                for account, tokens in known
            ]
        )
        return ExitCode.OK
    screen = Screen(plain)
    if not known:
        screen.line("Nobody works here yet.")
        screen.line(f"Add a lead with: {say_command('accounts add NAME --role lead', database)}")
        return ExitCode.OK
    screen.table(
        ["name", "role", "active", "password", "tokens", "skills", "display"],
        [
            [
                account.name,
                account.role.value,
                "yes" if account.active else "no",
                "set" if account.password else "none",
                str(tokens),
                ", ".join(account.skills) or "all",
                account.display,
            ]
            for account, tokens in known
        ],
    )
    return ExitCode.OK


@command.command("password", short_help="Give somebody a new password.")
@click.argument("name", metavar="NAME", callback=keep_text)
@database_option
@_stdin_option
def set_password(name: str, database: Path, password_stdin: bool) -> int:
    """Give NAME a new password, and end whatever sessions they have."""
    with _open_accounts(database) as accounts:
        if all(known.name != name for known in accounts.list()):
            raise _no_account(name, database)
        accounts.set_password(name, _read_password(password_stdin))
    click.echo(f"New password set: {name}")
    return ExitCode.OK


@command.command("token", short_help="Issue a token for the HTTP API.")
@click.argument("name", metavar="NAME", callback=keep_text)
@database_option
@click.option("--label", required=True, metavar="TEXT", callback=keep_text, help="What it is for.")
def issue_token(name: str, database: Path, label: str) -> int:
    """Issue a token with which a program acts as NAME over the HTTP API.

    It is printed this once; only its hash is kept.
    """
    with _open_accounts(database) as accounts:
        account = accounts.find(name)
        if account is None:
            raise _no_account(name, database)
        token = accounts.issue_token(account, label)
    click.echo(token)
    click.echo("note: this token is not shown again; a lead can revoke it at the desk", err=True)
    return ExitCode.OK


@contextmanager
def _open_accounts(database: Path, *, create: bool = False) -> Iterator[Accounts]:
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.review.accounts import Accounts
    from pipeline.store import open_store

    with open_store(database) if create else open_existing(database, read_only=False) as store:
        echo_notices(store)
        yield Accounts(store)


def _read_password(from_stdin: bool) -> str:
    """Return a password that nobody sees; whether it will do, `Accounts` says."""
    if from_stdin:
        return sys.stdin.readline(10_000).rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask for a password on: give it with --password-stdin")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt="The same again", err=True)
    return password


def _no_account(name: str, database: Path) -> click.UsageError:
    return click.UsageError(
        f"there is no active account {name!r}: {say_command('accounts list', database)} shows everybody"
    )

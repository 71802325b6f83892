"""``nki-grader certificates``: what is in force, what was refused, and taking one back."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, keep_text, plain_option
from pipeline.cli.render import Cell, Screen, print_json

if TYPE_CHECKING:
    from pipeline.routing.certificates import Kept, Register

__all__ = ["command"]

_SHORT = 12
_STATES = {"in force": "green", "refused": "red", "revoked": "red", "replaced": "dim"}


@click.group("certificates", short_help="See, explain or take back certificates.")
def command() -> None:
    """See which certificates let grades stand alone, and take one back."""


@command.command("list", short_help="List certificates and refusals, the newest first.")
@database_option
@json_option
@plain_option
def list_command(database: Path, as_json: bool, plain: bool) -> int:
    """List every certificate and every refusal, the newest first, with whether it is in force."""
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.routing.certificates import Register

    with open_existing(database) as store:
        echo_notices(store)
        register = Register(store)
        kept = [(one, _state_of(register, one)) for one in register.list_all()]
    if as_json:
        print_json([_to_data(one, state) for one, state in kept])
        return ExitCode.OK
    screen = Screen(plain)
    if not kept:
        screen.line("No certificate was issued yet: nki-grader calibrate makes them.")
        return ExitCode.OK
    screen.table(
        ["certificate", "judge", "for", "state", "accepts", "issued", "says"],
        [
            [
                one.certificate.content_hash()[:_SHORT],
                one.certificate.scope.judge,
                one.certificate.criterion,
                Cell(state, _STATES[state]),
                _accepts(one),
                f"{one.put_at:%Y-%m-%d %H:%M}",
                _says(one),
            ]
            for one, state in kept
        ],
    )
    return ExitCode.OK


@command.command("show", short_help="Show one certificate whole.")
@click.argument("certificate", metavar="ID", callback=keep_text)
@database_option
@json_option
@plain_option
def show_command(certificate: str, database: Path, as_json: bool, plain: bool) -> int:
    """Show the certificate whose hash begins with ID: its promise, its labels, what voids it."""
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.routing.certificates import Register

    with open_existing(database) as store:
        echo_notices(store)
        register = Register(store)
        one = register.find(certificate)
        state = _state_of(register, one)
    if as_json:
        print_json(_to_data(one, state))
    else:
        _print(Screen(plain), one, state)
    return ExitCode.OK


@command.command("revoke", short_help="Take a certificate back for good.")
@click.argument("certificate", metavar="ID", callback=keep_text)
@database_option
@click.option("--reason", required=True, metavar="TEXT", callback=keep_text, help="Why; it is kept.")
@click.option("--by", metavar="NAME", callback=keep_text, help="Who does.  [default: you]")
@json_option
def revoke_command(certificate: str, database: Path, reason: str, by: str | None, as_json: bool) -> int:
    """Take the certificate whose hash begins with ID back for good.

    Grades that it let stand stay as they are; from the next run on such drafts go to people.
    """
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.routing.certificates import Register

    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        register = Register(store)
        revoked = {kept.certificate for kept in register.list_all() if kept.revoked_at is not None}
        one = register.revoke(certificate, by=by or getpass.getuser(), reason=reason)
        state = _state_of(register, one)
    if as_json:
        print_json(_to_data(one, state))
    else:
        already = "already " if one.certificate in revoked else ""
        Screen(plain=True).line(
            f"Revoked {already}by {one.revoked_by}:"
            f" {one.certificate.content_hash()[:_SHORT]}, {one.revoked_because}"
        )
    return ExitCode.OK


def _state_of(register: Register, one: Kept) -> str:
    certificate = one.certificate
    if one.revoked_at is not None:
        return "revoked"
    if certificate.threshold is None:
        return "refused"
    current = register.in_force(certificate.scope, certificate.policy).get(certificate.criterion)
    return "in force" if current == certificate else "replaced"


def _accepts(one: Kept) -> str:
    if one.certificate.threshold is None:
        return "nothing"
    coverage = one.certificate.coverage
    return f"{100 * coverage:.0f} %" if coverage is not None else "not known"


def _says(one: Kept) -> str:
    from pipeline.routing.calibration_result import NOT_EVIDENCE

    return (
        f"{NOT_EVIDENCE}: {one.certificate.reason}" if one.certificate.constructed else one.certificate.reason
    )


def _to_data(one: Kept, state: str) -> dict[str, Any]:
    return {
        "id": one.certificate.content_hash(),
        "state": state,
        "put_at": one.put_at.isoformat(),
        "certificate": one.certificate.model_dump(mode="json"),
        "revoked_at": one.revoked_at.isoformat() if one.revoked_at else None,
        "revoked_by": one.revoked_by,
        "revoked_because": one.revoked_because,
    }


def _print(screen: Screen, one: Kept, state: str) -> None:
    certificate = one.certificate
    screen.line(_says(one), style=_STATES[state])
    screen.line()
    differ = certificate.experts_differ
    fields: dict[str, str | Cell] = {
        "certificate": certificate.content_hash(),
        "state": Cell(state, _STATES[state]),
        "for": certificate.criterion,
        "threshold": "none" if certificate.threshold is None else f"{certificate.threshold:.6g}",
        "accepts": _accepts(one),
        "wrong": f"{certificate.errors} of {certificate.accepted} labels above, {certificate.n} in all",
        "bound": "none" if certificate.bound is None else f"{certificate.bound:.4f}",
        "limit": f"alpha {certificate.alpha:g}, delta {certificate.delta:g},"
        f" of which {certificate.level:.4g} for this test",
        "test": f"{certificate.mode}, {certificate.chains} chain{'s' if certificate.chains != 1 else ''},"
        f" look {certificate.look}"
        if certificate.level
        else "none: there was nothing to test",
        "sampling": certificate.sampling,
        "experts differ": f"{100 * differ:.1f} % of {certificate.experts_pairs} seen twice"
        if differ is not None
        else f"not known: {certificate.experts_pairs} seen twice",
        "tasks": ", ".join(certificate.tasks) or "none",
        "issued": f"{certificate.issued_at:%Y-%m-%d %H:%M} UTC by {certificate.issued_by}",
    }
    if one.revoked_at is not None:
        fields["revoked"] = f"{one.revoked_at:%Y-%m-%d %H:%M} UTC by {one.revoked_by}: {one.revoked_because}"
    screen.fields(fields)
    screen.heading("Void as soon as one of these changes")
    made_with = {"policy": certificate.policy, "calibrator": certificate.calibrator or "none"}
    screen.fields({**certificate.scope.model_dump(), **made_with})

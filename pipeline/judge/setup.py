"""Who judges, read from settings: a name for the common cases, a TOML file for a panel.

[judge]
provider = "anthropic"
model = "claude-haiku-5-5"
samples = 2

[second]
provider = "openai-compatible"
name = "local"
model = "llama"
base_url = "http://127.0.0.1:8000/v1"

[policy]
escalate_below = 0.7
max_cost = 25
send_to = ["anthropic", "local"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge.calls.question import check_permission, check_prices
from pipeline.judge.providers import open_batch_provider, open_provider
from pipeline.judge.providers.keys import find_key
from pipeline.judge.providers.models import load_models
from pipeline.types import Fault, JudgeRole, JudgeSetup, Owner

__all__ = ["SetupError", "check_setup", "read_setup"]

_ROLES = ("judge", "second", "arbiter")
_POLICY = tuple(name for name in JudgeSetup.model_fields if name not in _ROLES)
#: What one name in costs and permissions stands for: one server, reached with one key.
_SERVER = ("provider", "base_url", "key_variable", "key_file")
#: pydantic's types of errors in the words of somebody who writes TOML.
_WORDS = {
    "missing": "is missing",
    "model_type": "must be a table",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
}


class SetupError(GraderError):
    """A judge that cannot be set up as asked."""


def read_setup(settings: Settings) -> JudgeSetup:
    """Return the setup that `settings` ask for; what the settings say outranks the file.

    Raises:
        SetupError: If the file is missing, is no TOML, or has a key or value that does not fit.
        ProviderError: If a provider of the setup may not be sent code (``provider_not_allowed``).
    """
    name = settings.judge
    values = _read_file(Path(name)) if name.endswith(".toml") else _name_role(settings)
    if name.endswith(".toml") and (settings.model or settings.base_url):
        raise _refuse(
            "invalid_setup", name, "--model and --base-url are for a judge given by name, not by file"
        )
    overrides = {
        "max_cost": settings.max_cost,
        "max_cost_per_day": settings.max_cost_per_day,
        "send_to": settings.send_to,
    }
    values |= {key: value for key, value in overrides.items() if value is not None}
    try:
        setup = JudgeSetup.model_validate(values)
    except ValidationError as error:
        raise _refuse("invalid_setup", name, _explain(error)) from None
    for role_name, role in setup.roles.items():
        _check_address(name, role_name, role)
        check_permission(role, setup)
    _check_names(name, setup)
    return setup


def check_setup(setup: JudgeSetup, *, batches: bool = False, sending: bool = True) -> None:
    """Make sure that calls under `setup` can be made, as far as that can be told without making one.

    Args:
        setup: Who is asked.
        batches: Whether they are to be asked in provider batches.
        sending: Whether they are going to be asked at all; otherwise keys may be missing.

    Raises:
        GraderError: If a key is missing or its file is open to others, a price that a cap needs is unknown,
            a role asks for what its provider lacks, or a provider takes no batches.
    """
    check_prices(setup)
    for role in setup.roles.values():
        if batches:
            open_batch_provider(role)
        else:
            open_provider(role)
        if sending:
            find_key(role)


def _name_role(settings: Settings) -> dict[str, Any]:
    if settings.judge == "rules":
        raise _refuse(
            "invalid_setup", "rules", "this judge asks no model", "name a judge that does with --judge"
        )
    model = settings.model
    if model is None:
        model = load_models().default_models.get(settings.judge)
    if model is None:
        raise _refuse(
            "no_model", settings.judge, "no model is named", "say which model it serves with --model NAME"
        )
    return {"judge": {"provider": settings.judge, "model": model, "base_url": settings.base_url}}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refuse("no_setup", str(path), f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _refuse("invalid_setup", str(path), f"is no TOML: {error}") from None
    _check_keys(path, "", found, (*_ROLES, "policy"))
    policy = found.pop("policy", {})
    if not isinstance(policy, dict):
        raise _refuse("invalid_setup", str(path), "policy must be a table")
    _check_keys(path, "policy.", policy, _POLICY)
    for name, role in found.items():
        if isinstance(role, dict):
            _check_keys(path, f"{name}.", role, tuple(JudgeRole.model_fields))
    return {**policy, **found}


def _check_keys(path: Path, place: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise _refuse(
                "invalid_setup",
                str(path),
                f"there is no key {place}{key}",
                f"choose from: {', '.join(known)}",
            )


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["loc"][0] in _POLICY:
        place = f"policy.{place}"
    words = _WORDS.get(first["type"], first["msg"].replace("Input should be", "must be"))
    return f"{place} {words[0].lower()}{words[1:]}"


def _check_address(where: str, role_name: str, role: JudgeRole) -> None:
    """Refuse an address that no request can be sent to: it would look like an outage, and be waited for."""
    if role.base_url is None:
        return
    try:
        split = urlsplit(role.base_url)
        good = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        good = False
    if not good:
        raise _refuse(
            "invalid_setup",
            where,
            f"{role_name}.base_url {role.base_url!r} is no address of a server",
            "write it whole, e.g. http://127.0.0.1:8000/v1",
        )


def _check_names(where: str, setup: JudgeSetup) -> None:
    """Refuse two servers of one name: permissions, costs and batches know a provider by its name."""
    servers: dict[str, Mapping[str, Any]] = {}
    for role_name, role in setup.roles.items():
        server = {key: getattr(role, key) for key in _SERVER}
        if servers.setdefault(role.called, server) != server:
            raise _refuse(
                "invalid_setup",
                where,
                f"{role_name} is another server than an earlier role, but both are called {role.called}",
                "give one of them a name of its own",
            )


def _refuse(
    code: str, where: str, message: str, remedy: str = "docs/judging.md shows a whole file"
) -> SetupError:
    return SetupError(Fault(owner=Owner.ENVIRONMENT, code=code, message=message, where=where, remedy=remedy))

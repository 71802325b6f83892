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
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge.calls.question import check_permission, check_prices
from pipeline.judge.providers import open_batch_provider, open_provider
from pipeline.judge.providers.keys import find_key
from pipeline.judge.providers.models import load_models
from pipeline.types import Fault, JudgeSetup, Owner

__all__ = ["SetupError", "check_setup", "read_setup"]

_ROLES = ("judge", "second", "arbiter")


class SetupError(GraderError):
    """A judge that cannot be set up as asked."""


def read_setup(settings: Settings) -> JudgeSetup:
    """Return the setup that `settings` ask for; what the settings say outranks the file.

    Raises:
        SetupError: If the file is missing, is no TOML, or has a key or value that does not fit; or if a
            provider of the setup may not be sent code.
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
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _refuse("invalid_setup", name, f"{place}: {first['msg']}") from None
    for role in setup.roles.values():
        check_permission(role, setup)
    return setup


def check_setup(setup: JudgeSetup, *, batches: bool = False) -> None:
    """Make sure that calls under `setup` can be made, as far as that can be told without making one.

    Args:
        setup: Who is asked.
        batches: Whether they are to be asked in provider batches.

    Raises:
        GraderError: If a key is missing or its file is open to others, a price that a cap needs is unknown,
            or a provider takes no batches.
    """
    check_prices(setup)
    for role in setup.roles.values():
        find_key(role)
        if batches:
            open_batch_provider(role)
        else:
            open_provider(role)


def _name_role(settings: Settings) -> dict[str, Any]:
    model = settings.model or load_models().default_models.get(settings.judge)
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
    policy = found.pop("policy", {})
    unknown = [key for key in found if key not in _ROLES]
    if unknown or not isinstance(policy, dict):
        raise _refuse(
            "invalid_setup", str(path), f"has no place for {unknown[0] if unknown else 'policy'!r}",
            f"tables are {', '.join(_ROLES)} and policy",
        )  # fmt: skip
    return {**policy, **found}


def _refuse(
    code: str, where: str, message: str, remedy: str = "docs/judging.md shows a whole file"
) -> SetupError:
    return SetupError(Fault(owner=Owner.ENVIRONMENT, code=code, message=message, where=where, remedy=remedy))

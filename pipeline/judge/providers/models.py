"""What is known about models: how much they take, what they cost, how many calls a minute they bear.

The figures live in ``models.toml`` beside this file, with the day on which they were read and where. A file
of one's own is laid over it: `load_models` takes its path, or the variable ``NKI_GRADER_MODELS`` names it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from pipeline.errors import GraderError
from pipeline.types import Fault, Frozen, JudgeRole, Owner, Usage

__all__ = [
    "MODELS_VARIABLE",
    "Concurrency",
    "LongRates",
    "Model",
    "ModelList",
    "Price",
    "Rates",
    "find_model",
    "find_price",
    "load_models",
]

#: Environment variable that names a file of the user's own.
MODELS_VARIABLE: Final = "NKI_GRADER_MODELS"

_SHIPPED: Final = Path(__file__).with_name("models.toml")
_ANY_MODEL: Final = "*"


class Rates(Frozen):
    """US dollars per million tokens, which is micro-dollars per token."""

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cache_read: Decimal | None = Field(default=None, ge=0)
    """None: as `input`."""
    cache_write: Decimal | None = Field(default=None, ge=0)
    """None: as `input`."""

    def _add_up(self, usage: Usage) -> Decimal:
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        )


class LongRates(Rates):
    """What the whole request costs when its prompt is long."""

    above: int = Field(gt=0)
    """Prompt tokens, cached ones included, above which these rates apply."""


class Price(Rates):
    """What a model costs."""

    batch_discount: Decimal = Field(default=Decimal(0), ge=0, le=1)
    """Share that a provider batch takes off."""
    long: LongRates | None = None
    """Rates of long prompts; None where length does not matter."""

    def cost(self, usage: Usage, *, batch: bool = False) -> int:
        """Return what `usage` costs in micro-dollars, rounded up.

        Args:
            usage: Tokens of one answer: which rates apply depends on the length of its prompt.
            batch: Whether it came through a provider batch.
        """
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        rates: Rates = self.long if self.long is not None and prompt > self.long.above else self
        total = rates._add_up(usage)
        if batch:
            total *= 1 - self.batch_discount
        return int(total.to_integral_value(ROUND_CEILING))


class Concurrency(Frozen):
    """How many calls may be under way at once."""

    start: int = Field(ge=1)
    """At the beginning; it adapts from there."""
    maximum: int = Field(ge=1)


class Model(Frozen):
    """One model of one provider."""

    id: str
    """The provider's name of it."""
    provider: str
    """Wire format, or the name that a role gives its provider."""
    context_tokens: int = Field(gt=0)
    """Most tokens that prompt and answer may have together."""
    max_output_tokens: int = Field(gt=0)
    """Longest answer, reasoning included."""
    price: Price | None = None
    """None where no price is known."""
    requests_per_minute: int | None = Field(default=None, gt=0)
    """None for no limit of ours."""
    tokens_per_minute: int | None = Field(default=None, gt=0)
    """Prompt and answer together; None for no limit of ours."""
    concurrency: Concurrency


@dataclass(frozen=True, slots=True)
class ModelList:
    """What the files say.

    Attributes:
        as_of: Day on which the shipped figures were read.
        sources: Where they were read.
        models: By provider and id.
        defaults: By wire format: fields of a model that no entry describes.
        default_models: By wire format: the model that is asked where none is named.
    """

    as_of: date
    sources: tuple[str, ...]
    models: Mapping[tuple[str, str], Model]
    defaults: Mapping[str, Mapping[str, Any]]
    default_models: Mapping[str, str]

    def find(self, role: JudgeRole) -> Model:
        """Return what is known about the model of `role`; of an unknown one the defaults, without a price."""
        for provider in dict.fromkeys((role.called, role.provider)):
            for name in (role.model, _ANY_MODEL):
                found = self.models.get((provider, name))
                if found is not None:
                    return found.model_copy(update={"id": role.model})
        return Model.model_validate(
            {**self.defaults[role.provider], "id": role.model, "provider": role.provider}
        )


def find_model(role: JudgeRole) -> Model:
    """Return what is known about the model of `role`, in the shipped file and the user's own.

    Raises:
        GraderError: If a file cannot be read (code ``bad_models_file``).
    """
    return _load(os.environ.get(MODELS_VARIABLE) or None).find(role)


def find_price(provider: str, model: str) -> Price | None:
    """Return what `model` costs at a provider that takes batches, or None where no price is known.

    Args:
        provider: The name that roles give it. Where no entry has that name, those of the hosted wire formats
            count, since none but they take batches.
        model: The provider's name of the model.

    Raises:
        GraderError: If a file cannot be read (code ``bad_models_file``).
    """
    models = load_models().models
    for name in dict.fromkeys((provider, "anthropic", "openai")):
        for listed in (model, _ANY_MODEL) if name == provider else (model,):
            found = models.get((name, listed))
            if found is not None:
                return found.price
    return None


def load_models(path: Path | None = None) -> ModelList:
    """Return the shipped list with the file at `path` laid over it.

    Args:
        path: A file of the user's own; None for the one that ``NKI_GRADER_MODELS`` names, if any.

    Raises:
        GraderError: If a file cannot be read (code ``bad_models_file``).
    """
    return _load(str(path) if path is not None else os.environ.get(MODELS_VARIABLE) or None)


@lru_cache(maxsize=8)
def _load(own: str | None) -> ModelList:
    shipped = _read(_SHIPPED)
    defaults = dict(shipped["defaults"])
    entries = list(_read_entries(_SHIPPED, shipped, defaults))
    if own is not None:
        path = Path(own).expanduser()
        given = _read(path)
        unknown = sorted(given.keys() - {"as_of", "sources", "model"})
        if unknown:
            raise _bad(path, f"it has no place for {', '.join(unknown)}")
        entries += _read_entries(path, given, defaults)
    return ModelList(
        as_of=shipped["as_of"],
        sources=tuple(shipped["sources"]),
        models={(model.provider, model.id): model for model in entries},
        defaults=defaults,
        default_models=shipped["default_models"],
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise _bad(path, str(error)) from error


def _read_entries(path: Path, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[Model]:
    listed = given.get("model", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise _bad(path, "models are written as [[model]] tables")
    models = []
    for entry in listed:
        # A provider that only a role names speaks some compatible format.
        base = defaults.get(str(entry.get("provider")), defaults["openai-compatible"])
        try:
            models.append(Model.model_validate({**base, **entry}))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise _bad(path, f"model {entry.get('id', '?')!r}: {place}: {first['msg']}") from None
    return models


def _bad(path: Path, why: str) -> GraderError:
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="bad_models_file",
            message=f"the list of models cannot be read: {why}",
            where=str(path),
            remedy=f"correct the file, or unset {MODELS_VARIABLE}",
        )
    )

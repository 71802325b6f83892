"""`nl.NKIObject`: the base of the classes a kernel may use, which brings their initialiser.

NKI reads a class as its list of fields, whether or not ``@dataclass`` stands above it: everything that the
body annotates or assigns is a parameter of the constructor, in that order, and a field without a default is
None. Equality is structural. Sources: language guide, sections "Class Support" and "Enumerations";
facts/emulator_findings.md, finding 17 (un-annotated fields passed by keyword); NKI 0.4.0 release notes
(frozen dataclasses).
"""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType, MemberDescriptorType
from typing import Any, Final

__all__ = ["NKIObject"]

#: What a class body may hold besides fields.
_NO_FIELDS: Final = (FunctionType, staticmethod, classmethod, property, MemberDescriptorType, type)


class NKIObject:
    """Base of the classes a kernel may use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the fields of the class, by position or by keyword.

        Raises:
            TypeError: If there are more values than fields, or a keyword that is no field.
        """
        kind = type(self)
        fields = _field_names(kind)
        if len(args) > len(fields):
            raise TypeError(f"{kind.__name__}() takes {len(fields)} arguments but {len(args)} were given")
        given = dict(zip(fields, args, strict=False))
        for name, value in kwargs.items():
            if name not in fields:
                raise TypeError(f"{kind.__name__}() got an unexpected keyword argument {name!r}")
            if name in given:
                raise TypeError(f"{kind.__name__}() got multiple values for argument {name!r}")
            given[name] = value
        for name in (*fields, *_uninitialised(kind)):
            # A frozen dataclass refuses plain assignment.
            object.__setattr__(self, name, given[name] if name in given else _default(kind, name))
        self.__post_init__()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__init__ is NKIObject.__init__:
            # Written into the class itself, so that @dataclass, applied later, leaves it in place.
            type.__setattr__(cls, "__init__", NKIObject.__init__)

    def __post_init__(self) -> None:
        """Run after initialisation; for subclasses."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = object.__hash__


def _field_names(kind: type) -> list[str]:
    """Return the parameters of the constructor in order: annotated names of a body, then assigned ones."""
    skipped = set(_uninitialised(kind))
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if not issubclass(base, NKIObject) or base is NKIObject:
            continue
        annotations = inspect.get_annotations(base)
        skipped |= {name for name, annotation in annotations.items() if "ClassVar" in str(annotation)}
        names |= dict.fromkeys(annotations)
        names |= dict.fromkeys(
            name
            for name, value in vars(base).items()
            if not name.startswith("__") and not isinstance(value, _NO_FIELDS)
        )
    return [name for name in names if name not in skipped]


def _uninitialised(kind: type) -> list[str]:
    """Return the fields that a dataclass keeps out of its constructor."""
    declared: dict[str, dataclasses.Field[Any]] = getattr(kind, "__dataclass_fields__", {})
    return [name for name, field in declared.items() if not field.init]


def _default(kind: type, name: str) -> Any:
    declared = getattr(kind, "__dataclass_fields__", {}).get(name, getattr(kind, name, None))
    if not isinstance(declared, dataclasses.Field):
        return declared
    if declared.default_factory is not dataclasses.MISSING:
        return declared.default_factory()
    return None if declared.default is dataclasses.MISSING else declared.default

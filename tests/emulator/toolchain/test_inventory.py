"""Every name of NKI 0.6: is it in the matrix, and does the emulator have it?"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import pytest

from pipeline.emulator.frontend.binding import Binding
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import NEWEST, Kind, names_in
from tests.emulator.toolchain.inventory import FUNCTIONS, OWNERS, VALUES

#: What the matrix knows and no stub declares, with the reason.
UNDECLARED = {
    ("nki", "language"): "a submodule",
    ("nki", "isa"): "a submodule",
    ("nki", "typing"): "a submodule",
    ("nki", "collectives"): "a submodule",
    ("nki", "compiler"): "a submodule that guides mention",
    ("nki", "framework"): "a submodule that guides mention",
    ("nki", "meta"): "a submodule that release notes mention",
    ("nki", "experimental"): "a submodule that guides mention",
    ("nki", "dtype"): "nki-library annotates with it",
    ("nki.isa", "constants"): "nki-library imports enums from it",
    ("nki.isa", "NKIObject"): "imported by the stub",
    ("nki.isa", "NkiTensor"): "imported by the stub",
}

#: Names of the stubs that the emulator does not have, with the reason.
NOT_EMULATED: dict[tuple[str, str], str] = {}

#: Functions whose parameters differ from the stub's, with the reason.
OTHER_SIGNATURE = {
    ("nki", "jit"): "takes the keywords of earlier versions too, to say what became of them",
}


@contextmanager
def emulated(owner: str) -> Iterator[Any]:
    """Provide what a kernel finds under a dotted name."""
    with installed_modules(Session(TARGETS["trn3"], NEWEST, instruction_limit=1)):
        parts = owner.split(".")
        found = importlib.import_module(".".join(parts[:2]))
        for part in parts[2:]:
            found = getattr(found, part)
        yield found


def shown(default: Any) -> str:
    """A default as the inventory spells it."""
    if isinstance(default, Enum):
        return default.name
    if isinstance(default, tuple) and default:
        return repr(list(default))  # the stub's list, which every call would share
    return str(default) if isinstance(default, str) and default else repr(default)


def emulated_signature(owner: str, name: str, function: Any) -> str:
    if owner == "nki.isa" and name in OPERATIONS:
        binding = Binding.of(OPERATIONS[name], NEWEST)
        return binding.signature.partition("(")[2].removesuffix(")")
    parameters = list(inspect.signature(function).parameters.values())
    if owner == "nki.language.NkiTensor":
        parameters = parameters[1:]
    return ", ".join(
        parameter.name
        if parameter.default is inspect.Parameter.empty
        else f"{parameter.name}={shown(parameter.default)}"
        for parameter in parameters
    )


@pytest.mark.parametrize("owner", OWNERS)
def test_the_matrix_has_every_name_of_the_stubs(owner: str) -> None:
    declared = {*FUNCTIONS.get(owner, ()), *VALUES.get(owner, ())}
    undeclared = {name for where, name in UNDECLARED if where == owner}
    assert {name.name for name in names_in(owner)} == declared | undeclared


@pytest.mark.parametrize("owner", sorted(set(FUNCTIONS) - {"nki"}))
def test_the_matrix_has_every_parameter_of_the_stubs(owner: str) -> None:
    known = {
        name.name: ", ".join(
            keyword.name if keyword.default is None else f"{keyword.name}={keyword.default}"
            for keyword in name.keywords_in(NEWEST)
        )
        for name in names_in(owner)
        if name.kind is Kind.FUNCTION
    }
    known.pop("reinterpret_cast", None)  # to the stub a value, an alias of view
    assert known == FUNCTIONS[owner]


@pytest.mark.parametrize("owner", OWNERS)
def test_the_emulator_has_every_name(owner: str) -> None:
    wanted = {*FUNCTIONS.get(owner, ()), *VALUES.get(owner, ())}
    wanted -= {name for where, name in NOT_EMULATED if where == owner}
    with emulated(owner) as found:
        # The attributes of a tensor are its slots and properties, found on the class.
        missing = sorted(name for name in wanted if not hasattr(found, name))
    assert missing == [], f"{owner} lacks {', '.join(missing)}"


@pytest.mark.parametrize("owner", sorted(FUNCTIONS))
def test_every_function_takes_the_documented_parameters(owner: str) -> None:
    wrong: list[str] = []
    with emulated(owner) as found:
        for name, wanted in FUNCTIONS[owner].items():
            if {(owner, name)} & {*NOT_EMULATED, *OTHER_SIGNATURE} or not hasattr(found, name):
                continue
            if owner == "nki.isa":
                # Every instruction takes a trailing name= for scheduling, which is no part of the table.
                wanted = wanted.removesuffix(", name=None")
            have = emulated_signature(owner, name, getattr(found, name))
            if have != wanted:
                wrong.append(f"{owner}.{name}({have}) should be ({wanted})")
    assert wrong == []


def test_a_tensor_has_every_attribute() -> None:
    assert [name for name in VALUES["nki.language.NkiTensor"] if not hasattr(NkiTensor, name)] == []


def test_every_exception_is_one() -> None:
    for owner, name in NOT_EMULATED:
        with emulated(owner) as found:
            assert not hasattr(found, name), f"{owner}.{name} is emulated: take it off the list"

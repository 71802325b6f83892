"""Accounts over the API: one's own, and for leads everybody's. Passwords go in and never come out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field, StringConstraints

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen, Role
from pipeline.web.access import allow
from pipeline.web.api.addresses import AccountName
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import Context, context_of

__all__ = ["router"]

router = make_router("/accounts", tag="accounts")

Lead = Annotated[Account, allow(Permission.MANAGE)]

Password = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_Short = Annotated[str, StringConstraints(max_length=200)]


class Person(Frozen):
    """Somebody who works at the desk."""

    name: str
    role: Role
    display: str = Field(description="What others see instead of the name.")
    skills: tuple[str, ...] = Field(description="Tasks or families of tasks they review; empty for all.")
    conflicts: tuple[str, ...] = Field(description="Pseudonyms of authors whose work they do not see.")
    hours_tonight: float | None
    active: bool
    has_password: bool


class PersonRequest(Frozen):
    """What leads say about somebody."""

    role: Role
    display: str = Field(default="", max_length=100)
    skills: tuple[_Short, ...] = Field(default=(), max_length=200)
    conflicts: tuple[_Short, ...] = Field(default=(), max_length=200)
    hours_tonight: float | None = Field(default=None, ge=0, le=24)
    active: bool = True


class NewPersonRequest(PersonRequest):
    """Somebody new."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._@-]{0,63}$")
    password: Password | None = Field(default=None, description="Null where a proxy says who they are.")


class PasswordRequest(Frozen):
    """A new password."""

    password: Password


@router.get("", operation_id="listAccounts", summary="List everybody", responses=refusals())
def list_accounts(request: Request, account: Lead, cursor: Cursor = None, limit: Limit = 50) -> Page[Person]:
    """By name, those that are not active included."""
    people = context_of(request).accounts.list()
    return paginate(people, show_person, key=lambda person: person.name, cursor=cursor, limit=limit)


@router.post("", operation_id="addAccount", summary="Add somebody", status_code=201, responses=refusals())
def add_account(request: Request, account: Lead, asked: NewPersonRequest) -> Person:
    """The name must be free, and stays theirs for good."""
    fields = asked.model_dump(exclude={"password"})
    return show_person(context_of(request).accounts.create(Account(**fields), asked.password))


@router.get("/{name}", operation_id="getAccount", summary="Who somebody is", responses=refusals("unknown"))
def describe_account(request: Request, account: Lead, name: AccountName) -> Person:
    """Also of somebody who is not active."""
    return show_person(_known(context_of(request), name))


@router.put(
    "/{name}",
    operation_id="changeAccount",
    summary="Change somebody",
    responses=refusals("unknown", "invalid"),
)
def change_account(request: Request, account: Lead, name: AccountName, asked: PersonRequest) -> Person:
    """What is left out gets its default; the password stays. The last active lead stays one."""
    context = context_of(request)
    context.accounts.change(account, Account(name=name, **asked.model_dump()))
    return show_person(_known(context, name))


@router.put(
    "/{name}/password",
    operation_id="setPassword",
    summary="Give somebody a new password",
    status_code=204,
    responses=refusals("unknown", "invalid"),
)
def set_password(request: Request, account: Lead, name: AccountName, asked: PasswordRequest) -> None:
    """Ends whatever sessions they have; tokens stay."""
    context_of(request).accounts.set_password(name, asked.password)


def show_person(account: Account) -> Person:
    """Return what the API says about an account: never its password's hash."""
    fields = account.model_dump(exclude={"password"})
    return Person(**fields, has_password=bool(account.password))


def _known(context: Context, name: str) -> Account:
    found = next((person for person in context.accounts.list() if person.name == name), None)
    if found is None:
        raise DeskError("unknown", f"there is no account {name!r}", "choose one from the list of accounts")
    return found

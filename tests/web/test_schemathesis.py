"""The API keeps what its document says, whatever it is sent and whoever sends it: no answer is a defect."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.types import Role
from pipeline.web.api.document import describe_api
from pipeline.web.services import norming_of
from tests.web.conftest import PEOPLE
from tests.web.reviews import new_key

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 3


@pytest.mark.parametrize("name", [*PEOPLE, "nobody"])
def test_every_operation_answers_as_its_document_says(
    name: str, app: FastAPI, accounts: Accounts, desk: Desk
) -> None:
    account = accounts.find(name)
    headers: dict[str, str] = {}
    real: dict[str, Any] = {
        "review_id": desk.list_places()[0].item.review.id,
        "slot": 0,
        "name": "ben",
        "batch_id": "b-0123456789abcdef",
    }
    if account is not None:
        headers["Authorization"] = f"Bearer {accounts.issue_token(account, 'tests')}"
        if account.role is not Role.VIEWER:
            place = desk.draw(account, key=new_key())
            assert place is not None
            real["review_id"] = place.item.review.id
    lead = accounts.find("dora")
    assert lead is not None
    session = norming_of(app).start(lead, "Tails", [real["review_id"]], key=new_key())
    real["session_id"] = session.id
    schema = schemathesis.openapi.from_dict(describe_api())
    schema.app = app
    tried = 0
    for result in schema.get_all_operations():
        _try(result.ok(), headers, real)
        tried += 1
    assert tried > 30


def _try(operation: Any, headers: dict[str, str], real: dict[str, Any]) -> None:
    # Whatever was found once is found again: what is drawn depends on nothing but the operation.
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), is_real=st.booleans())
    def send(case: Any, is_real: bool) -> None:
        if is_real and case.path_parameters:
            known = {key: value for key, value in real.items() if key in case.path_parameters}
            case.path_parameters = {**case.path_parameters, **known}
        case.call_and_validate(headers=headers, checks=CHECKS)

    send()

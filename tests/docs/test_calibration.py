"""docs/calibration.md says what exists: rules, splits, keys of a policy, and numbers of labels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.routing.policy import RULES
from pipeline.routing.splits import SHARES
from pipeline.stats.label_budget import labels_to_certify
from pipeline.types import RoutingPolicy

PAGE = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text()


def section(heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def test_every_rule_is_listed_in_the_order_in_which_it_is_asked() -> None:
    named = re.findall(r"^\| `(\w+)` \|", section("Routes and rules"), re.MULTILINE)
    assert named == [rule.name for rule in RULES]
    assert sum(rule.is_hard for rule in RULES) == 8  # "the first eight hold whatever any certificate says"


def test_every_key_of_a_policy_is_explained() -> None:
    named = set(re.findall(r"^\| `\[?(\w+)\]?` \|", section("Policies"), re.MULTILINE))
    assert named == set(RoutingPolicy.model_fields) - {"id", "version", "title"}


def test_splits_have_the_shares_that_the_page_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) % \|", section("Splits"), re.MULTILINE)
    assert {name: int(share) for name, share in rows} == {
        name: round(100 * share) for name, share in SHARES.items()
    }


@pytest.mark.parametrize(("labels", "limit"), [(45, 0.05), (22, 0.10)])
def test_the_fewest_labels_are_those_of_the_exact_test(labels: int, limit: float) -> None:
    assert labels_to_certify(limit, 0.1) == labels
    assert re.search(rf"\b{labels}\b", section("Splits"))

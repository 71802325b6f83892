import pytest

from pipeline.emulator.legality import RULES, Severity, check
from pipeline.emulator.program import decode, encode, validate
from tests.emulator.legality.cases import CASES

#: Rules that no program can break yet: every implemented operation exists in every version and on every chip.
DORMANT = {"operation-target", "operation-version"}
IDS = [f"{case.rule}-{index}" for index, case in enumerate(CASES)]


@pytest.mark.parametrize("case", [c for c in CASES if c.rule not in DORMANT], ids=lambda c: c.rule)
def test_the_guilty_program_is_named_with_line_limit_and_remedy(case):
    validate(decode(encode(case.guilty)))
    found = [violation for violation in check(case.guilty) if violation.rule == case.rule]
    assert found, [violation.rule for violation in check(case.guilty)]
    violation = found[0]
    assert violation.severity is RULES[case.rule].severity
    assert all(word in violation.message for word in case.words), violation.message
    lines = {instruction.line for instruction in case.guilty.instructions} | {
        tensor.line for tensor in case.guilty.tensors
    }
    assert violation.line in lines


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_innocent_program_is_legal(case):
    validate(decode(encode(case.innocent)))
    found = check(case.innocent)
    assert [v for v in found if v.rule == case.rule] == []
    assert [v for v in found if v.severity is Severity.ERROR] == []


def test_every_rule_has_a_case():
    assert {case.rule for case in CASES} == set(RULES)


def test_every_rule_names_its_source():
    assert all(rule.source and rule.targets for rule in RULES.values())

import pytest

from pipeline.emulator.legality import RULES, Severity, check
from pipeline.emulator.operations import ISA_FUNCTIONS, IsaFunction
from pipeline.emulator.program import decode, encode, validate
from tests.emulator.legality.cases import CASES
from tests.emulator.legality.cases.construction import one, sbuf

#: Every implemented operation exists in every version and on every chip, so tests of these rewrite history.
ABOUT_HISTORY = {"operation-target", "operation-version"}
IDS = [f"{case.rule}-{index}" for index, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.rule)
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
    assert {case.rule for case in CASES} | ABOUT_HISTORY == set(RULES)


@pytest.mark.parametrize(
    ("function", "guilty", "innocent", "rule"),
    [
        (
            IsaFunction("tensor_copy", targets=frozenset({"trn3"})),
            ("trn2", "0.6"),
            ("trn3", "0.6"),
            "operation-target",
        ),
        (IsaFunction("tensor_copy", since="0.5"), ("trn2", "0.4"), ("trn2", "0.5"), "operation-version"),
    ],
)
def test_an_operation_that_a_chip_or_a_version_lacks_is_refused(
    monkeypatch, function, guilty, innocent, rule
):
    monkeypatch.setitem(ISA_FUNCTIONS, "tensor_copy", function)

    def rules(target, version):
        program = one("tensor_copy", dst=sbuf(4, 4), src=sbuf(4, 4), target=target, version=version)
        found = [violation.rule for violation in check(program)]
        return [name for name in found if name != "uninitialised-read"]  # nothing writes the tile read

    assert rules(*guilty) == [rule]
    assert rules(*innocent) == []


def test_every_rule_names_its_source():
    assert all(rule.source and rule.targets for rule in RULES.values())

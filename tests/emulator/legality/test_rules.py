import msgspec
import pytest

from pipeline.emulator.legality import RULES, Severity, check, toolchain
from pipeline.emulator.program import decode, encode, validate
from tests.emulator.legality.cases import CASES
from tests.emulator.legality.cases.construction import one, sbuf

#: A program that breaks it is too long for a table.
WITHOUT_CASE = {"instruction-count"}
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
    assert {case.rule for case in CASES} | WITHOUT_CASE == set(RULES)


def test_a_program_that_the_compiler_would_find_too_long_is_warned_of(monkeypatch):
    # The count that is worth a warning would take seconds to build.
    monkeypatch.setattr(toolchain, "_MANY_INSTRUCTIONS", 3)
    program = one("memset", dst=sbuf(4, 4), value=0.0)
    instruction = program.instructions[0]

    def findings(count):
        found = check(msgspec.structs.replace(program, instructions=(instruction,) * count))
        return [violation for violation in found if violation.rule == "instruction-count"]

    assert findings(3) == []
    (warning,) = findings(4)
    assert warning.severity is Severity.WARNING
    assert warning.line == instruction.line
    assert "4 instructions" in warning.message
    assert "EBVF030" in warning.message


def test_every_rule_names_its_source():
    assert all(rule.source and rule.targets for rule in RULES.values())

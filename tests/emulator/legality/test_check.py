import msgspec

from pipeline.emulator.legality import Severity, Violation
from pipeline.emulator.legality import check as check_all
from pipeline.emulator.program import Program
from tests.emulator.program_builder import ProgramBuilder


def check(program: Program) -> list[Violation]:
    """What is found but that the tiles here, declared and never written, are read."""
    return [violation for violation in check_all(program) if violation.rule != "uninitialised-read"]


def test_errors_come_before_warnings_and_each_by_line():
    builder = ProgramBuilder()
    tile, wrong = builder.tensor((128, 8)), builder.tensor((128, 9))
    column = builder.tensor((128, 1))
    builder.add("activation", dst=tile, op="copy", data=tile, bias=builder.view(column))  # line 10: a warning
    builder.add("tensor_copy", dst=tile, src=wrong)  # line 11: an error
    builder.add("tensor_tensor", dst=tile, data1=tile, data2=tile, op="divide")  # line 12: an error
    found = check(builder.program())
    assert [(v.rule, v.line) for v in found] == [
        ("shape-agreement", 11),
        ("operator-refused", 12),
        ("activation-copy-bias", 10),
    ]
    assert [v.severity for v in found] == [Severity.ERROR, Severity.ERROR, Severity.WARNING]


def test_every_line_that_breaks_a_rule_is_named():
    builder = ProgramBuilder()
    tile, wrong = builder.tensor((128, 8)), builder.tensor((128, 9))
    for _ in range(3):
        builder.add("tensor_copy", dst=tile, src=wrong)
    assert [violation.line for violation in check(builder.program())] == [10, 11, 12]


def test_a_line_says_the_same_thing_once_and_two_things_at_most():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 8))
    for width in (9, 9, 10, 11):
        other = builder.tensor((128, width))
        builder.add("tensor_copy", dst=tile, src=other)
    same_line = [msgspec.structs.replace(i, line=7) for i in builder.instructions]
    builder.instructions[:] = same_line
    builder.tensors[:] = [msgspec.structs.replace(tensor, name="tile") for tensor in builder.tensors]
    found = check(builder.program())
    assert [violation.line for violation in found] == [7, 7]
    assert ["x 9 elements" in found[0].message, "x 10 elements" in found[1].message] == [True, True]


def test_a_message_names_the_tensors_of_the_first_instruction():
    builder = ProgramBuilder()
    tile, wrong = builder.tensor((128, 8)), builder.tensor((128, 9))
    builder.add("tensor_copy", dst=tile, src=wrong)
    (violation,) = check(builder.program())
    assert violation.message.endswith("[dst=t0, src=t1]")


def test_the_number_of_violations_is_bounded():
    builder = ProgramBuilder()
    tile, wrong = builder.tensor((128, 8)), builder.tensor((128, 9))
    for _ in range(500):
        builder.add("tensor_copy", dst=tile, src=wrong)
    assert len(check(builder.program())) == 200


def test_hostile_tensor_names_are_shown_printable_and_short():
    builder = ProgramBuilder()
    builder.tensor((200, 4))
    hostile = builder.tensors[0]
    builder.tensors[0] = type(hostile)("\x1b[2J\n" + "x" * 500, hostile.shape, hostile.dtype, "sbuf", 3)
    (violation,) = check(builder.program())
    assert "\x1b" not in violation.message
    assert "\n" not in violation.message
    assert len(violation.message) < 300

"""What the version of NKI and its compiler say to a program, whatever its instructions compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.operations import (
    OPERATIONS,
    REQUIRED,
    Call,
    Control,
    Parameter,
    Severity,
    availability,
)
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import Keyword, find, holds, holds_in

__all__ = ["RULES"]

#: Instructions beyond which the compiler refuses a whole model, this kernel being one part of it. Source: the
#: limit that neuronx-cc prints with NCC_EBVF030, and [XTP002] in aws-neuron-sdk issues 819 and 1003.
_COMPILER_BUDGET: Final = 5_000_000
#: A tenth of it: more is worth a word, and compiles for long (aws-neuron-sdk issue 1374).
_MANY_INSTRUCTIONS: Final = _COMPILER_BUDGET // 10


def _version(subject: Subject) -> Iterator[Breach]:
    version = subject.program.version
    for index, call in enumerate(subject.resolution.calls):
        known = availability(call.operation)
        if not holds_in(version, known.since, known.until):
            span = (
                f"exists since NKI {known.since}" if known.until is None else f"ended with NKI {known.until}"
            )
            message = f"{call.operation.name} {span}, not in {version}"
            yield from (Breach(message, line) for line in subject.uses[index])


def _keywords(subject: Subject) -> Iterator[Breach]:
    version = subject.program.version
    for index, call in enumerate(subject.resolution.calls):
        known = find(call.operation.module, call.operation.name)
        if known is None or not known.exists_in(version):
            continue
        have = {keyword.name: keyword for keyword in known.keywords_in(version)}
        documented = {keyword.name for keyword in known.keywords}
        for parameter, value in _arguments(call):
            # The frontend lowers the lists of a collective to arguments of other names.
            problem = _misuse(parameter, value, have) if parameter.name in documented else ""
            if problem:
                since = next((k.since for k in reversed(known.keywords) if k.name == parameter.name), version)
                message = f"{call.operation.name}: {parameter.name} {problem} NKI {since}, not in {version}"
                yield from (Breach(message, line) for line in subject.uses[index])


def _arguments(call: Call) -> Iterator[tuple[Parameter, object]]:
    """Yield what each single argument is; of one that may be a number or a tile, the tile if it is one."""
    for parameter in call.operation.parameters:
        if parameter.count == 1 and parameter.kind.in_tensors:
            value: object = call.operand(parameter.name)
            if value is None and parameter.kind.in_scalars:
                value = call.scalar(parameter.name)
            yield parameter, value
        elif parameter.count == 1 and parameter.kind.in_scalars:
            yield parameter, call.scalar(parameter.name)


def _misuse(parameter: Parameter, value: object, have: dict[str, Keyword]) -> str:
    """Return what is wrong with an argument in a version, as far as its name goes; empty if nothing is."""
    if parameter.name not in have:
        return "" if value == parameter.default else "exists since"
    required = have[parameter.name].default is None
    return "is optional since" if required and value is None and parameter.default is not REQUIRED else ""


def _documented(subject: Subject) -> Iterator[Breach]:
    program = subject.program
    if not TARGETS[program.target].documented:
        yield Breach(
            f"NKI {program.version} is documented for trn2 and trn3; a public record shows 0.6 compiling and "
            f"running on {program.target}, so this is no refusal",
            program.instructions[0].line if program.instructions else 0,
        )


def _instructions(subject: Subject) -> Iterator[Breach]:
    instructions = subject.program.instructions
    if len(instructions) <= _MANY_INSTRUCTIONS:
        return
    core, count = Counter(instruction.core for instruction in instructions).most_common(1)[0]
    if count > _MANY_INSTRUCTIONS:
        lines = Counter(instruction.line for instruction in instructions if instruction.core == core)
        line, most = lines.most_common(1)[0]
        yield Breach(
            f"{count} instructions, {most} of them here: loops are unrolled, and the compiler refuses a "
            f"model of more than {_COMPILER_BUDGET} (EBVF030); use larger tiles, or a run-time loop",
            line,
        )


def _nested_loops(subject: Subject) -> Iterator[Breach]:
    program = subject.program
    if not holds("nested-run-time-loops", program.version, program.target):
        return
    controls = [OPERATIONS[name].control for name in program.operations]
    open_loops: list[list[int]] = [[] for _ in range(program.cores)]
    for instruction in program.instructions:
        control, loops = controls[instruction.operation], open_loops[instruction.core]
        if control in (Control.FOR_BEGIN, Control.WHILE_BEGIN):
            if loops:
                yield Breach(
                    f"a run-time loop inside that of line {loops[-1]}: until NKI 0.6 the compiler refuses "
                    f"nested ones (NCC_ICFG018), this kernel is compiled for {program.version}; unroll one "
                    "of them with range",
                    instruction.line,
                )
            loops.append(instruction.line)
        elif control is not None and loops:
            loops.pop()


RULES: Final = (
    Rule("operation-version", _version, "type stubs and release notes of NKI 0.3 to 0.6"),
    Rule("keyword-version", _keywords, "type stubs and release notes of NKI 0.3 to 0.6"),
    Rule(
        "nested-loops",
        _nested_loops,
        "aws-neuron-sdk issue 1346: NCC_ICFG018 under 0.5.0, compiles under 0.6.0; NKI 0.4.0 known issues",
    ),
    Rule(
        "target-documented",
        _documented,
        "NKI FAQ, Which AWS chips does NKI support; facts/nki.md section 1.1",
        frozenset(name for name, target in TARGETS.items() if not target.documented),
        Severity.WARNING,
    ),
    Rule(
        "instruction-count",
        _instructions,
        "compiler/error-codes/EBVF030.rst; aws-neuron-sdk issues 819, 1003 and 1374",
        severity=Severity.WARNING,
    ),
)

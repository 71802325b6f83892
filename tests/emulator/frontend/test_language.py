"""What the NKI compiler refuses of Python inside a kernel, what it advises against, and nothing else."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.language import RULES, check_kernel, check_source
from pipeline.emulator.operations import Severity
from pipeline.emulator.toolchain import VERSIONS
from tests.emulator.frontend.kernels import BODY_LINE, IMPORTS, record, record_body, refusal
from tests.emulator.frontend.language_cases import CASES

IDS = [f"{case.rule}-{place}" for place, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_guilty_kernel_is_named_with_its_line_and_remedy(case) -> None:
    source = case.guilty_source()
    found = [finding for finding in check_source(source, "kernel", case.version) if finding.rule == case.rule]
    assert found
    finding = found[0]
    assert all(word in finding.message for word in case.words), finding.message
    assert "\n" not in finding.message
    assert IMPORTS.count("\n") < finding.line <= source.count("\n") + 1
    assert finding.severity is RULES[case.rule].severity


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_innocent_kernel_is_not(case) -> None:
    findings = check_source(case.innocent_source(), "kernel", case.innocent_version or case.version)
    assert [finding for finding in findings if finding.rule == case.rule] == []
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []


def test_every_rule_has_a_case_and_a_source() -> None:
    assert {case.rule for case in CASES} == set(RULES)
    assert all(rule.source and rule.about for rule in RULES.values())


def test_a_kernel_that_is_a_coroutine_is_refused() -> None:
    (finding,) = check_source("async def kernel(x):\n    return x\n", "kernel")
    assert (finding.rule, finding.line) == ("coroutine", 1)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_an_error_ends_the_kernel_and_a_warning_does_not(case) -> None:
    tree = ast.parse(case.guilty_source())
    if RULES[case.rule].severity is Severity.WARNING:
        check_kernel(tree, "kernel", case.version)
        return
    with pytest.raises(KernelError) as caught:
        check_kernel(tree, "kernel", case.version)
    assert caught.value.kind == "compile_error"
    assert caught.value.line > 0


@pytest.mark.parametrize(
    "statement",
    [
        "with nl.no_reorder():\n    pass",
        "values = []\nfor i in range(4):\n    values.append(i * i)",
        "scale = lambda v: v * 2\nassert scale(2) == 4",
        "table = {'a': 1}\nassert table.get('b', 2) == 2",
        "i = 0\nwhile i < 3:\n    i += 1",
        "print(f'{x.shape} {x.dtype}')",
        "assert x != None and 1 in (1, 2)",
        "low, high = min(1, 2), max(1, 2) if True else 0",
    ],
)
def test_the_python_that_the_guide_lists_is_evaluated_at_compile_time(statement: str) -> None:
    record_body(statement)


def test_a_trace_stops_at_the_first_error_of_its_version() -> None:
    error = refusal("flag = [i for i in range(2)]\ndel flag")
    assert (error.kind, error.line) == ("compile_error", BODY_LINE)
    refused_before_0_6 = "def body(i):\n    pass\nx.shape"
    assert refusal(refused_before_0_6, version="0.5").line == BODY_LINE
    record_body(refused_before_0_6, version="0.6")


HOST_AND_KERNEL = f"""{IMPORTS}
import random
try:
    import something_optional
except ImportError:
    something_optional = None

if something_optional is None:
    def tile(n: int = (lambda: 1)()) -> int:
        return n

def host(values):
    if values is None:
        raise ValueError("no values")
    with open(values) as stream:
        yield from (random.random() for _ in stream)

class Plan:
    sizes = [i for i in range(3)]

@nki.jit(mode=[m for m in ("trace",)][0])
def kernel(x: Plan):
    t = nl.load(x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out
"""


def test_host_code_around_the_kernel_may_use_all_of_python() -> None:
    assert check_source(HOST_AND_KERNEL, "kernel") == []
    assert len(record(HOST_AND_KERNEL).instructions) == 2


REACHED = """
import nki.language as nl

def used(t):
    return deeper(t)

def deeper(t):
    raise ValueError

def unused(t):
    raise ValueError

class Plan(nl.NKIObject):
    def rows(self):
        del self

    def build(self):
        return self

def kernel(x, unused):
    unused(x)
    helpers = [used]
    return Plan().build()

launched = nki.jit(kernel)
"""


@pytest.mark.parametrize("entry", ["kernel", "launched"])
def test_the_compiler_follows_names_into_functions_and_methods_of_the_module(entry: str) -> None:
    found = {
        (f.rule, f.message.partition("[in ")[2].partition("()")[0]) for f in check_source(REACHED, entry)
    }
    assert found == {("raise", "deeper"), ("delete", "rows")}


HOST = "def real(x):\n    raise ValueError\n"
CALLS = "def kernel(x):\n    return {}\n"


@pytest.mark.parametrize(
    "module",
    [
        "def kernel(x):\n    return x\nkernel = real\n",
        "def kernel(x):\n    return x\nkernel = nki.jit(real)\n",
        "def kernel(x):\n    return x\nother = real\nkernel = nki.jit(other)\n",
        "def kernel(x):\n    return x\nfor kernel in (nki.jit(real),):\n    pass\n",
        "def swap(function):\n    return real\n@swap\ndef kernel(x):\n    return x\n",
        "def swap(function):\n    return real\n@nki.jit\n@swap\ndef kernel(x):\n    return x\n",
        "def kernel(x, go=real):\n    return go(x)\n",
        "def inner(x, go=real):\n    return go(x)\n" + CALLS.format("inner(x)"),
        "class Go:\n    def __call__(self, x):\n        return real(x)\ngo = Go()\n" + CALLS.format("go(x)"),
        "class Go:\n    act = real\n" + CALLS.format("Go.act(x)"),
        "class Base:\n    def act(self, x):\n        return real(x)\nclass Go(Base):\n    pass\n"
        + CALLS.format("Go().act(x)"),
        "TABLE = {'go': real}\n" + CALLS.format("TABLE['go'](x)"),
        "TABLE = {}\nTABLE['go'] = real\n" + CALLS.format("TABLE['go'](x)"),
        "TABLE = []\nTABLE.append(real)\n" + CALLS.format("TABLE[0](x)"),
        "TABLE = []\n@TABLE.append\ndef other(x):\n    raise ValueError\n" + CALLS.format("TABLE[0](x)"),
        "def make():\n    return real\nmade = make()\n" + CALLS.format("made(x)"),
        "go = lambda x: real(x)\n" + CALLS.format("go(x)"),
    ],
)
def test_the_compiler_follows_values_to_the_functions_they_hold(module: str) -> None:
    assert "raise" in {finding.rule for finding in check_source(HOST + module, "kernel")}


@pytest.mark.parametrize(
    "module",
    [
        "SIZE = real(1)\n" + CALLS.format("SIZE"),
        "class Plan:\n    def __post_init__(self):\n        real(self)\nPLAN = Plan()\n"
        + CALLS.format("PLAN.n"),
        "TABLE = {'go': real}\n" + CALLS.format("x"),
    ],
)
def test_what_python_has_computed_before_may_use_all_of_python(module: str) -> None:
    assert check_source(HOST + module, "kernel") == []


def test_a_text_without_the_kernel_or_without_sense_has_its_answer() -> None:
    assert check_source("def other(x):\n    raise ValueError\n", "kernel") == []
    (finding,) = check_source("def other(x):\n    return x\n", "kernel", defines=True)
    assert (finding.rule, finding.severity) == ("entry-undefined", Severity.ERROR)
    for binding in ("kernel = other", "if other:\n    kernel = nki.jit(other)", "from others import kernel"):
        assert check_source(f"def other(x):\n    return x\n{binding}\n", "kernel", defines=True) == []
    (finding,) = check_source("def kernel(x:\n", "kernel")
    assert (finding.rule, finding.severity, finding.line) == ("syntax", Severity.ERROR, 1)
    for hostile in ("\0", "(" * 5000 + ")" * 5000, "x" + ".a" * 50_000, "x = " + "-" * 50_000 + "1"):
        assert len(check_source(f"def kernel(x):\n    {hostile}\n", "kernel")) <= 1


def test_findings_are_few_whatever_the_text_holds() -> None:
    source = "def kernel(x):\n" + "    del x\n" * 5000
    assert len(check_source(source, "kernel")) == 200


FRAGMENTS = st.sampled_from([line for case in CASES for line in case.guilty.splitlines()])


@settings(max_examples=50, deadline=None)
@given(lines=st.lists(FRAGMENTS, max_size=8), version=st.sampled_from(VERSIONS))
def test_any_text_gets_findings_with_lines_of_its_own(lines: list[str], version: str) -> None:
    source = "def kernel(x):\n" + "".join(f"    {line}\n" for line in lines) + "    return x\n"
    findings = check_source(source, "kernel", version)
    assert all(1 <= finding.line <= len(lines) + 2 for finding in findings)
    assert [finding.line for finding in findings] == sorted(finding.line for finding in findings)
    assert len({(finding.rule, finding.line) for finding in findings}) == len(findings)

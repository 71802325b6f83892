"""For every rule of the language a kernel that breaks it and one, as close as possible, that does not.

A rule more is an entry more.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent

from tests.emulator.frontend.kernels import IMPORTS


@dataclass(frozen=True)
class LanguageCase:
    """One pair of kernels.

    Attributes:
        rule: The rule.
        guilty: Body of the kernel that breaks it.
        innocent: Body of the kernel that does not.
        words: What the message must say.
        version: NKI version of both.
        module: What the module holds beside the kernel.
        parameters: Of the guilty kernel.
        innocent_module: What the module of the innocent kernel holds, if not the same.
        innocent_version: Version of the innocent kernel, if not the same.
    """

    rule: str
    guilty: str
    innocent: str
    words: tuple[str, ...]
    version: str = "0.6"
    module: str = ""
    parameters: str = "x"
    innocent_module: str | None = None
    innocent_version: str | None = None

    def guilty_source(self) -> str:
        return _source(self.module, self.parameters, self.guilty)

    def innocent_source(self) -> str:
        module = self.module if self.innocent_module is None else self.innocent_module
        return _source(module, "x", self.innocent)


def _source(module: str, parameters: str, body: str) -> str:
    body = indent(dedent(body).strip() or "pass", "    ")
    return f"{IMPORTS}{dedent(module).strip()}\n\n@nki.jit\ndef kernel({parameters}):\n{body}\n"


HELPER = "def helper(t):\n    return t\n"

CASES = [
    LanguageCase(
        "exceptions", "try:\n    pass\nexcept ValueError:\n    pass", "if True:\n    pass", ("try", "assert")
    ),
    LanguageCase(
        "exceptions",
        "helper(x)",
        "other(x)",
        ("try", "in helper(), which the kernel reaches"),
        module="""
            def other(t):
                return t

            def helper(t):
                try:
                    return t
                finally:
                    pass
        """,
    ),
    LanguageCase(
        "raise",
        "if x.shape[0] > 128:\n    raise ValueError('no')",
        "assert x.shape[0] <= 128",
        ("raise", "assert"),
    ),
    LanguageCase(
        "context-manager",
        "with open_tile():\n    pass",
        "with nl.no_reorder():\n    pass",
        ("nl.no_reorder()",),
    ),
    LanguageCase(
        "coroutine",
        "async def body():\n    pass\nnl.fori_loop(0, 2, body)",
        "def body(i):\n    pass\nnl.fori_loop(0, 2, body)",
        ("async",),
    ),
    LanguageCase("generator", "yield x", "return x", ("yield",)),
    LanguageCase("outer-variable", "global count\ncount = 1", "count = 1", ("global",), module="count = 0"),
    LanguageCase(
        "inner-class",
        "class Sizes(nl.NKIObject):\n    rows: int = 1",
        "sizes = Sizes()",
        ("top level",),
        innocent_module="class Sizes(nl.NKIObject):\n    rows: int = 1",
    ),
    LanguageCase(
        "inner-import",
        "import math\nn = math.sqrt(4)",
        "n = math.sqrt(4)",
        ("top of the module",),
        module="import math",
    ),
    LanguageCase("delete", "t = x\ndel t", "t = x", ("del",)),
    LanguageCase(
        "match", "match x.shape:\n    case (a, b):\n        pass", "a, b = x.shape", ("if and elif",)
    ),
    LanguageCase(
        "loop-else",
        "for i in range(2):\n    pass\nelse:\n    pass",
        "for i in range(2):\n    pass",
        ("flag",),
    ),
    LanguageCase(
        "loop-in-no-reorder",
        "with nl.no_reorder():\n    for i in nl.dynamic_range(4):\n        pass",
        "for i in nl.dynamic_range(4):\n    with nl.no_reorder():\n        pass",
        ("nl.dynamic_range", "no_reorder"),
    ),
    LanguageCase(
        "inner-function",
        "def body(t):\n    pass\nbody(x)",
        "helper(x)",
        ("def body", "top level"),
        "0.5",
        HELPER,
    ),
    LanguageCase(
        "inner-function-call",
        "def body(i):\n    pass\nnl.fori_loop(0, 4, body)\nbody(0)",
        "def body(i):\n    pass\nnl.fori_loop(0, 4, body)",
        ("body is an inner function", "nl.fori_loop"),
    ),
    LanguageCase(
        "inner-function-call",
        "def body(r):\n    return r\nnl.while_loop(body(x), body_fun=body)",
        "def body(r):\n    return r\nnl.while_loop(x, body_fun=body)",
        ("body is an inner function",),
    ),
    LanguageCase(
        "comprehension",
        "rows = [i for i in range(4)]",
        "rows = []\nfor i in range(4):\n    rows.append(i)",
        ("for loop",),
    ),
    LanguageCase("comprehension", "total = sum(i for i in range(4))", "total = 6", ("generator expression",)),
    LanguageCase("lambda", "f = lambda t: t", "f = helper", ("lambda", "top level"), module=HELPER),
    LanguageCase(
        "assignment-expression",
        "if (n := x.shape[0]) > 1:\n    pass",
        "n = x.shape[0]\nif n > 1:\n    pass",
        ("':='",),
    ),
    LanguageCase("set-display", "assert x.shape[0] in {1, 2}", "assert x.shape[0] in (1, 2)", ("tuple",)),
    LanguageCase("unpacking", "helper(*x.shape)", "helper(x.shape)", ("unpack",), module=HELPER),
    LanguageCase("unpacking", "helper(**{'t': 1})", "helper(t=1)", ("unpack",), module=HELPER),
    LanguageCase("unpacking", "a = {**{'b': 1}}", "a = {'b': 1}", ("unpack",)),
    LanguageCase("format-specifier", "print(f'{1.5:.2f}')", "print(f'{1.5}')", ("':'",)),
    LanguageCase("matrix-operator", "y = x @ x", "y = x", ("nisa.nc_matmul",)),
    LanguageCase("identity", "flag = x.shape is True", "flag = x.shape == True", ("'is'", "use ==")),
    LanguageCase("identity", "flag = x.shape is not 1", "flag = x.shape != 1", ("'is not'", "use !=")),
    LanguageCase("identity-of-none", "flag = x is None", "flag = x == None", ("'is'", "use ==")),
    LanguageCase("integer-width", f"n = {1 << 32}", f"n = {(1 << 31) - 1}", ("4294967296", "32 bits")),
    LanguageCase("integer-width", f"n = {1 << 200}", "n = 0.5", ("of 201 bits",)),
    LanguageCase("integer-sign", f"n = {1 << 31}", f"n = -{1 << 31}", ("2147483648",)),
    LanguageCase("dictionary-keys", "d = {0: x}", "d = {'0': x}", ("key 0", "strings")),
    LanguageCase("keyword-only", "pass", "pass", ("keyword-only", "remove the *"), parameters="x, *, n=1"),
    LanguageCase(
        "keyword-only-helper",
        "f(x)",
        "helper(x)",
        ("keyword-only",),
        module=f"def f(t, *, n=1): pass\n{HELPER}",
    ),
    LanguageCase("variable-parameters", "pass", "pass", ("*args",), parameters="x, *rest"),
    LanguageCase("variable-parameters", "pass", "pass", ("**kwargs",), parameters="x, **rest"),
    LanguageCase(
        "variable-parameters-helper", "f(x)", "helper(x)", ("*args",), module=f"def f(*t): pass\n{HELPER}"
    ),
    LanguageCase("list-argument", "pass", "pass", ("list", "tuple"), parameters="x, stride=[1, 1]"),
    LanguageCase(
        "plain-class",
        "sizes = Sizes()",
        "sizes = Sizes()",
        ("Sizes()", "nl.NKIObject"),
        module="class Sizes:\n    rows = 1",
        innocent_module="class Sizes(nl.NKIObject):\n    rows = 1",
    ),
    LanguageCase(
        "nested-kernel",
        "inner(x)",
        "inner(x)",
        ("inner()", "@nki.jit"),
        module="@nki.jit\ndef inner(t): pass",
        innocent_module="def inner(t): pass",
    ),
    LanguageCase(
        "impure", "n = random.random()", "n = 0.5", ("random.random", "argument"), module="import random"
    ),
    LanguageCase("impure", "n = np.random.rand()", "n = np.float32(1)", ("numpy.random.rand",)),
    LanguageCase(
        "impure", "n = os.environ['N']", "n = N", ("os.environ",), module="import os\nN = os.environ.get('N')"
    ),
    LanguageCase(
        "impure",
        "n = clock()",
        "n = 0.5",
        ("time.perf_counter",),
        module="from time import perf_counter as clock",
    ),
    LanguageCase("impure", "open('f')", "print('f')", ("open",)),
    LanguageCase(
        "state-written",
        "SEEN.append(1)",
        "seen = []\nseen.append(1)",
        ("SEEN", "cached"),
        module="SEEN = []",
    ),
    LanguageCase("state-written", "TABLE['a'] = 1", "n = TABLE['a']", ("TABLE",), module="TABLE = {'a': 2}"),
    LanguageCase(
        "state-read",
        "n = SIZES['a']",
        "n = SIZES['a']",
        ("SIZES", "argument"),
        module="SIZES = {'a': 1}\ndef host(n):\n    SIZES['a'] = n",
        innocent_module="SIZES = {'a': 1}",
    ),
    LanguageCase(
        "deprecated-name",
        "for i in nl.affine_range(2):\n    pass",
        "for i in range(2):\n    pass",
        ("nl.affine_range", "range"),
    ),
    LanguageCase(
        "deprecated-name",
        "n = nl.tile_size.psum_fmax",
        "n = nl.tile_size.psum_fmax",
        ("nl.tile_size.psum_fmax", "since NKI 0.4", "psum_bank_fmax"),
        "0.4",
        innocent_version="0.3",
    ),
]

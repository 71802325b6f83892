"""The subset of Python that the NKI compiler accepts in a kernel, checked on the syntax tree.

`check_source` parses and executes nothing, so the trusted side can call it on a submission's text. A rule is
an error where AWS's documentation says so, where a public record shows the compiler refusing it, or where the
published source of its front end refuses by name a statement or definition that the language guide does not
list. An expression that the published source alone refuses is a warning, and so is what two of them
contradict each other about.
"""

from pipeline.emulator.frontend.language.check import RULES, check_kernel, check_source
from pipeline.emulator.frontend.language.essence import distill
from pipeline.emulator.frontend.language.rule import Finding, LanguageRule
from pipeline.emulator.frontend.language.source import assigned_names, parse

__all__ = [
    "RULES",
    "Finding",
    "LanguageRule",
    "assigned_names",
    "check_kernel",
    "check_source",
    "distill",
    "parse",
]

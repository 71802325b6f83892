"""The subset of Python that the NKI compiler accepts in a kernel, checked on the syntax tree.

`check_source` parses and executes nothing, so the trusted side can call it on a submission's text. A rule is
an error where AWS's documentation says so, or where the published source of the compiler's front end refuses
the construct by name and the language guide does not list it, or a public record shows the refusal. What one
witness alone says, or two contradict each other about, is a warning.
"""

from pipeline.emulator.frontend.language.check import RULES, check_kernel, check_source
from pipeline.emulator.frontend.language.rule import Finding, LanguageRule
from pipeline.emulator.frontend.language.source import assigned_names, parse

__all__ = ["RULES", "Finding", "LanguageRule", "assigned_names", "check_kernel", "check_source", "parse"]

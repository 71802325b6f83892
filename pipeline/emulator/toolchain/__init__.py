"""The toolchain matrix: which version of NKI has which name, keyword, rule and limit, on which chips.

Data with its sources, and questions to it; the frontend, legality and the documentation ask here. Adding a
version is adding a release to `versions` and dates to the tables.
"""

from pipeline.emulator.toolchain.changes import CHANGES, Change, holds
from pipeline.emulator.toolchain.core import MODULES
from pipeline.emulator.toolchain.names import Keyword, Kind, Name
from pipeline.emulator.toolchain.surface import ISA_FUNCTIONS, SURFACE, available, find, names_in
from pipeline.emulator.toolchain.versions import NEWEST, OLDEST, RELEASES, VERSIONS, Release, holds_in

__all__ = [
    "CHANGES",
    "ISA_FUNCTIONS",
    "MODULES",
    "NEWEST",
    "OLDEST",
    "RELEASES",
    "SURFACE",
    "VERSIONS",
    "Change",
    "Keyword",
    "Kind",
    "Name",
    "Release",
    "available",
    "find",
    "holds",
    "holds_in",
    "names_in",
]

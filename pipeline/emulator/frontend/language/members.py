"""What of the modules a kernel may import does nothing but compute: all else leads to the interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["is_closed", "is_harmless", "is_member"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Packages that may be imported, and of which any public name is harmless.
_OPEN: Final = _words("__future__ itertools math ml_dtypes neuronxcc nki nkilib torch")
#: Modules that an open package may have imported itself.
_LEAKED: Final = _words(
    "abc collections contextlib dataclasses enum functools logging operator types typing warnings"
)
#: The harmless members of other modules, by dotted name. Settings are the same in every trace,
#: and output is no input.
_MEMBERS: Final = {
    "abc": _words("ABC ABCMeta abstractmethod"),
    "collections": _words("ChainMap Counter OrderedDict UserDict UserList abc defaultdict deque namedtuple"),
    "collections.abc": _words(
        "Awaitable Callable Collection Container Generator Hashable ItemsView Iterable Iterator "
        "KeysView Mapping MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized "
        "ValuesView"
    ),
    # Not what copies objects: they say themselves how, and could name another object to fill.
    "copy": frozenset(),
    "dataclasses": _words(
        "FrozenInstanceError InitVar KW_ONLY MISSING dataclass field fields is_dataclass replace"
    ),
    "enum": _words("Enum Flag IntEnum IntFlag StrEnum auto unique"),
    "fractions": _words("Fraction"),
    # Not what copies attributes or evaluates annotations: wraps, update_wrapper, singledispatch.
    "functools": _words(
        "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering"
    ),
    "logging": _words(
        "CRITICAL DEBUG ERROR Formatter Handler INFO Logger NOTSET NullHandler StreamHandler "
        "WARNING basicConfig critical debug disable error exception getLogger info log warning"
    ),
    "numbers": _words("Complex Integral Number Rational Real"),
    "numpy": _words(
        "abs absolute add all allclose amax amin any arange arccos arcsin arctan arctan2 argmax "
        "argmin argsort array array_equal asarray astype atleast_1d atleast_2d bfloat16 bool "
        "bool_ broadcast_to cbrt ceil clip complex64 concatenate copy cos cosh cumprod cumsum "
        "diag diff divide dot dtype e einsum empty empty_like equal exp exp2 expand_dims expm1 "
        "eye finfo flip float16 float32 float64 floating floor floor_divide fmax fmin full "
        "full_like generic geomspace greater greater_equal hypot identity iinfo inf inner int16 "
        "int32 int64 int8 integer intp isclose isfinite isinf isnan less less_equal linalg "
        "linspace log log10 log1p log2 logical_and logical_not logical_or logspace matmul max "
        "maximum mean median min minimum mod moveaxis multiply nan ndarray ndim negative newaxis "
        "nonzero not_equal number ones ones_like outer pad pi power prod random ravel reciprocal "
        "remainder repeat reshape rint roll round set_printoptions shape sign sin sinh size sort "
        "split sqrt square squeeze stack std subtract sum swapaxes take tan tanh tensordot tile "
        "trace transpose tril triu trunc uint16 uint32 uint64 uint8 unique var vectorize vstack "
        "hstack where zeros zeros_like"
    ),
    "numpy.linalg": _words("inv norm"),
    "numpy.random": _words(
        "Generator RandomState default_rng normal permutation rand randint randn random seed "
        "standard_normal uniform"
    ),
    "operator": _words(
        "add and_ contains eq floordiv ge getitem gt index invert is_ is_not itemgetter le lshift "
        "lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor"
    ),
    "os": _words("environ getenv"),
    "os.environ": _words("get"),
    "sys": _words("argv float_info maxsize stderr stdout version version_info"),
    "warnings": _words("catch_warnings filterwarnings resetwarnings simplefilter warn"),
}
_MEMBERS["sys.stderr"] = _MEMBERS["sys.stdout"] = _words("flush write")
_TYPING: Final = _words("typing typing_extensions")
#: Of what `typing` has in small letters; of its capitals one evaluates text.
_TYPING_FUNCTIONS: Final = _words("cast final overload runtime_checkable")
_EVALUATED: Final = "ForwardRef"
_STAR: Final = "*"


def is_harmless(module: str) -> bool:
    """Whether importing `module`, a dotted name, does nothing to anybody."""
    package, *parts = module.split(".")
    if package in _OPEN:
        return not any(_is_private(part) for part in parts)
    if not parts:
        return package in _MEMBERS or package in _TYPING
    return module in _MEMBERS and is_member(package, parts)


def is_closed(dotted: str) -> bool:
    """Whether `dotted` is a module with members that are not harmless, and no value to hand around."""
    return dotted in _MEMBERS or dotted in _TYPING


def is_member(root: str, parts: Iterable[str]) -> bool:
    """Whether what `parts` name, one in another, of the import `root`, a dotted name, is harmless.

    Args:
        root: What was imported: a module, or a member of one.
        parts: Names of attributes, from the outside to the inside.
    """
    path = ""
    for part in (*root.split("."), *parts):
        if path and not _has(path, part):
            return False
        path = f"{path}.{part}" if path else part
    return True


def _has(path: str, part: str) -> bool:
    if _is_private(part):
        return False
    if path in _TYPING:
        return part in _TYPING_FUNCTIONS or (part[:1].isupper() and part != _EVALUATED)
    if path in _MEMBERS:
        return part in _MEMBERS[path]
    package = path.partition(".")[0]
    return (package not in _OPEN or part not in _LEAKED) and (part != _STAR or package in _OPEN)


def _is_private(part: str) -> bool:
    return part.startswith("_")

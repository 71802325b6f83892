"""Every function of `nki.isa`, implemented here or not: which NKI version and which chips have it.

Source: the type stubs of NKI 0.6.0 (facts/nki.md section 4.1) and the release timeline (section 1.2). 0.3 is
the oldest version distinguished, so it stands for everything before it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ISA_FUNCTIONS", "VERSIONS", "IsaFunction"]

#: NKI versions whose rules are known, oldest first.
VERSIONS: Final = ("0.3", "0.4", "0.5", "0.6")

_ALL: Final = frozenset({"trn1", "trn2", "trn3"})
_V3: Final = frozenset({"trn2", "trn3"})
_V4: Final = frozenset({"trn3"})


@dataclass(frozen=True, slots=True)
class IsaFunction:
    """One function of `nki.isa`.

    Attributes:
        name: Its name.
        since: First NKI version that has it.
        targets: Chips that have it.
    """

    name: str
    since: str = "0.3"
    targets: frozenset[str] = _ALL


_FUNCTIONS: Final = (
    *(
        IsaFunction(name)
        for name in (
            "activation",
            "activation_reduce",
            "affine_select",
            "bn_aggr",
            "bn_stats",
            "dma_compute",
            "dma_copy",
            "dma_transpose",
            "dropout",
            "get_nc_sub_version",
            "get_nc_version",
            "iota",
            "local_gather",
            "max8",
            "memset",
            "nc_find_index8",
            "nc_match_replace8",
            "nc_matmul",
            "nc_n_gather",
            "nc_stream_shuffle",
            "nc_transpose",
            "rand_get_state",
            "rand_set_state",
            "reciprocal",
            "register_alloc",
            "register_load",
            "register_move",
            "register_store",
            "rng",
            "scalar_tensor_tensor",
            "select_reduce",
            "sequence_bounds",
            "set_rng_seed",
            "tensor_copy",
            "tensor_copy_predicated",
            "tensor_partition_reduce",
            "tensor_reduce",
            "tensor_scalar",
            "tensor_scalar_cumulative",
            "tensor_scalar_reduce",
            "tensor_tensor",
            "tensor_tensor_scan",
        )
    ),
    IsaFunction("core_barrier", targets=_V3),
    IsaFunction("nonzero_with_count", targets=_V3),
    IsaFunction("range_select", targets=_V3),
    IsaFunction("sendrecv", targets=_V3),
    IsaFunction("activate2", "0.4", _V4),
    IsaFunction("exponential", targets=_V4),
    IsaFunction("nc_matmul_mx", targets=_V4),
    IsaFunction("quantize_mx", targets=_V4),
    IsaFunction("rand2", targets=_V4),
    IsaFunction("topk", "0.6"),
)

#: Every function by name.
ISA_FUNCTIONS: Final[dict[str, IsaFunction]] = {function.name: function for function in _FUNCTIONS}

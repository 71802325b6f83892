"""The vector engine, means and variances: `bn_stats`, `bn_aggr`.

Both compute in float32, says the documentation, and not by which algorithm: here deviations are taken from
the rounded mean and sums run in element order, so the last digits may differ from the device's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.arguments import destination, source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, loader, writer
from pipeline.emulator.operations.limits import per_partition
from pipeline.emulator.operations.reduction import sum_in_order
from pipeline.emulator.operations.table import Fidelity, Limit, Operation

__all__ = ["OPERATIONS"]

_MOST: Final = 512  # nl.tile_size.bn_stats_fmax
_PARTS: Final = 3  # count, mean, variance * count


def _bind_bn_stats(call: Call) -> Kernel:
    """Count, mean and sum of squared deviations of the elements at even places, then of those at odd ones."""
    data = call.tensor("data")
    load, write = loader(data, (data.partitions, data.free_elements)), writer(call.tensor("dst").dtype)

    def measure(registers: object, dst: Array, data: Array) -> None:
        rows = load(data)
        result = np.zeros((len(rows), 2 * _PARTS), rows.dtype)
        for parity in range(2):
            half = rows[:, parity::2]
            if half.shape[1] == 0:
                continue  # a single element has no odd ones: count, mean and variance stay 0
            count = np.float32(half.shape[1])
            mean = sum_in_order(half) / count
            deviations = np.square(half - mean[:, None])
            for part, value in enumerate((count, mean, sum_in_order(deviations))):
                result[:, parity * _PARTS + part] = value
        write(dst, result)

    return measure


def _bind_bn_aggr(call: Call) -> Kernel:
    """Mean and population variance of the union of the groups that the triples describe."""
    data = call.tensor("data")
    groups = data.free_elements // _PARTS
    load, write = loader(data, (data.partitions, groups, _PARTS)), writer(call.tensor("dst").dtype)

    def aggregate(registers: object, dst: Array, data: Array) -> None:
        counts, means, squares = np.moveaxis(load(data), 2, 0)
        total = sum_in_order(counts)
        mean = sum_in_order(counts * means) / total
        between = counts * np.square(means - mean[:, None])
        write(dst, np.stack((mean, sum_in_order(squares + between) / total), axis=1))

    return aggregate


def _stats_size(call: Call) -> Iterator[str]:
    elements = call.tensor("data").free_elements
    if elements > _MOST:
        yield (
            f"data holds {elements} elements per partition, limit {_MOST} (nl.tile_size.bn_stats_fmax): call "
            "it once per piece and merge the results with nisa.bn_aggr"
        )


def _triples(call: Call) -> Iterator[str]:
    elements = call.tensor("data").free_elements
    if elements % _PARTS:
        yield (
            f"data holds {elements} elements per partition, must hold a multiple of {_PARTS}: (count, mean, "
            "variance * count) from nisa.bn_stats"
        )


OPERATIONS: Final = (
    Operation(
        "bn_stats",
        (destination(), source("data")),
        engines=("vector",),
        bind=_bind_bn_stats,
        cycles=lambda call: max(64, call.tensor("data").free_elements),
        limits=(
            per_partition("dst", of="data", elements=2 * _PARTS),
            Limit("bn-stats-size", _stats_size, "nki.isa.bn_stats docstring"),
        ),
        fidelity=Fidelity.APPROXIMATE,
        source="nki.isa.bn_stats, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "bn_aggr",
        (destination(), source("data")),
        engines=("vector",),
        bind=_bind_bn_aggr,
        cycles=lambda call: max(64, 13 * call.tensor("data").free_elements / _PARTS),
        limits=(
            per_partition("dst", of="data", elements=2),
            Limit("bn-aggr-triples", _triples, "nki.isa.bn_aggr docstring"),
        ),
        fidelity=Fidelity.APPROXIMATE,
        source="nki.isa.bn_aggr, NKI 0.6; facts/nki.md section 3.1",
    ),
)

"""The tables of docs/emulator.md, drawn from the registries they describe.

``python -m pipeline.emulator.reference`` prints them; with the page's path it puts each between its marks,
``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.inventory import DOCUMENTED
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.session import Session
from pipeline.emulator.frontend.trace import DEFAULT_VERSION
from pipeline.emulator.legality import RULES
from pipeline.emulator.operations import (
    ACTIVATIONS,
    OPERATIONS,
    OPERATORS,
    Operation,
    availability,
)
from pipeline.emulator.program import DEFAULT_LIMITS
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain_tables import (
    CHANGE_HEAD,
    LANGUAGE_HEAD,
    VERSION_HEAD,
    changes,
    language,
    versions,
)

__all__ = ["REFUSES", "TABLES", "VALID_RANGES", "main", "refresh"]

#: What each rule of legality refuses, in one line; the message of a breach adds the numbers and the remedy.
REFUSES: Final[dict[str, str]] = {
    "partition-limit": "an SBUF or PSUM tensor with a first dimension above 128",
    "tile-rank": "an SBUF or PSUM tensor of one dimension",
    "tile-bytes": "a tile larger per partition than its memory",
    "dtype-target": "a dtype that the chip does not have",
    "dtype-version": "a dtype newer than the NKI version graded under",
    "output-buffer": "a returned tensor that lies elsewhere than in `nl.shared_hbm`",
    "partition-step": "a view that broadcasts or re-strides the partition dimension",
    "partition-crossing": "a view whose free dimensions leave the partition",
    "view-width": "a view as a dtype that does not divide the bytes of a partition",
    "partition-start": "an engine's tile that starts off partition 0, 32, 64 or 96, as its height allows",
    "free-dimensions": "an access pattern of more than four free dimensions after merging",
    "destination-overlap": "a destination that names an element twice",
    "operation-target": "an operation that the chip does not have",
    "operation-engine": "an engine that cannot run the operation",
    "operand-memory": "an operand in a memory that the operation does not take",
    "engine-memory": "an operand in a memory that the chosen engine does not reach",
    "operand-dtype": "an operand of a dtype that the operation does not take",
    "operator-refused": "an operator of the language that the hardware lacks (`divide`, `mod`, `fmod`)",
    "operator-target": "`square`, `relu`, `abs_max` or `abs_min` before trn3",
    "operator-choice": "an operator that this operation does not take",
    "operand-missing": "a binary operator without its operand",
    "operation-version": "an operation newer than the NKI version graded under",
    "keyword-version": "an argument that the NKI version graded under does not have, or requires",
    "target-documented": "trn1, which today's NKI does not list and was seen running on",
    "instruction-count": "more than 500,000 instructions of one core: loops are unrolled",
    "dma-count": "a DMA with unequal element counts on its two sides",
    "dma-cast": "`dge_mode=hwdge` between two dtypes",
    "dma-hardware-queue": "`dge_mode=hwdge` before trn2",
    "dma-engine": "an `engine` that generates descriptors without `dge_mode=hwdge`",
    "dma-priority": "`priority=` before trn3",
    "shape-agreement": "operands with unequal partitions or elements per partition",
    "scalar-copy": "`tensor_copy` on trn1's scalar engine",
    "memset-value": "a `memset` value that its integer tile cannot hold",
    "matmul-size": "operands of `nc_matmul` beyond the engine's tile, or a destination that does not fit",
    "matmul-dtypes": "operands of `nc_matmul` whose dtypes do not pair",
    "matmul-destination-dtype": "a PSUM destination of a dtype that `nc_matmul` does not accumulate in",
    "matmul-bank": "a destination of `nc_matmul` across a PSUM bank boundary",
    "matmul-tiling": "an impossible `tile_position` or `tile_size`",
    "matmul-double-row": "`perf_mode=double_row` without 8-bit floats or the doubled dimension",
    "matmul-tile-placement": "a tile of the engine off the partitions of its operands or its destination",
    "matmul-transpose-dtype": "`is_transpose` into another dtype",
    "transpose-eight-bit": "8-bit floats transposed by the tensor engine into 8 bits: it writes 16",
    "quantize-size": "operands of `quantize_mx` that are no whole groups of 8 partitions by 4 elements",
    "mx-size": "operands of `nc_matmul_mx` beyond the engine's tile, or a destination that does not fit",
    "mx-scale": "a scale tile of another size, or not in the quadrants of its data",
    "mx-tiling": "an impossible `tile_position` or `tile_size` of `nc_matmul_mx`, which has row tiles only",
    "packed-arithmetic": "a packed dtype where an instruction computes",
    "packed-conversion": "a copy between a packed dtype and another one",
    "transpose-size": "a transpose larger than its engine's block, or a destination that does not fit",
    "transpose-memory": "a transpose on the tensor engine other than from SBUF to PSUM",
    "transpose-dtype": "a transpose into another dtype",
    "two-psum-inputs": "two inputs of one instruction in PSUM",
    "bitvec-integers": "a bitvec operator on floats, or on another engine than vector",
    "power-engine": "`op=power` of `tensor_tensor` on another engine than gpsimd",
    "operand-column": "a per-partition operand that is no (P, 1) tile",
    "operand-types": "a scalar operand of a type that its operator does not take",
    "operator-families": "a bitvec and an arithmetic operator in one instruction",
    "unused-operand": "`operand1` without `op1`",
    "scalar-engine-operators": "`tensor_scalar` on the scalar engine with operators it lacks",
    "gpsimd-operators": "`tensor_scalar` on gpsimd for anything but `rsqrt`, or `rsqrt` elsewhere",
    "reduce-axis": "axes that `tensor_reduce` does not take, or a destination that does not fit them",
    "reduce-negate": "`negate=True` on bit patterns",
    "reduce-command": "a value to load without `reduce_cmd=load_reduce`, or the reverse; `reverse0`",
    "predicated-dtype": "a `tensor_copy_predicated` between two dtypes",
    "range-fill": "an `on_false_value` of `range_select` other than the least float32",
    "range-start": "a `range_start` that is no integer",
    "range-indices": "indices of `range_select` beyond 2^24, which are compared as float32",
    "reduce-idle-result": "reading the vector engine's accumulator while `reduce_cmd=idle`",
    "search-size": "a row that `max8` and its kin do not search: 8 to 16,384 elements",
    "search-rank": "an operand of `max8` and its kin of more than three dimensions",
    "bn-stats-size": "`bn_stats` of more than 512 elements per partition",
    "bn-aggr-triples": "an input of `bn_aggr` that is no sequence of triples",
    "exponential-rank": "an operand of `exponential` of more than four dimensions",
    "shuffle-mask": "a `shuffle_mask` other than 32 partitions of a quadrant, or 255",
    "shuffle-dtype": "an `nc_stream_shuffle` between two dtypes",
    "shuffle-start": "a tile of `nc_stream_shuffle` that starts off where its partitions may start",
    "shuffle-source": "a `shuffle_mask` that names a partition outside `src`",
    "activation-reduce": "a reduction other than `add`, or `reduce_res` without `reduce_op`",
    "activation-bias": "a number as bias, or a bias of `reciprocal`, on trn1",
    "activation-copy-bias": "a bias of `op=copy`, which the device drops",
    "activation-slope": "`prelu` where no argument gives its slope",
    "activate2-operators": "`op0` and `op1` that `activate2` does not combine, or `reverse` of a bypass",
    "activate2-immediates": "immediates of `activate2` in tiles of two dtypes",
    "activate2-reduction": "`reduce_cmd` or `reduce_res` of `activate2` without `reduce_op`",
    "activation-idle-result": "reading the reduction registers while `reduce_cmd=idle`",
    "affine-pattern": "a pattern that is no 1 to 4 [step, count] pairs, or does not fill its destination",
    "affine-integers": "an `offset` or `channel_multiplier` that is no 32-bit integer",
    "partition-reduce-shape": "a destination of `tensor_partition_reduce` other than one partition",
    "accumulate-unwritten": "`accumulate=True` onto PSUM that nothing has written",
    "accumulate-reused": "a matmul that adds to a PSUM sum which was read since a matmul last overwrote it",
    "accumulate-foreign": "`accumulate=True` onto PSUM that no matmul initialised",
    "uninitialised-read": "a read of on-chip or HBM memory that nothing has written",
    "sbuf-spill": "more live SBUF than there is: the compiler spills to HBM",
    "psum-spill": "more live PSUM banks than there are: the compiler spills",
    "gather-dtype": "a gather into another dtype",
    "gather-partitions": "operands of a gather with unequal partitions, or groups of other than 16",
    "local-gather-counts": "more indices, or more elements per index, than `local_gather` takes",
    "local-gather-destination": "a destination that does not hold indices x elements per index",
    "nonzero-shape": "a destination of `nonzero_with_count` without its one element more",
    "nonzero-integers": "an `index_offset` or `padding_val` that is no 32-bit integer",
    "topk-shape": "operands of `topk` with unequal partitions, or other than groups of 16",
    "topk-counts": "an `n` or a K that `topk` does not take, or a source that does not hold `n` elements",
    "sequence-bounds-shape": "ids in more than one partition, or a destination other than (1, 2, N)",
    "random-engine": "a generator that the engine lacks, or whose state it cannot save, on this chip",
    "random-state-words": "a generator state of other than 6 words (gpsimd) or 24 (vector)",
    "random-seed-shape": "a seed of more than one element",
    "random-range": "`rand2` with `min` not below `max`",
    "dropout-dtypes": "`dropout` into another dtype, or a probability of a dtype that its data does not take",
    "dma-transpose-shape": "a rank, permutation or destination shape that `dma_transpose` does not take",
    "dma-transpose-dtype": "`dma_transpose` into another dtype",
    "dma-transpose-queue": "a `dge_mode` of `dma_transpose` that does not take this source",
    "dma-transpose-gather": "a gathering `dma_transpose` whose source or indices the hardware does not take",
    "dma-skip": "`oob_mode=skip` without a run-time address",
    "dma-compute-sources": "a gap among the sources of `dma_compute`",
    "dma-compute-scales": "scales other than one 1.0 per source",
    "dma-compute-addresses": "run-time addresses of `dma_compute` other than one read-modify-write",
    "vector-offset-operation": "a vector offset on an argument that does not take one",
    "vector-offset-memory": "a vector offset into SBUF or PSUM",
    "vector-offset-queue": "a vector offset with `dge_mode=none` or `hwdge`",
    "vector-offset-target": "a vector offset on trn1, where it is not documented",
    "run-time-queue": "a run-time address with `dge_mode=none`",
    "run-time-index": "an index tensor outside SBUF, not int32 or uint32, or of several columns",
    "run-time-combination": "two run-time indices in one view",
    "indirection-target": "`.indirect` before trn3",
    "indirection-version": "`.indirect` before NKI 0.5",
    "indirection-operation": "`.indirect` on an operation or argument that does not take it",
    "indirection-engine": "`.indirect` on an engine that does not follow it, or into PSUM on scalar",
    "indirection-start": "an index tensor of `.indirect` on other partitions than its data",
    "indirection-matmul": "`.indirect` in a matmul with tiling, transposition or a dtype that exclude it",
    "indirection-integers": "`.indirect` in `tensor_scalar` on 32-bit integers",
}

#: Documented domains of activation functions; one that is absent has no bound.
VALID_RANGES: Final[dict[str, str]] = {
    "log": "[2^-64, 2^64]",
    "sin": "[-π, π]",
    "arctan": "[-π/2, π/2]",
    "sqrt": "[2^-116, 2^118]",
    "rsqrt": "[2^-87, 2^97]",
    "reciprocal": "±[2^-42, 2^42]",
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _places(targets: frozenset[str]) -> str:
    return "all" if targets == frozenset(TARGETS) else ", ".join(sorted(targets))


def _fidelity(operation: Operation) -> str:
    return "by operator" if callable(operation.fidelity) else operation.fidelity.value


def _operations() -> str:
    return _table(
        ("operation", "engines, default first", "targets", "since NKI", "fidelity", "cost known"),
        (
            (
                f"`{operation.name}`",
                ", ".join(operation.engines),
                _places(availability(operation).targets),
                availability(operation).since,
                _fidelity(operation),
                "no" if operation.cycles is None else "yes",
            )
            for operation in sorted(OPERATIONS.values(), key=lambda operation: operation.name)
        ),
    )


def _operators() -> str:
    return _table(
        ("operator", "family", "reduces", "instead"),
        (
            (f"`{operator.name}`", operator.family, "yes" if operator.reducible else "", operator.remedy)
            for operator in OPERATORS.values()
        ),
    )


def _activations() -> str:
    return _table(
        ("function", "fidelity", "valid range"),
        (
            (f"`{activation.name}`", activation.fidelity.value, VALID_RANGES.get(activation.name, "any"))
            for activation in ACTIVATIONS.values()
        ),
    )


def _dtypes() -> str:
    return _table(
        ("dtype", "bytes", "kind", "mantissa bits", "targets", "since NKI"),
        (
            (
                f"`{dtype.name}`",
                str(dtype.itemsize),
                dtype.kind,
                str(dtype.mantissa_bits or ""),
                _places(dtype.targets),
                dtype.since,
            )
            for dtype in DTYPES.values()
        ),
    )


def _targets() -> str:
    return _table(
        (
            "target",
            "generation",
            "SBUF per partition",
            "PSUM per partition",
            "HBM",
            "tensor bf16",
            "tensor fp32",
        ),
        (
            (
                f"`{target.name}`",
                target.generation,
                f"{target.sbuf_bytes_per_partition >> 10} KiB",
                f"{target.psum_bytes_per_partition >> 10} KiB in banks of {target.psum_bank_bytes >> 10} KiB",
                f"{target.hbm_bytes_per_second / 1e9:g} GB/s",
                f"{target.tensor_flops['bf16'] / 1e12:g} Tflop/s",
                f"{target.tensor_flops['fp32'] / 1e12:g} Tflop/s",
            )
            for target in TARGETS.values()
        ),
    )


def _known_names() -> dict[str, set[str]]:
    """Return the public names of each emulated module."""
    with installed_modules(Session(TARGETS["trn2"], DEFAULT_VERSION, instruction_limit=1)):
        return {
            module: {name for name in vars(sys.modules[module]) if not name.startswith("_")}
            for module in DOCUMENTED
        }


def _emulated() -> str:
    return _table(
        ("module", "emulated"),
        ((f"`{module}`", _code(sorted(names))) for module, names in _known_names().items()),
    )


def _unsupported() -> str:
    known = _known_names()
    return _table(
        ("module", "documented, not emulated"),
        ((f"`{module}`", _code(sorted(names - known[module]))) for module, names in DOCUMENTED.items()),
    )


def _rules() -> str:
    return _table(
        ("rule", "refuses", "targets", "severity", "source"),
        (
            (f"`{rule.id}`", REFUSES[rule.id], _places(rule.targets), rule.severity.value, rule.source)
            for rule in RULES.values()
        ),
    )


def _limits() -> str:
    return _table(
        ("limit", "of one program"),
        ((f"`{name}`", f"{value:,}") for name, value in asdict(DEFAULT_LIMITS).items()),
    )


#: Every table by the name that the page's marks give it.
TABLES: Final[dict[str, Callable[[], str]]] = {
    "targets": _targets,
    "versions": lambda: _table(VERSION_HEAD, versions()),
    "changes": lambda: _table(CHANGE_HEAD, changes()),
    "language": lambda: _table(LANGUAGE_HEAD, language()),
    "dtypes": _dtypes,
    "operations": _operations,
    "operators": _operators,
    "activations": _activations,
    "emulated": _emulated,
    "unsupported": _unsupported,
    "rules": _rules,
    "limits": _limits,
}


def refresh(page: str) -> str:
    """Return the text of a page with every table between its marks drawn again.

    Raises:
        KeyError: If a mark names no table.
    """

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin {name} -->\n{TABLES[name]()}\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (?P<name>\w+) -->\n.*?<!-- end (?P=name) -->", draw, page, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Print every table, or refresh the page that is named."""
    if arguments:
        page = Path(arguments[0])
        page.write_text(refresh(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name, draw in TABLES.items():
        sys.stdout.write(f"{name}\n\n{draw()}\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])

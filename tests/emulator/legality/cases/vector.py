"""Cases of the vector engine's rules: selection, search, statistics, accumulator, shuffles."""

from __future__ import annotations

from typing import Any

from pipeline.emulator.program import Program
from tests.emulator.legality.cases.construction import (
    COLUMN,
    WIDE,
    Case,
    Tile,
    hbm,
    one,
    psum,
    sbuf,
    scalar_reduce,
    view,
)

ROWS = sbuf(128, 64)
EIGHT = sbuf(128, 8)


def copy_where(**changes: Any) -> Program:
    arguments = {"dst": ROWS, "src": ROWS, "predicate": sbuf(128, 64, dtype="uint8")}
    return one("tensor_copy_predicated", **{**arguments, **changes})


def select(**changes: Any) -> Program:
    arguments = {"dst": ROWS, "predicate": sbuf(128, 64, dtype="uint8"), "on_true": ROWS, "on_false": 0.0}
    return one("select_reduce", **{**arguments, **changes})


def within(**changes: Any) -> Program:
    arguments = {
        "dst": ROWS,
        "on_true_tile": ROWS,
        "comp_op0": "greater_equal",
        "comp_op1": "less",
        "bound0": COLUMN,
        "bound1": COLUMN,
    }
    return one("range_select", **{**arguments, **changes})


def find(data: Tile, vals: Tile = EIGHT, **changes: Any) -> Program:
    arguments = {"dst": sbuf(128, 8, dtype="uint32"), "data": data, "vals": vals}
    return one("nc_find_index8", **{**arguments, **changes})


def cumulative(**changes: Any) -> Program:
    arguments = {"dst": ROWS, "src": ROWS, "op0": "multiply", "op1": "add", "imm0": 1.0}
    return one("tensor_scalar_cumulative", **{**arguments, **changes})


def exponential(**changes: Any) -> Program:
    return one("exponential", target="trn3", **{"dst": ROWS, "src": ROWS, **changes})


def shuffle(dst: Tile, src: Tile, *entries: int) -> Program:
    mask = entries or tuple(range(32))
    return one("nc_stream_shuffle", dst=dst, src=src, shuffle_mask=mask)


def rows(first: int, count: int) -> Tile:
    """Some of the partitions of a tile of 128."""
    return view(WIDE, (64, count), (1, 64), offset=first * 64)


CASES = [
    Case(
        "predicated-dtype",
        copy_where(src=sbuf(128, 64, dtype="bfloat16")),
        copy_where(src=sbuf(128, 8, 8)),
        ("bfloat16", "float32", "tensor_copy"),
    ),
    Case(
        "operand-dtype",
        copy_where(predicate=sbuf(128, 64, dtype="int32")),
        copy_where(predicate=sbuf(128, 64, dtype="uint32"), src=1.0),
        ("predicate", "int32", "uint32"),
    ),
    Case(
        "two-psum-inputs",
        copy_where(src=psum(128, 64), predicate=psum(128, 64, dtype="uint8")),
        copy_where(src=0.0, predicate=psum(128, 64, dtype="uint8")),
        ("src", "predicate", "PSUM"),
    ),
    Case("shape-agreement", copy_where(src=COLUMN), copy_where(src=psum(128, 64)), ("src", "64")),
    Case(
        "operand-dtype",
        select(on_true=sbuf(128, 64, dtype="int32")),
        select(on_true=sbuf(128, 64, dtype="int16"), on_false=COLUMN),
        ("on_true", "int32"),
    ),
    Case(
        "operand-dtype",
        select(predicate=sbuf(128, 64, dtype="uint32")),
        select(predicate=sbuf(128, 64, dtype="int8")),
        ("predicate", "uint32", "uint16"),
    ),
    Case(
        "operator-choice",
        select(reduce_op="add", reduce_cmd="reset_reduce"),
        select(reduce_op="maximum", reduce_cmd="reset_reduce"),
        ("reduce_op=add", "maximum"),
    ),
    Case(
        "reduce-idle-result",
        select(reduce_res=COLUMN),
        select(reduce_res=COLUMN, reduce_cmd="reset_reduce"),
        ("reduce_cmd=idle", "reset_reduce"),
    ),
    Case(
        "range-fill", within(on_false_value=0.0), within(on_false_value=-3.4028235e38), ("0.0", "-3.4028235")
    ),
    Case("range-start", within(range_start=1.5), within(range_start=-3), ("1.5", "integer")),
    Case(
        "range-indices",
        within(range_start=(1 << 24) - 62),
        within(range_start=(1 << 24) - 63),
        ("16777217", "16777216", "bounds"),
    ),
    Case(
        "operand-dtype",
        within(bound1=sbuf(128, 1, dtype="bfloat16")),
        within(bound1=psum(128, 1)),
        ("bound1", "bfloat16", "float32"),
    ),
    Case("operand-column", within(bound0=EIGHT), within(bound0=COLUMN), ("bound0", "(128, 1)")),
    Case("operator-choice", within(comp_op0="not_equal"), within(comp_op0="equal"), ("not_equal", "equal")),
    Case(
        "search-size",
        one("max8", dst=EIGHT, src=sbuf(128, 7)),
        one("max8", dst=EIGHT, src=sbuf(128, 8)),
        ("7 elements", "8 to 16384"),
    ),
    Case("search-size", find(sbuf(128, 16385)), find(sbuf(128, 16384)), ("16385", "16384")),
    Case(
        "search-rank",
        one("max8", dst=EIGHT, src=sbuf(128, 2, 2, 4)),
        one("max8", dst=EIGHT, src=sbuf(128, 4, 4)),
        ("4 dimensions", "[128, 2, 2, 4]", "limit 3"),
    ),
    Case("shape-agreement", find(ROWS, sbuf(128, 7)), find(ROWS), ("vals", "(128, 8)")),
    Case(
        "operand-dtype",
        find(ROWS, dst=sbuf(128, 8, dtype="int32")),
        find(ROWS, dst=sbuf(128, 8, dtype="uint16")),
        ("dst", "int32", "uint32"),
    ),
    Case(
        "shape-agreement",
        one(
            "nc_match_replace8",
            dst=ROWS,
            data=ROWS,
            vals=EIGHT,
            imm=0.0,
            dst_idx=sbuf(128, 4, dtype="uint32"),
        ),
        one(
            "nc_match_replace8",
            dst=ROWS,
            data=ROWS,
            vals=EIGHT,
            imm=0.0,
            dst_idx=sbuf(128, 8, dtype="uint32"),
        ),
        ("dst_idx", "(128, 8)"),
    ),
    Case(
        "bn-stats-size",
        one("bn_stats", dst=sbuf(128, 6), data=sbuf(128, 513)),
        one("bn_stats", dst=sbuf(128, 6), data=sbuf(128, 512)),
        ("513", "512", "bn_aggr"),
    ),
    Case(
        "bn-aggr-triples",
        one("bn_aggr", dst=sbuf(128, 2), data=sbuf(128, 8)),
        one("bn_aggr", dst=sbuf(128, 2), data=sbuf(128, 9)),
        ("8 elements", "multiple of 3"),
    ),
    Case(
        "operand-dtype",
        cumulative(src=sbuf(128, 64, dtype="int32")),
        cumulative(src=sbuf(128, 64, dtype="int16")),
        ("src", "int32"),
    ),
    Case(
        "operator-choice", cumulative(op1="logical_or"), cumulative(op1="minimum"), ("logical_or", "minimum")
    ),
    Case(
        "reduce-command",
        cumulative(reduce_cmd="load_reduce"),
        cumulative(reduce_cmd="load_reduce", imm1=COLUMN),
        ("load_reduce", "imm1"),
    ),
    Case("reduce-command", cumulative(imm1=1.0), cumulative(), ("imm1", "reset_reduce")),
    Case(
        "reduce-command",
        exponential(reduce_init=2.0, reduce_cmd="reduce"),
        exponential(reduce_init=0.0, reduce_cmd="load_reduce"),
        ("reduce_init", "reduce_cmd is reduce"),
    ),
    Case(
        "operand-types",
        scalar_reduce(op0="abs", operand0=2.0),
        scalar_reduce(op0="abs", operand0=0.0),
        ("2.0", "abs", "None"),
    ),
    Case(
        "exponential-rank",
        exponential(src=sbuf(128, 2, 2, 2, 8)),
        exponential(src=sbuf(128, 2, 4, 8)),
        ("5 dimensions", "limit 4"),
    ),
    Case(
        "operand-dtype",
        exponential(dst=sbuf(128, 64, dtype="uint32")),
        exponential(src=sbuf(128, 64, dtype="uint32")),
        ("dst", "uint32"),
    ),
    Case(
        "shuffle-mask", shuffle(ROWS, ROWS, *[0] * 31), shuffle(ROWS, ROWS, *[0] * 32), ("31 entries", "32")
    ),
    Case(
        "shuffle-mask",
        shuffle(ROWS, ROWS, *[0] * 31, 32),
        shuffle(ROWS, ROWS, *[0] * 31, 255),
        ("[32]", "0 to 31", "255"),
    ),
    Case(
        "shuffle-dtype",
        shuffle(sbuf(32, 64, dtype="bfloat16"), sbuf(32, 64)),
        shuffle(sbuf(32, 64), psum(32, 64)),
        ("bfloat16", "float32"),
    ),
    Case(
        "shape-agreement", shuffle(sbuf(32, 8), sbuf(32, 4)), shuffle(sbuf(32, 8), sbuf(32, 2, 4)), ("8", "4")
    ),
    Case(
        "shuffle-start",
        shuffle(rows(64, 64), rows(32, 32)),
        shuffle(rows(64, 32), rows(32, 32)),
        ("src starts at partition 32", "64 partitions", "0 or 64"),
    ),
    Case(
        "shuffle-source",
        shuffle(sbuf(32, 64), rows(32, 1), *[1] * 32),
        shuffle(sbuf(32, 64), rows(32, 1), *[0] * 32),
        ("partition 1 of src", "covers 1"),
    ),
    Case(
        "operation-target",
        one("exponential", dst=ROWS, src=ROWS, target="trn2"),
        exponential(),
        ("trn3", "trn2"),
    ),
    Case("operand-memory", shuffle(hbm(32, 64), ROWS), shuffle(psum(32, 64), rows(0, 32)), ("dst", "HBM")),
]

"""Cases of what two cores of a rank, and the ranks of a run, must do together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pipeline.emulator.program import Offset, Program
from tests.emulator.legality.cases.construction import Case, hbm, one, sbuf
from tests.emulator.program_builder import ProgramBuilder

BOTH = (0, 1)
GROUP = (2, 0, 1)


def cores(build: Callable[[ProgramBuilder], object], **keywords: Any) -> Program:
    """A program of two cores."""
    builder = ProgramBuilder(cores=2, **keywords)
    build(builder)
    return builder.program()


def shared(builder: ProgramBuilder, *shape: int) -> int:
    return builder.tensor(shape or (128, 8), "float32", "shared_hbm")


def barrier(builder: ProgramBuilder, core: int, data: int, **changes: Any) -> None:
    builder.add("core_barrier", core=core, **{"data": data, "cores": BOTH, **changes})


def exchange(
    builder: ProgramBuilder,
    core: int,
    rows: int = 32,
    columns: int = 8,
    received: str = "float32",
    **changes: Any,
) -> None:
    tiles = [builder.tensor((rows, columns), dtype, core=core) for dtype in ("float32", received)]
    builder.add("memset", core=core, dst=tiles[0], value=0.0)
    usual = {"send_to_rank": 1 - core, "recv_from_rank": 1 - core, "pipe_id": 0}
    builder.add("sendrecv", core=core, src=tiles[0], dst=tiles[1], **{**usual, **changes})


def exchanges(
    version: str = "0.6", rows: int = 32, columns: int = 8, own: str = "dma", **changes: Any
) -> Program:
    """One exchange through the DMA engine `own`, with changes on core 1."""

    def build(builder: ProgramBuilder) -> None:
        exchange(builder, 0, rows, columns, dma_engine=own)
        exchange(builder, 1, rows, columns, **{"dma_engine": own, **changes})

    return cores(build, version=version)


def one_barrier(on: tuple[int, ...] = BOTH, *, same: bool = True) -> Program:
    """A barrier on some of the cores."""

    def build(builder: ProgramBuilder) -> None:
        data = [shared(builder), shared(builder)]
        source = builder.input((128, 8))
        builder.add("dma_copy", dst=data[0], src=source)
        for core in on:
            barrier(builder, core, data[0] if same else data[core])

    return cores(build)


def swapped_meetings() -> Program:
    """Core 0 passes a barrier, then an exchange; core 1 the exchange first."""

    def build(builder: ProgramBuilder) -> None:
        data = shared(builder)
        barrier(builder, 0, data)
        exchange(builder, 0)
        exchange(builder, 1)
        barrier(builder, 1, data)

    return cores(build)


def private_barrier(*, private: bool) -> Program:
    def build(builder: ProgramBuilder) -> None:
        for core in BOTH:
            tile = builder.tensor((1, 1), "int32", core=core)
            builder.add("memset", core=core, dst=tile, value=0)
        data = shared(builder)
        builder.add("dma_copy", dst=data, src=builder.input((128, 8)))
        for core in BOTH:
            barrier(builder, core, core if private else data)

    return cores(build)


def unequal(extra: int) -> Program:
    """Core 1 runs one more instruction than core 0, or another one."""

    def build(builder: ProgramBuilder) -> None:
        for core in BOTH:
            tile = builder.tensor((32, 8), core=core)
            builder.add("memset", core=core, dst=tile, value=0.0)
            for _ in range(core * extra):
                builder.add("tensor_copy", core=core, dst=tile, src=tile)

    return cores(build)


def halves(
    first: slice, second: slice, *, wait: bool = False, read: bool = False, other: bool = False
) -> Program:
    """Core 0 writes some rows of a shared tensor, core 1 writes or reads some.

    Args:
        first: Rows of core 0.
        second: Rows of core 1.
        wait: Whether a barrier stands between the two.
        read: Whether core 1 reads instead.
        other: Whether the barrier names another tensor.
    """

    def build(builder: ProgramBuilder) -> None:
        data, unrelated, source = shared(builder), shared(builder), builder.input((128, 8))
        builder.add("dma_copy", dst=unrelated, src=source)
        tiles = [builder.tensor((128, 8), core=core) for core in BOTH]
        for core in BOTH:
            builder.add("dma_copy", core=core, dst=tiles[core], src=source)
        ours, theirs = (builder.block(data, rows, slice(0, 8)) for rows in (first, second))
        tile = [builder.block(tiles[core], rows, slice(0, 8)) for core, rows in enumerate((first, second))]
        builder.add("dma_copy", dst=ours, src=tile[0])
        if wait:
            for core in BOTH:
                barrier(builder, core, unrelated if other else data)
        if read:
            builder.add("dma_copy", core=1, dst=tile[1], src=theirs)
        else:
            builder.add("dma_copy", core=1, dst=theirs, src=tile[1])

    return cores(build)


def interleaved(offset: int) -> Program:
    """Core 0 writes the even rows, core 1 every second row from `offset` on."""

    def build(builder: ProgramBuilder) -> None:
        data = shared(builder, 8, 4)
        for core, start in ((0, 0), (1, offset)):
            tile = builder.tensor((3, 4), core=core)
            builder.add("memset", core=core, dst=tile, value=0.0)
            rows = builder.view(data, (8, 3), (1, 4), offset=4 * start)
            builder.add("dma_copy", core=core, dst=rows, src=tile)

    return cores(build)


def unknown_rows(*, dynamic: bool) -> Program:
    """Both cores write rows of one tensor; where core 1 writes may stand in a register."""

    def build(builder: ProgramBuilder) -> None:
        data = shared(builder, 8, 4)
        builder.registers = 1
        for core in BOTH:
            tile = builder.tensor((1, 4), core=core)
            builder.add("memset", core=core, dst=tile, value=0.0)
            row = builder.block(data, slice(core, core + 1), slice(0, 4))
            if core and dynamic:
                row = msgspec.structs.replace(row, offsets=(Offset("register", 0, 4),))
            builder.add("dma_copy", core=core, dst=row, src=tile)

    return cores(build)


def undivided(*, divided: bool) -> Program:
    """Both cores write at one line: the same rows, or rows of their own."""

    def build(builder: ProgramBuilder) -> None:
        data = shared(builder, 2, 8)
        for core in BOTH:
            tile = builder.tensor((1, 8), core=core)
            row = core if divided else 0
            builder.add("memset", core=core, dst=tile, value=0.0)
            own = builder.block(data, slice(row, row + 1), slice(0, 8))
            builder.add("dma_copy", core=core, dst=own, src=tile)

    program = cores(build)
    instructions = tuple(
        msgspec.structs.replace(instruction, line=10 + position % 2)
        for position, instruction in enumerate(program.instructions)
    )
    return msgspec.structs.replace(program, instructions=instructions)


def gather_v(count: int) -> Program:
    """A collective of run-time sizes on one core or two."""
    builder = ProgramBuilder(cores=count)
    for core in range(count):
        src, dst = (builder.tensor((64,), "float32", "shared_hbm") for _ in range(2))
        send = builder.tensor((2, 1), "uint32", "shared_hbm")
        builder.add("dma_copy", core=core, dst=send, src=builder.input((2, 1), "uint32"))
        builder.add("dma_copy", core=core, dst=src, src=builder.input((64,)))
        builder.add("all_gather_v", core=core, src=src, dst=dst, replica_group=(4, 0, 1, 2, 3), send=send)
    return builder.program()


def reduced(source: str = "own", result: str = "own", **keywords: Any) -> Program:
    """An all_reduce of one core, on tensors of the kernel's own or of its interface."""
    builder = ProgramBuilder()
    given = builder.input((128, 8))
    src, dst = (builder.tensor((128, 8), "float32", "shared_hbm") for _ in range(2))
    builder.add("dma_copy", dst=src, src=given)
    out = builder.output((128, 8))
    builder.add(
        "all_reduce",
        **{
            "src": given if source == "input" else src,
            "dst": out if result == "output" else dst,
            "replica_group": GROUP,
            "op": "add",
            **keywords,
        },
    )
    builder.add("dma_copy", dst=out, src=dst if result != "output" else src)
    return builder.program()


def collective(operation: str = "all_reduce", target: str = "trn2", **changes: Any) -> Program:
    """A single collective on shared HBM."""
    buffer = hbm(8, 8, buffer="shared_hbm")
    usual: dict[str, Any] = {"src": buffer, "dst": buffer, "replica_group": GROUP}
    if operation == "all_reduce":
        usual["op"] = "add"
    if operation == "collective_permute":
        del usual["replica_group"]
    return one(operation, target=target, **{**usual, **changes})


def gathered(**changes: Any) -> Program:
    usual = {"dst": hbm(16, 8, buffer="shared_hbm"), "collective_dim": 0}
    return collective("all_gather", **{**usual, **changes})


def ring(**changes: Any) -> Program:
    return collective("collective_permute_implicit", **changes)


def permute(*pairs: int, **changes: Any) -> Program:
    return collective("collective_permute", source_target_pairs=pairs, **changes)


def variable(operation: str = "all_gather_v", target: str = "trn2", **changes: Any) -> Program:
    """A collective of run-time sizes in a program of two cores, one of which runs nothing."""
    columns = 1 if operation == "all_gather_v" else 4
    builder = ProgramBuilder(target, cores=2)
    for core in BOTH:
        arguments: dict[str, Any] = {
            "src": (64,),
            "dst": (64,),
            "send": (2, columns),
            "replica_group": (4, *range(4 if target == "trn2" else 8)),
            **changes,
        }
        for name, shape in arguments.items():
            if name in ("src", "dst", "send", "recv_counts", "recv_displs"):
                dtype = "float32" if name in ("src", "dst") else "uint32"
                arguments[name] = builder.tensor(shape, dtype, "shared_hbm")
        builder.add(operation, core=core, **arguments)
    return builder.program()


HALF = [slice(0, 64), slice(64, 128)]

CASES = [
    Case(
        "two-cores",
        one("core_barrier", data=hbm(8, 8, buffer="shared_hbm"), cores=BOTH),
        one_barrier(),
        ("kernel[2]",),
    ),
    Case("core-meeting", one_barrier((0,)), one_barrier(), ("core 1 has ended", "core_barrier (line 11)")),
    Case("core-meeting", swapped_meetings(), one_barrier(), ("core_barrier", "sendrecv", "same order")),
    Case("core-meeting", one_barrier(same=False), one_barrier(), ("core 0 waits for t0", "core 1 for t1")),
    Case("core-meeting", exchanges(send_to_rank=1), exchanges(), ("recv_from_rank=1", "send_to_rank=1")),
    Case("core-meeting", exchanges(pipe_id=1), exchanges(), ("pipe_id=0", "pipe_id=1")),
    Case("core-divergence", unequal(1), unequal(0), ("1 instructions", "2", "tensor_copy")),
    Case(
        "barrier-alone",
        one("core_barrier", data=hbm(8, 8, buffer="shared_hbm"), cores=(0,)),
        one_barrier(),
        ("nl.num_programs()",),
    ),
    Case("barrier-data", private_barrier(private=True), private_barrier(private=False), ("t0", "shared_hbm")),
    Case(
        "barrier-cores",
        one("core_barrier", data=hbm(8, 8, buffer="shared_hbm"), cores=(0, 2)),
        one_barrier(),
        ("(0, 2)", "(0, 1)"),
    ),
    Case(
        "exchange-partitions",
        exchanges("0.3", 24, own="gpsimd_dma"),
        exchanges("0.4", 24, own="gpsimd_dma"),
        ("24", "16"),
    ),
    Case(
        "exchange-partitions",
        exchanges("0.3", 24, own="gpsimd_dma"),
        exchanges("0.3", 24),
        ("dma_engine.dma",),
    ),
    Case(
        "exchange-bytes",
        exchanges(columns=257, dma_engine="gpsimd_dma"),
        exchanges(columns=257),
        ("1028 bytes", "1024", "32-bit"),
    ),
    Case("exchange-dtype", exchanges(received="float16"), exchanges(), ("float32", "float16", "tensor_copy")),
    Case(
        "exchange-ranks", exchanges(send_to_rank=2), exchanges(), ("send_to_rank=2", "1 - nl.program_id(0)")
    ),
    Case(
        "core-race",
        halves(slice(0, 65), HALF[1]),
        halves(*HALF),
        ("t0", "line 13", "line 14", "core_barrier"),
    ),
    Case(
        "core-race",
        halves(slice(0, 64), slice(0, 128), read=True),
        halves(slice(0, 64), slice(0, 128), read=True, wait=True),
        ("core 1 reads", "line 13", "line 14"),
    ),
    Case("core-race", interleaved(2), interleaved(1), ("t0",)),
    Case(
        "core-race-possible",
        halves(slice(0, 64), slice(0, 128), read=True, wait=True, other=True),
        halves(slice(0, 64), slice(0, 128), read=True, wait=True),
        ("name other data",),
    ),
    Case("core-race-possible", unknown_rows(dynamic=True), unknown_rows(dynamic=False), ("run time",)),
    Case(
        "core-race-possible",
        undivided(divided=False),
        undivided(divided=True),
        ("both cores write", "nl.program_id"),
    ),
    Case("variable-cores", gather_v(1), gather_v(2), ("LNC=2", "kernel[2]")),
    Case("collective-source", reduced("input"), reduced(), ("parameter", "nisa.dma_copy")),
    Case("collective-destination", reduced(result="output"), reduced(), ("returned",)),
    Case("collective-group", collective(replica_group=(2, 0, 0)), collective(), ("rank 0", "twice")),
    Case("collective-memory", collective(src=sbuf(8, 8)), collective(), ("SBUF", "HBM")),
    Case(
        "collective-tile",
        collective(src=sbuf(8, 2, 4), dst=sbuf(8, 2, 4)),
        collective(src=sbuf(8, 8), dst=sbuf(8, 8)),
        ("two-dimensional",),
    ),
    Case(
        "collective-shape",
        gathered(dst=hbm(8, 8, buffer="shared_hbm")),
        gathered(),
        ("2 ranks", "2 times src"),
    ),
    Case("collective-dimension", gathered(collective_dim=1), gathered(), ("only 0 is supported on HBM",)),
    Case(
        "collective-priority", collective(priority=0), collective(target="trn3", priority=0), ("trn2", "v4")
    ),
    Case("collective-channel", ring(channel=4), ring(channel=3), ("channel=4", "4 channels")),
    Case("collective-pairs", permute(0, 1, 2, 1), permute(0, 1, 1, 0), ("rank 1", "two sources")),
    Case("collective-ring", permute(0, 1), permute(0, 1, 1, 0), ("no ring", "[0, 1]")),
    Case(
        "collective-dtype",
        ring(dst=hbm(8, 8, dtype="bfloat16", buffer="shared_hbm")),
        ring(),
        ("float32", "bfloat16"),
    ),
    Case(
        "collective-integers",
        collective(
            src=hbm(8, 8, dtype="int32", buffer="shared_hbm"),
            dst=hbm(8, 8, dtype="int32", buffer="shared_hbm"),
        ),
        collective(),
        ("2**24", "--implicit-integer-downcast"),
    ),
    Case("metadata-shape", variable(send=(2, 2)), variable(), ("4 counts", "must hold 2")),
    Case("metadata-slots", variable(dst=(63,)), variable(), ("63", "4 ranks")),
    Case("all-gather-v-group", variable(replica_group=GROUP), variable(), ("2 ranks", "4")),
    Case("all-gather-v-displacements", variable(recv_displs=(4,)), variable(), ("has_rdispls",)),
    Case(
        "all-to-all-v-displacements",
        variable("all_to_all_v", recv_displs=(4,)),
        variable("all_to_all_v"),
        ("trn3",),
    ),
    Case(
        "all-to-all-v-group",
        variable("all_to_all_v", "trn3", replica_group=(4, 0, 1, 2, 3)),
        variable("all_to_all_v", "trn3"),
        ("one device",),
    ),
    Case("all-to-all-v-nodes", variable("all_to_all_v"), variable("all_to_all_v", "trn3"), ("trn2", "nodes")),
]

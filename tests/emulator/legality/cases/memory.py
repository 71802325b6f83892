"""Cases of placed tensors, virtual registers and writes that nobody reads."""

from __future__ import annotations

from pipeline.emulator.program import Program
from tests.emulator.legality.cases.construction import Case, built
from tests.emulator.program_builder import ProgramBuilder


def placed(
    *addresses: tuple[int, int], buffer: str = "sbuf", partitions: int = 64, columns: int = 8, last: int = 0
) -> Program:
    """Tiles at addresses, each filled in turn; then tile `last` goes to the output."""

    def build(builder: ProgramBuilder) -> None:
        tiles = [
            builder.tensor((partitions, columns), "float32", buffer, address=address) for address in addresses
        ]
        for tile in tiles:
            builder.add("memset", dst=tile, value=0.0)
        result = builder.tensor((partitions, columns))
        builder.add("tensor_copy", dst=result, src=tiles[last])
        builder.store(result)

    return built(build)


def loaded(columns: int = 1, dtype: str = "int32") -> Program:
    """A register loaded from an HBM tensor."""

    def build(builder: ProgramBuilder) -> None:
        builder.registers = 1
        source = builder.input((1, columns), dtype)
        builder.add("register_load", dst=(0,), src=source)
        builder.store(builder.load(source))

    return built(build)


def broadcast_write(*, repeated: bool, read: bool) -> Program:
    """A copy into one column, again and again or once, which is stored or not."""

    def build(builder: ProgramBuilder) -> None:
        source = builder.load(builder.input((128, 8)))
        sink = builder.tensor((128, 8))
        builder.add("memset", dst=sink, value=0.0)
        step = 0 if repeated else 1
        builder.add("tensor_copy", dst=builder.view(sink, (8, 128), (step, 8)), src=source)
        builder.store(sink if read else source)

    return built(build)


CASES = [
    Case(
        "partition-start",
        placed((16, 0), partitions=32),
        placed((96, 0), partitions=32),
        ("16 to 47", "96"),
    ),
    Case("address-range", placed((96, 0)), placed((64, 0)), ("96 to 159", "128")),
    Case("address-range", placed((0, 229376)), placed((0, 229344)), ("229376", "229407", "SBUF")),
    Case(
        "address-bank", placed((0, 1024), buffer="psum"), placed((0, 2048), buffer="psum"), ("1024", "2048")
    ),
    Case("address-overlap", placed((0, 0), (0, 16)), placed((0, 0), (0, 32)), ("t1", "t0", "still used")),
    Case("address-overlap", placed((0, 0), (0, 0)), placed((0, 0), (0, 0), last=1), ("t1", "t0")),
    Case("register-element", loaded(columns=2), loaded(), ("2 elements", "slice")),
    Case("register-word", loaded(dtype="bfloat16"), loaded(dtype="float32"), ("bfloat16", "int32")),
    Case(
        "destination-overlap",
        broadcast_write(repeated=True, read=True),
        broadcast_write(repeated=False, read=True),
        ("dst", "more than once"),
    ),
    Case(
        "destination-sink",
        broadcast_write(repeated=True, read=False),
        broadcast_write(repeated=False, read=False),
        ("dst", "nobody reads"),
    ),
]

"""The two cores of a logical NeuronCore: `core_barrier` and `sendrecv`.

Both exist from NeuronCore-v3 on, where one rank may run on two cores that share an HBM stack (LNC=2). A
barrier orders accesses and moves nothing; `sendrecv` copies a tile from one core's SBUF to the other's, bit
for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import choice, destination, source
from pipeline.emulator.operations.call import Call, Kernel, Participant
from pipeline.emulator.operations.errors import MeetingError
from pipeline.emulator.operations.groups import view_of
from pipeline.emulator.operations.limits import agree
from pipeline.emulator.operations.table import Limit, Meeting, Operation, Parameter, ParameterKind

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS"]

_TARGETS: Final = frozenset({"trn2", "trn3"})
_BARRIER: Final = "nki.isa.core_barrier docstring, NKI 0.6"
_EXCHANGE: Final = "nki.isa.sendrecv docstring, NKI 0.6"
#: Elements of one partition that gpsimd_dma moves at once: 1024, 512 and 256 bytes of 4, 2 and 1 byte each.
_GPSIMD_ELEMENTS: Final = 256
_PARTITION_STEP: Final = 16


def _bind_barrier(call: Call) -> Kernel:
    def meet(participants: Sequence[Participant]) -> None:
        """Move nothing: that the cores have met is all there is to it."""
        _same_operation(participants)

    return meet


def _bind_exchange(call: Call) -> Kernel:
    def exchange(participants: Sequence[Participant]) -> None:
        _same_operation(participants)
        _matching_routes(participants)
        # Every tile is read before any is written: dst of one core may be src of the same core.
        sent = [view_of(participant, "src").copy() for participant in participants]
        for participant in participants:
            tile = view_of(participant, "dst")
            tile[...] = sent[_core(participant, "recv_from_rank")].reshape(tile.shape)

    return exchange


def _same_operation(participants: Sequence[Participant]) -> None:
    first, *others = participants
    for other in others:
        if other.call.operation.name != first.call.operation.name:
            raise MeetingError(
                f"core {first.registers.core} waits at {first.call.operation.name}, core "
                f"{other.registers.core} at {other.call.operation.name}: both cores must meet at the same "
                "instruction; do not branch on nl.program_id around it"
            )


def _matching_routes(participants: Sequence[Participant]) -> None:
    """Check that what each core sends is what another expects."""
    first = participants[0]
    if len(participants) == 1 and _core(first, "send_to_rank") + _core(first, "recv_from_rank") > 0:
        raise MeetingError("needs two cores and the kernel runs on one: launch it with kernel[2]")
    for participant in participants:
        core, sender = participant.registers.core, participants[_core(participant, "recv_from_rank")]
        target = _core(sender, "send_to_rank")
        if target != core:
            raise MeetingError(
                f"core {core} receives from core {sender.registers.core}, which sends to core "
                f"{target}: send_to_rank of one must name the core that receives from it"
            )
        for name in ("pipe_id", "dma_engine"):
            if sender.call.scalar(name) != participant.call.scalar(name):
                raise MeetingError(
                    f"{name} is {participant.call.scalar(name)} on core {core} and "
                    f"{sender.call.scalar(name)} on core {sender.registers.core}: pass the same on both"
                )
        sent, expected = sender.call.tensor("src"), participant.call.tensor("dst")
        if (sent.partitions, sent.free_elements, sent.dtype) != (
            expected.partitions,
            expected.free_elements,
            expected.dtype,
        ):
            raise MeetingError(
                f"core {sender.registers.core} sends {sent.dtype}{list(sent.shape)}, core {core} "
                f"expects {expected.dtype}{list(expected.shape)}: both tiles must be alike"
            )


def _core(participant: Participant, name: str) -> int:
    value = participant.call.scalar(name)
    return value if isinstance(value, int) and 0 <= value <= 1 else 0


def _barrier_cores(call: Call) -> Iterator[str]:
    cores = call.scalar("cores")
    if cores not in ((0, 1), (0,), 0):
        yield f"cores={_show(cores)}: only cores=(0, 1) is supported, the two cores of LNC=2"


def _exchange_dtype(call: Call) -> Iterator[str]:
    sent, received = call.tensor("src"), call.tensor("dst")
    if sent.dtype != received.dtype:
        yield (
            f"src is {sent.dtype}, dst is {received.dtype}: sendrecv converts nothing; convert with "
            "nisa.tensor_copy before or after it"
        )


def _exchange_ranks(call: Call) -> Iterator[str]:
    for name in ("send_to_rank", "recv_from_rank"):
        value = call.scalar(name)
        if not isinstance(value, int) or not 0 <= value <= 1:
            yield (
                f"{name}={_show(value)}: the two cores of LNC=2 are 0 and 1; the other one is "
                "1 - nl.program_id(0)"
            )
    if not isinstance(call.scalar("pipe_id"), int):
        yield f"pipe_id={_show(call.scalar('pipe_id'))}: pass one integer"


def _exchange_bytes(call: Call) -> Iterator[str]:
    tile = call.tensor("src")
    if call.scalar("dma_engine") != "gpsimd_dma" or tile.free_elements <= _GPSIMD_ELEMENTS:
        return
    itemsize = DTYPES[tile.dtype].itemsize
    yield (
        f"src has {tile.free_elements * itemsize} bytes per partition, dma_engine=gpsimd_dma moves at most "
        f"{_GPSIMD_ELEMENTS * itemsize} of a {8 * itemsize}-bit type: use dma_engine.dma or several exchanges"
    )


def _exchange_partitions(call: Call) -> Iterator[str]:
    partitions = call.tensor("src").partitions
    if call.scalar("dma_engine") == "gpsimd_dma" and partitions % _PARTITION_STEP:
        yield (
            f"src has {partitions} partitions; with dma_engine=gpsimd_dma they must be a multiple of "
            f"{_PARTITION_STEP} before NKI 0.4: use dma_engine.dma, or pad the tile"
        )


def _show(value: Scalar) -> str:
    return str(value)[:60]


def _exchange_engine(dtypes: object, memories: object, scalars: Sequence[Scalar]) -> str:
    return "gpsimd" if scalars[-1] == "gpsimd_dma" else "dma"


def _integer(name: str) -> Parameter:
    return Parameter(name, ParameterKind.INTEGERS)


OPERATIONS: Final = (
    Operation(
        "core_barrier",
        (
            source("data", frozenset({"hbm", "sbuf"})),
            _integer("cores"),
            Parameter("engine", ParameterKind.ENGINE, "gpsimd"),
        ),
        engines=("gpsimd", "tensor", "vector", "scalar", "sync"),
        bind=_bind_barrier,
        limits=(Limit("barrier-cores", _barrier_cores, _BARRIER),),
        targets=_TARGETS,
        source=_BARRIER,
        meeting=Meeting.CORES,
    ),
    Operation(
        "sendrecv",
        (
            source("src", frozenset({"sbuf"})),
            destination("dst", frozenset({"sbuf"})),
            _integer("send_to_rank"),
            _integer("recv_from_rank"),
            _integer("pipe_id"),
            choice("dma_engine", "dma", "gpsimd_dma"),
        ),
        engines=("dma", "gpsimd"),
        bind=_bind_exchange,
        choose_engine=_exchange_engine,
        limits=(
            agree("dst", "src"),
            Limit("exchange-dtype", _exchange_dtype, _EXCHANGE),
            Limit("exchange-ranks", _exchange_ranks, _EXCHANGE),
            Limit("exchange-bytes", _exchange_bytes, _EXCHANGE),
            Limit(
                "exchange-partitions",
                _exchange_partitions,
                "nki.isa.sendrecv docstring, NKI 0.3; NKI 0.4.0 release notes",
                until="0.4",
            ),
        ),
        targets=_TARGETS,
        source=_EXCHANGE,
        meeting=Meeting.CORES,
    ),
)

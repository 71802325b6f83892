"""The chips: engines, memories, clocks and limits per target.

Source: facts/nki.md sections 2.1 and 2.2 (from the public Neuron architecture guides). Where those documents
disagree the choice is noted beside the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ENGINES", "TARGETS", "Target", "target_named"]

#: Engines an instruction can run on; `Instruction.engine` is an index into this.
ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One NeuronCore generation.

    Attributes:
        name: ``trn1``, ``trn2`` or ``trn3``.
        generation: Neuron's own name, ``gen2`` to ``gen4``.
        partitions: Partitions of SBUF and PSUM.
        sbuf_bytes_per_partition: SBUF capacity of one partition.
        psum_bytes_per_partition: PSUM capacity of one partition.
        psum_bank_bytes: Bytes of one PSUM bank in one partition.
        matmul_moving_max: Elements of the moving tensor's free dimension with a float32 destination.
        clock_hz: Clock of each compute engine.
        tensor_flops: Peak of the tensor engine per rate class, in flop/s: ``bf16`` (all narrow types),
            ``fp32``, and where the chip has them ``fp8`` (pairs of 8-bit floats) and ``mx`` (microscaling).
        hbm_bytes_per_second: HBM bandwidth of one NeuronCore (chip bandwidth over its cores).
        documented: Whether today's documentation lists the chip for `nki`.
    """

    name: str
    generation: str
    partitions: int = 128
    sbuf_bytes_per_partition: int
    psum_bytes_per_partition: int = 16 << 10
    psum_bank_bytes: int = 2 << 10
    matmul_moving_max: int
    clock_hz: dict[str, float]
    tensor_flops: dict[str, float]
    hbm_bytes_per_second: float
    documented: bool


TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        Target(
            name="trn1",
            generation="gen2",
            sbuf_bytes_per_partition=192 << 10,
            matmul_moving_max=512,
            clock_hz={"tensor": 2.8e9, "vector": 1.12e9, "scalar": 1.4e9, "gpsimd": 1.4e9},
            tensor_flops={"bf16": 91.8e12, "fp32": 22.9e12},
            hbm_bytes_per_second=410e9,
            documented=False,
        ),
        Target(
            name="trn2",
            generation="gen3",
            sbuf_bytes_per_partition=224 << 10,
            matmul_moving_max=512,
            clock_hz={"tensor": 2.4e9, "vector": 0.96e9, "scalar": 1.2e9, "gpsimd": 1.2e9},
            tensor_flops={"bf16": 78.6e12, "fp32": 19.7e12, "fp8": 158e12},
            hbm_bytes_per_second=362e9,
            documented=True,
        ),
        Target(
            name="trn3",
            generation="gen4",
            sbuf_bytes_per_partition=256 << 10,
            matmul_moving_max=4096,
            clock_hz={"tensor": 2.4e9, "vector": 1.2e9, "scalar": 1.2e9, "gpsimd": 1.2e9},
            tensor_flops={"bf16": 78.6e12, "fp32": 19.7e12, "fp8": 158e12, "mx": 315e12},
            # The NKI guide says 4.7 TB/s, the architecture page 4.9; the lower, over eight cores.
            hbm_bytes_per_second=588e9,
            documented=True,
        ),
    )
}


def target_named(name: str) -> Target:
    """Return the target called `name`.

    Raises:
        KeyError: If there is none; the message lists those there are.
    """
    try:
        return TARGETS[name]
    except KeyError:
        raise KeyError(f"unknown target {name!r}; known: {', '.join(TARGETS)}") from None

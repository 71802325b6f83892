"""Turn what was counted in a program into facts with names, units and provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.emulator.targets import target_named
from pipeline.library.formulas import evaluate_formula
from pipeline.types import Case, Fact, ProgramSummary, Provenance, Task

__all__ = ["profile_facts"]


@dataclass(frozen=True, slots=True)
class _Quantity:
    name: str
    unit: str
    label: str
    provenance: Provenance = Provenance.COUNTED


_COUNTED: Final = (
    _Quantity("hbm_read_bytes", "bytes", "HBM bytes read"),
    _Quantity("hbm_write_bytes", "bytes", "HBM bytes written"),
    _Quantity("dma_transfers", "transfers", "DMA transfers"),
    _Quantity("dma_average_bytes", "bytes", "average DMA transfer"),
    _Quantity("dma_descriptor_bytes", "bytes", "average contiguous run of a DMA transfer"),
    _Quantity("dma_bytes_per_partition", "bytes", "average DMA bytes per partition"),
    _Quantity("tensor_flops", "flop", "tensor engine work"),
    _Quantity("transpose_flops", "flop", "tensor engine work spent on transposes"),
    _Quantity("fp32_matmul_share", "ratio", "share of matmul work in fp32"),
    _Quantity("matmul_mean_moving", "elements", "mean moving free size of a matmul"),
    _Quantity("matmul_mean_stationary", "elements", "mean stationary free size of a matmul"),
    _Quantity("vector_elements", "elements", "elements through the vector engine"),
    _Quantity("scalar_elements", "elements", "elements through the scalar engine"),
    _Quantity("gpsimd_elements", "elements", "elements through gpsimd"),
    _Quantity("mean_free_size", "elements", "mean free size, vector and scalar engines"),
    _Quantity("roofline_seconds", "s", "roofline bound", Provenance.MODELLED),
    _Quantity("hbm_bound_seconds", "s", "HBM bound", Provenance.MODELLED),
    _Quantity("tensor_bound_seconds", "s", "tensor engine bound", Provenance.MODELLED),
)


def profile_facts(task: Task, case: Case, program: ProgramSummary, target: str) -> tuple[Fact, ...]:
    """Return the facts of one scored case.

    Args:
        task: Gives the work that cannot be avoided.
        case: The case that was profiled.
        program: Its program, with counts.
        target: Chip that the modelled bounds hold for.
    """
    chip, counts = target_named(target), program.counts
    work_bytes = evaluate_formula(task.work.bytes, case.axes)
    work_flops = evaluate_formula(task.work.flops, case.axes)
    moved = counts["hbm_read_bytes"] + counts["hbm_write_bytes"]
    known = [(quantity, counts[quantity.name]) for quantity in _COUNTED if quantity.name in counts]
    known += [
        (_Quantity("work_bytes", "bytes", "smallest HBM traffic of the task"), work_bytes),
        (_Quantity("work_flops", "flop", "arithmetic of the task"), work_flops),
        (_Quantity("hbm_traffic_ratio", "ratio", "HBM traffic over the smallest"), moved / work_bytes),
        (_Quantity("sbuf_peak_bytes", "bytes", "SBUF peak per partition"), program.sbuf_peak_bytes),
        (_Quantity("sbuf_capacity_bytes", "bytes", f"SBUF of {target}"), chip.sbuf_bytes_per_partition),
        (_Quantity("psum_peak_bytes", "bytes", "PSUM peak per partition"), program.psum_peak_bytes),
        (_Quantity("psum_capacity_bytes", "bytes", f"PSUM of {target}"), chip.psum_bytes_per_partition),
    ]
    if moved:
        intensity = _Quantity("arithmetic_intensity", "flop/byte", "task flops per HBM byte")
        known.append((intensity, work_flops / moved))
    known += [
        (_Quantity(f"instructions.{engine}", "instructions", f"instructions, {engine} engine"), count)
        for engine, count in sorted(program.instructions_per_engine.items())
    ]
    return tuple(_state(case, quantity, value) for quantity, value in known)


def _state(case: Case, quantity: _Quantity, value: float) -> Fact:
    countable = quantity.unit not in ("s", "ratio") and float(value).is_integer()
    return Fact(
        id=f"profile.{quantity.name}",
        value=int(value) if countable else float(value),
        unit=quantity.unit,
        provenance=quantity.provenance,
        case=case.name,
        label=quantity.label,
    )

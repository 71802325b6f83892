"""The suite that grades the grader: its mutations go wrong where they say, its counts count what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.correctness.candidates import tally_trivial
from evals.correctness.editing import Mutation
from evals.correctness.ground import Ground, open_ground
from evals.correctness.mutants import MUTATIONS, make_mutants
from evals.correctness.solutions import Grading, grade_solutions, seed_number
from evals.correctness.table import Row, Table
from evals.correctness.trials import Ending, read_reasons, try_mutants
from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program import Instruction, Program
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task
from pipeline.types import Task, Verdict

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"

#: Rows in two tiles, summed and scaled: what mutations need to go wrong in.
KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray((200, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, 200, 100):
        tile = nl.ndarray((100, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + 100, :])
        total = nl.ndarray((100, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        scaled = nl.ndarray((100, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=scaled, data=tile, op0=nl.subtract, operand0=total, op1=nl.multiply, operand1=0.25
        )
        nisa.dma_copy(dst=out[r : r + 100, :], src=scaled)
    return out
"""
LOAD, REDUCE, SCALE, STORE = range(4)


@pytest.fixture(scope="module")
def program() -> Program:
    return trace(KERNEL, "submission.py", "kernel", [InputSpec("x", (200, 64), "float32")], target="trn2")


def mutants(program: Program, name: str) -> list[Program]:
    """Return what a mutation makes of the program, site by site."""
    (mutation,) = [one for one in MUTATIONS if one.name == name]
    sites = dict.fromkeys(mutation.find_sites(program))
    changed = [mutation.apply(program, site) for site in sites]
    return [one for one in changed if one is not program]


def view(program: Program, position: int, name: str) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return offset and dimensions of an argument."""
    instruction = program.instructions[position]
    slot = operation(program, instruction).tensor_slots[name]
    pattern = program.patterns[instruction.tensors[slot]]
    return pattern.offset, pattern.dims


def scalar(program: Program, position: int, name: str) -> object:
    instruction = program.instructions[position]
    return instruction.scalars[operation(program, instruction).scalar_slots[name]]


def operation(program: Program, instruction: Instruction):  # type: ignore[no-untyped-def]
    return OPERATIONS[program.operations[instruction.operation]]


def names(program: Program) -> list[str]:
    return [program.operations[instruction.operation] for instruction in program.instructions]


ONE_TILE = ["dma_copy", "tensor_reduce", "tensor_scalar", "dma_copy"]


def test_there_are_at_least_thirty_kinds_each_with_a_name_of_its_own() -> None:
    assert len(MUTATIONS) >= 30
    assert not [name for name, count in Counter(one.name for one in MUTATIONS).items() if count > 1]


def test_the_kernel_is_what_the_tests_below_assume(program: Program) -> None:
    assert names(program) == ONE_TILE * 2
    assert view(program, 4, "src") == (6400, ((64, 100), (1, 64)))


def test_a_load_is_left_out_of_every_the_first_or_the_last_tile(program: Program) -> None:
    for name, kept in (
        ("load left out", ONE_TILE[1:] * 2),
        ("first load left out", ONE_TILE[1:] + ONE_TILE),
        ("last load left out", ONE_TILE + ONE_TILE[1:]),
    ):
        (mutant,) = mutants(program, name)
        assert names(mutant) == kept


def test_a_store_is_left_out(program: Program) -> None:
    (mutant,) = mutants(program, "last store left out")
    assert names(mutant) == ONE_TILE + ONE_TILE[:3]


def test_steps_are_left_out_one_line_at_a_time(program: Program) -> None:
    assert [names(mutant).count("tensor_reduce") for mutant in mutants(program, "step left out")] == [0, 2]
    assert [names(mutant).count("tensor_scalar") for mutant in mutants(program, "step left out")] == [2, 0]


def test_a_step_comes_before_what_it_needs(program: Program) -> None:
    orders = [names(mutant)[:4] for mutant in mutants(program, "step one too early")]
    assert ["tensor_reduce", "dma_copy", "tensor_scalar", "dma_copy"] in orders
    assert ["dma_copy", "tensor_scalar", "tensor_reduce", "dma_copy"] in orders


def test_a_load_starts_one_element_or_one_row_off_where_the_tensor_allows_it(program: Program) -> None:
    moved = mutants(program, "source one element off")[0]
    assert view(moved, 0, "src") == (1, ((64, 100), (1, 64)))
    assert view(moved, 4, "src") == (6399, ((64, 100), (1, 64)))  # one further would leave the tensor
    moved = mutants(program, "source one row off")[0]
    assert [view(moved, position, "src")[0] for position in (0, 4)] == [64, 6336]


def test_the_last_row_or_column_is_dropped_from_all_arguments_alike(program: Program) -> None:
    dropped = mutants(program, "last row dropped")[0]
    assert view(dropped, 0, "src") == view(dropped, 0, "dst") == (0, ((64, 99), (1, 64)))
    dropped = mutants(program, "last column dropped")[1]
    assert view(dropped, 1, "data") == (0, ((64, 100), (1, 63)))
    assert view(dropped, 1, "dst") == (0, ((1, 100), (1, 1)))


def test_half_of_a_row_is_reduced(program: Program) -> None:
    (mutant, _) = mutants(program, "half of the row reduced")
    assert view(mutant, REDUCE, "data") == (0, ((64, 100), (1, 32)))


def test_rows_and_columns_are_repeated_or_turned(program: Program) -> None:
    assert view(mutants(program, "first row for all rows")[0], LOAD, "src") == (0, ((0, 100), (1, 64)))
    assert view(mutants(program, "first column for all columns")[0], LOAD, "src") == (
        0,
        ((64, 100), (0, 64)),
    )
    assert view(mutants(program, "row read backwards")[0], LOAD, "src") == (63, ((64, 100), (-1, 64)))


def test_a_tile_is_stored_as_its_transpose_over_the_same_elements(program: Program) -> None:
    (mutant,) = mutants(program, "tile stored transposed")
    assert view(mutant, STORE, "dst") == (0, ((1, 100), (100, 64)))


def test_a_tile_is_read_from_the_next_quadrant_on(program: Program) -> None:
    mutant = mutants(program, "wrong first partition")[0]
    assert view(mutant, REDUCE, "data") == (32 * 64, ((64, 68), (1, 64)))
    assert view(mutant, REDUCE, "dst") == (0, ((1, 68), (1, 1)))


def test_the_second_tile_loads_stores_or_reads_what_the_first_did(program: Program) -> None:
    (mutant,) = mutants(program, "previous tile loaded")
    assert view(mutant, 4, "src") == view(mutant, 0, "src")
    (mutant,) = mutants(program, "stored over the previous tile")
    assert view(mutant, 7, "dst") == view(mutant, 3, "dst")
    mutant = mutants(program, "stale tile read")[0]
    assert mutant.instructions[5].tensors[1] == program.instructions[1].tensors[1]


def test_operators_constants_and_operands_are_exchanged(program: Program) -> None:
    assert [scalar(mutant, REDUCE, "op") for mutant in mutants(program, "wrong operator")[:1]] == ["subtract"]
    assert [scalar(mutant, REDUCE, "op") for mutant in mutants(program, "another operator")[:1]] == [
        "maximum"
    ]
    for name, number in (
        ("constant zero", 0.0),
        ("constant negated", -0.25),
        ("constant doubled", 0.5),
        ("constant 1 % off", 0.2525),
        ("mean over one too many", 0.2),
        ("constant one ulp off", 0.25 + 2.0**-25),
    ):
        assert [scalar(mutant, SCALE, "operand1") for mutant in mutants(program, name)] == [number]


def test_what_an_operand_does_is_left_out(program: Program) -> None:
    without_total, without_factor = mutants(program, "operand left out")
    slot = operation(program, program.instructions[SCALE]).tensor_slots["operand0"]
    assert without_total.instructions[SCALE].tensors[slot] == -1
    assert scalar(without_total, SCALE, "operand0") == 0.0  # subtracted
    assert scalar(without_factor, SCALE, "operand1") == 1.0  # multiplied


def test_a_tile_is_kept_in_a_narrower_dtype(program: Program) -> None:
    narrow = [
        {tensor.name for tensor in mutant.tensors if tensor.dtype == "bfloat16"}
        for mutant in mutants(program, "tile in bfloat16")
    ]
    assert narrow == [{"tile"}, {"total"}, {"scaled"}]


def test_two_tiles_share_a_buffer(program: Program) -> None:
    shared = mutants(program, "one buffer for two tiles")
    for mutant in shared:
        used = {pattern.tensor for pattern in mutant.patterns}
        assert used < {pattern.tensor for pattern in program.patterns}


def test_no_two_mutants_are_the_same_program(program: Program) -> None:
    made = [mutant.programs for mutant in make_mutants([program])]
    assert len(made) == len(set(made)) > 60
    assert (program,) not in made


def test_a_mutation_leaves_a_program_without_its_site_as_it_is(program: Program) -> None:
    for mutation in MUTATIONS:
        for site in dict.fromkeys(mutation.find_sites(program)):
            assert mutation.apply(program, site._replace(line=1000)) is program


def test_what_is_below_rounding_by_construction_is_said_of_one_kind_only() -> None:
    harmless: list[Mutation] = [mutation for mutation in MUTATIONS if mutation.harmless]
    assert [mutation.name for mutation in harmless] == ["constant one ulp off"]


def test_every_reason_for_a_survivor_is_of_a_kernel_that_there_is() -> None:
    for (kernel, mutation, line), reason in read_reasons().items():
        task, _, file = kernel.partition("/")
        text = (tasks_root() / task / "solutions" / file).read_text()
        assert 0 < line <= len(text.splitlines())
        assert mutation in {known.name for known in MUTATIONS}
        assert reason.strip()


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with open_ground(1) as opened:
        yield opened


@pytest.fixture(scope="module")
def tiny() -> Task:
    """The tiny task, with those of its cases and solutions that take no time."""
    whole = load_task(TINY_ADD)
    names = ("small", "tail", "full", "battery: impulse")
    return whole.model_copy(
        update={
            "cases": tuple(case for case in whole.cases if case.name in names),
            "solutions": tuple(one for one in whole.solutions if one.name != "bad_endless.py"),
        }
    )


def code(task: Task, name: str) -> str:
    return next(solution.code for solution in task.solutions if solution.name == name)


@pytest.mark.sandbox
def test_of_an_addition_only_the_swap_of_its_operands_is_not_caught(ground: Ground, tiny: Task) -> None:
    built = ground.build(tiny, code(tiny, "good_add.py"))
    trials = list(try_mutants(ground, built, "good_add.py", seed=seed_number(0)))
    uncaught = {trial.mutation: trial.ending for trial in trials if trial.ending is not Ending.CAUGHT}
    assert uncaught == {"operands swapped": Ending.IDENTICAL}


@pytest.mark.sandbox
def test_mutants_of_a_softmax_are_caught_or_equivalent(ground: Ground) -> None:
    whole = load_task(tasks_root() / "softmax_rows")
    names = ("large values", "masked, one beyond the tile")
    kept = [case for case in whole.cases if case.name in names]
    task = whole.model_copy(update={"cases": tuple(kept)})
    built = ground.build(task, code(task, "good_simple.py"))
    trials = list(try_mutants(ground, built, "good_simple.py", seed=seed_number(0), every=6))
    endings = Counter(trial.ending for trial in trials)
    assert endings[Ending.CAUGHT] >= 20
    assert endings.keys() <= {Ending.CAUGHT, Ending.IDENTICAL, Ending.ONE_ULP, Ending.HARMLESS}


@pytest.mark.sandbox
def test_a_kernel_that_is_refused_itself_has_no_mutants(ground: Ground, tiny: Task) -> None:
    built = ground.build(tiny, code(tiny, "bad_multiplies.py"))
    (trial,) = try_mutants(ground, built, "bad_multiplies.py", seed=seed_number(0))
    assert trial.ending is Ending.FAULT
    assert "the kernel itself is refused: incorrect" in trial.how


@pytest.mark.sandbox
def test_good_solutions_pass_and_bad_ones_fail_on_every_seed(ground: Ground, tiny: Task) -> None:
    gradings = list(grade_solutions(ground, tiny, [seed_number(0), seed_number(1)]))
    assert not [grading for grading in gradings if grading.wrong]
    counted = Counter(grading.solution for grading in gradings)
    assert counted["good_add.py"] == counted["bad_multiplies.py"] == 2
    assert counted["bad_syntax.py"] == 1  # what does not build comes to the same on every seed


@pytest.mark.sandbox
def test_every_trivial_candidate_of_an_addition_is_refused(ground: Ground, tiny: Task) -> None:
    tallies = list(tally_trivial(ground, tiny, seed_number(0), seed_number(1)))
    assert len(tallies) == 13
    assert all(tally.holds for tally in tallies)


def grading(*, good: bool, refusal: str) -> Grading:
    return Grading("t", "s.py", good, "00", Verdict.CORRECT, Verdict.CORRECT, refusal)


def test_a_good_solution_refused_and_a_bad_one_accepted_are_wrong() -> None:
    assert grading(good=True, refusal="incorrect").wrong
    assert grading(good=False, refusal="").wrong
    assert not grading(good=True, refusal="").wrong
    assert not grading(good=False, refusal="incorrect").wrong


def test_a_rate_has_wilsons_interval() -> None:
    # Newcombe (1998), table I: 0 of 20 gives 0 to 0.1611, 81 of 263 gives 0.2553 to 0.3662.
    assert Row("a", "b", 0, 20).interval == "0.0 % to 16.1 %"
    assert Row("a", "b", 81, 263).interval == "25.5 % to 36.6 %"


def test_the_table_holds_unless_something_that_decides_is_not_as_wanted() -> None:
    table = Table(rows=[Row("mutants", "caught", 9, 10, 10), Row("good", "rejected", 0, 4, 0, decides=True)])
    assert table.holds
    table.rows.append(Row("bad", "accepted", 1, 4, 0, decides=True))
    assert not table.holds


def test_the_table_is_written_as_markdown() -> None:
    table = Table(rows=[Row("a|b", "caught", 0, 20, 0)])
    assert table.to_markdown().splitlines() == [
        "| what was tried | counted | count | of | 95 % interval |",
        "| --- | --- | ---: | ---: | --- |",
        "| a\\|b | caught | 0 | 20 | 0.0 % to 16.1 % |",
    ]

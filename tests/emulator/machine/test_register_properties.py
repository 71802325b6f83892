"""Virtual registers hold 32 bits: against Python integers modulo 2**32."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.machine.references import INTEGERS, tile, wrapped
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import run

FEW = settings(max_examples=30, deadline=None)
WORDS = st.integers(-(2**31), 2**31 - 1)


@FEW
@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.sampled_from(["hbm", "sbuf"]), st.data())
def test_a_word_that_is_loaded_moved_and_stored_is_the_same_modulo_its_width(first, dst, memory, data):
    source = data.draw(tile(first, (1, 1)))
    builder = ProgramBuilder()
    builder.registers = 2
    tensor = builder.input((1, 1), first)
    result = builder.tensor((1, 1), dst)
    builder.add("register_load", dst=(0,), src=builder.load(tensor) if memory == "sbuf" else tensor)
    builder.add("register_move", dst=(1,), src=(0,))
    builder.add("register_store", dst=result, src=(1,))
    builder.store(result)
    assert run(builder, source)[0].item() == wrapped(int(source.item()), dst)


@FEW
@given(WORDS, WORDS, st.sampled_from(["int32", "uint32"]))
def test_a_register_holds_the_last_constant_that_was_moved_into_it(before, after, dst):
    builder = ProgramBuilder()
    builder.registers = 2
    results = [builder.tensor((1, 1), dst) for _ in range(2)]
    builder.add("register_move", dst=(0,), src=before)
    builder.add("register_move", dst=(1,), src=(0,))
    builder.add("register_move", dst=(0,), src=after)
    for number, result in enumerate(results):
        builder.add("register_store", dst=result, src=(number,))
        builder.store(result)
    assert [got.item() for got in run(builder)] == [wrapped(after, dst), wrapped(before, dst)]

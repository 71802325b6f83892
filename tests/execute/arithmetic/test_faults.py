"""A reference that cannot be measured against itself is its task's fault, told in one line."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.execute.frames import ReferenceReply, ReferenceRequest, Tensor, decode, encode
from pipeline.execute.jobs.reference import run

INPUTS = """
import numpy as np
def make_inputs(rng, axes, case):
    return {"x": rng.standard_normal((4, 8))}
"""


def answer(body: str, dtype: str = "float32") -> ReferenceReply:
    source = f"{INPUTS}\ncalls = []\ndef reference(inputs, axes):\n    x = inputs['x']\n{body}\n"
    request = ReferenceRequest(
        source=source,
        axes={},
        case={},
        seed=(1,),
        inputs=(Tensor("x", (4, 8), "bfloat16"),),
        outputs=(Tensor("out", (4, 8), dtype),),
    )
    return decode(run(encode(request)), ReferenceReply)


FAULTS = {
    "differs between runs": ("    calls.append(1)\n    return {'out': x * len(calls)}", "not deterministic"),
    "writes into its input": ("    x *= 2.0\n    return {'out': x}", "changes its input 'x'"),
    "writes later": ("    out = x * 2.0\n    x[0] = 0.0\n    return {'out': out}", "changes its input 'x'"),
    "answers with complex numbers": ("    return {'out': x + 1j}", "not real numbers"),
    "answers with objects": ("    return {'out': x.astype(object)}", "not real numbers"),
    "answers with another shape": ("    return {'out': x[:2]}", "has shape (2, 8)"),
    "answers with nothing": ("    return {}", "returned no array 'out'"),
    "needs all memory": ("    raise MemoryError", "needs more memory"),
    "raises": ("    raise KeyError('y')", "raised KeyError: 'y'"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_a_reference_that(what: str) -> None:
    body, words = FAULTS[what]
    error = answer(body).error
    assert error is not None
    assert words in error.message


def test_fractions_are_no_integers() -> None:
    error = answer("    return {'out': x}", "int32").error
    assert error is not None
    assert error.message == "reference(): 'out' has fractions, task.toml says int32"


def test_an_answer_that_is_the_input_is_fine() -> None:
    reply = answer("    return {'out': x}")
    assert reply.error is None
    np.testing.assert_array_equal(reply.expected[0].numpy(), reply.inputs[0].numpy().astype(np.float64))
    assert not reply.spread[0].numpy().any()


def test_nan_in_both_runs_is_the_same_answer() -> None:
    assert answer("    return {'out': x * np.nan}").error is None


def test_what_the_module_remembers_does_not_reach_the_answer() -> None:
    # The same array is answered twice, and overwritten in between.
    body = "    if not calls:\n        calls.append(np.empty((4, 8)))\n    calls[0][...] = x"
    body += "\n    return {'out': calls[0]}"
    reply = answer(body)
    assert reply.error is None
    assert "random perturbations" in reply.derivation[0]

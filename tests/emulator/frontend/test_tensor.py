"""`NkiTensor`: what a kernel may ask a tensor, and what it may not do with one."""

from __future__ import annotations

import pytest

from pipeline.emulator.frontend import InputSpec
from pipeline.emulator.program import AccessPattern
from tests.emulator.frontend.kernels import BODY_LINE, record_body, refusal, resolved

TILE = "t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)\n"


def holds(*conditions: str) -> None:
    """Run assertions inside a kernel."""
    record_body(
        "\n".join([TILE.strip(), *(f"assert {condition}, {condition!r}" for condition in conditions)])
    )


def test_attributes_are_the_documented_ones() -> None:
    holds(
        "t.shape == (128, 64)",
        "t.strides == (64, 1)",
        "t.offset == 0",
        "t.dtype == nl.float32",
        "t.buffer == nl.sbuf",
        "t.ndim == 2",
        "t.size == 128 * 64",
        "t.name == 't'",
        "t.get_pattern() == [[64, 128], [1, 64]]",
        "not t.is_indirect()",
    )


def test_an_argument_lies_in_hbm() -> None:
    holds("x.buffer == nl.hbm", "nl.is_hbm(x.buffer)", "not nl.is_on_chip(x.buffer)", "nl.is_sbuf(t.buffer)")


def test_dtypes_are_strings_that_equal_their_numpy_counterparts() -> None:
    holds(
        "isinstance(t.dtype, str)",
        "t.dtype == np.float32",
        "t.dtype == np.dtype('float32')",
        "t.dtype != np.float16",
        "t.dtype == 'float32'",
        "t.dtype != None",
        "getattr(nl, str(t.dtype).split('.')[-1]) == nl.float32",
        "{nl.float32: 1}[t.dtype] == 1",
        "nl.bool_ == np.bool_",
    )


def test_view_methods_return_the_documented_shapes() -> None:
    holds(
        "t.reshape((128, 8, 8)).shape == (128, 8, 8)",
        "t.reshape_dim(1, (4, -1)).shape == (128, 4, 16)",
        "t.reshape_dim(1, (4, 16)).permute((0, 2, 1)).shape == (128, 16, 4)",
        "t.expand_dim(1).broadcast(1, 8).shape == (128, 8, 64)",
        "t.expand_dim(1).squeeze_dim(1).shape == (128, 64)",
        "t.reshape((128, 8, 8)).flatten_dims(1, 2).shape == (128, 64)",
        "t.slice(1, 8, 24, 1).shape == (128, 16)",
        "t.slice(1, 0, 64, 2).strides == (64, 2)",
        "t.reshape((128, 8, 8)).select(1, 3).shape == (128, 8)",
        "t.rearrange(('b', ('h', 'w')), ('b', 'w', 'h'), {'h': 4}).shape == (128, 16, 4)",
        "t.rearrange(('b', ('h', 'w')), ('b', 'w', 'h'), {'h': 4}).strides == (64, 1, 16)",
        "t.view(nl.uint8).shape == (128, 256)",
        "t.view(nl.int32).shape == (128, 64)",
        "t.view(nl.uint8).view(nl.float32).shape == (128, 64)",
        "t.is_contiguous() and t.reshape((128, 8, 8)).is_contiguous()",
        "t[:, 0:32].is_contiguous() and not t[:, 0:64:2].is_contiguous()",
        "t[0:64, :].reshape((64, 4, 16))[:, 1, 2:6].offset == 18",
    )


def test_ap_addresses_the_storage() -> None:
    body = f"""{TILE}
u = t.ap(pattern=[(64, 128), (2, 32)])
assert u.shape == (128, 32)
v = t[:, 8:16].ap(pattern=[[64, 128], [1, 4]])
assert v.offset == 8
w = t[:, 8:16].ap(pattern=[[64, 128], [1, 4]], offset=2)
assert w.offset == 10
h = t.ap(pattern=[[128, 128], [1, 16]], dtype=nl.bfloat16)
assert h.dtype == nl.bfloat16 and h.shape == (128, 16)
nisa.tensor_copy(dst=u, src=u)
"""
    entry = resolved(record_body(body))[0]
    assert entry.tensors["dst"] == AccessPattern(1, "float32", 0, ((64, 128), (2, 32)))


def test_ap_repeats_hbm_rows_over_partitions() -> None:
    body = """
w = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=w, src=g.ap(pattern=[[0, 128], [1, 512]]))
"""
    entry = resolved(record_body(body, [InputSpec("g", (512,), "float32")]))[0]
    assert entry.tensors["src"] == AccessPattern(0, "float32", 0, ((0, 128), (1, 512)))


@pytest.mark.parametrize(
    ("statement", "fragments"),
    [
        ("t[0:129]", ["tensor t (128, 64) float32 in sbuf", "0:129", "size 128", "min("]),
        ("x[:, 500:513]", ["tensor x (128, 512)", "500:513", "512"]),
        ("t.ap(pattern=[[32, 128], [1, 32]])", ["partition stride is 32", "must be 64"]),
        ("t.ap(pattern=[[64, 128], [1, 65]])", ["leaves its partition", "0 to 64 of 64"]),
        ("x.ap(pattern=[[512, 129], [1, 512]])", ["0 to 66047 of 65536"]),
        ("t.ap(pattern=[[64, 129], [1, 64]])", ["0 to 8255 of 8192"]),
        ("t.ap(pattern=5)", ["list of [stride, count]"]),
        ("t.ap(pattern=[[64, 0]])", ["at least 1"]),
        ("t.reshape((64, 128))", ["partition dimension"]),
        ("t.permute((1, 0))", ["nc_transpose"]),
        ("if t: pass", ["known only on the device", "if or while"]),
        ("while t > 0: pass", ["operator >", "nl.greater"]),
        ("for row in t: pass", ["iterated", "range("]),
        ("len(t)", ["shape[0]"]),
        ("float(t)", ["known only on the device"]),
        ("np.asarray(t)", ["known only on the device"]),
        ("range(t)", ["known only on the device"]),
        ("t + 1", ["operator +", "nl.add"]),
        ("2.0 * t", ["operator *", "nl.multiply"]),
        ("t / t", ["operator /", "nl.reciprocal"]),
        ("t @ t", ["nc_matmul"]),
        ("t[...] = 0", ["records nothing", "tensor_copy"]),
        ("t.broadcast_to((128, 64))", ["broadcast_to", "nl.broadcast_to"]),
        ("t.astype(nl.bfloat16)", ["astype", "tensor_copy"]),
        ("t.frobnicate", ["frobnicate"]),
    ],
)
def test_what_a_tensor_cannot_do_is_refused_with_tensor_and_remedy(
    statement: str, fragments: list[str]
) -> None:
    error = refusal(TILE + statement)
    assert error.kind == "compile_error"
    assert error.line == BODY_LINE + 1
    for fragment in fragments:
        assert fragment in error.message


def test_probing_for_an_attribute_works_as_in_python() -> None:
    holds("not hasattr(t, 'device')", "getattr(t, 'device', 'none') == 'none'", "hasattr(t, 'shape')")


def test_comparing_an_optional_tensor_with_none_works() -> None:
    holds("t != None", "not (t == None)", "t == t")


def test_methods_are_those_of_the_version_compiled_for() -> None:
    late = TILE + "t.permute((0, 1))"
    assert record_body(late, version="0.5")
    error = refusal(late, version="0.4")
    assert error.kind == "compile_error"
    assert "since NKI 0.5" in error.message
    renamed = TILE + "t.reshape(new_shape=(128, 2, 32))"
    assert record_body(renamed, version="0.4")
    assert "called shape" in refusal(renamed, version="0.5").message

import pytest

from pipeline.emulator.dtypes import DTYPES, PACKED, dtype_named
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import VERSIONS, find

#: nki.api.shared.rst, Supported Data Types, and the docstrings of the types (NKI 0.6): bytes of an element.
DOCUMENTED = {
    "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4,
    "float8_e4m3": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e8m0fnu": 1,
    "float16": 2, "bfloat16": 2, "tfloat32": 4, "float32": 4,
    "float8_e5m2_x4": 4, "float8_e4m3fn_x4": 4, "float4_e2m1fn_x4": 2,
    "bool_": 1,
}  # fmt: skip


def test_the_types_are_those_of_the_documentation():
    assert {name: dtype.itemsize for name, dtype in DTYPES.items()} == DOCUMENTED


def test_every_type_says_where_and_since_when_it_exists():
    for dtype in DTYPES.values():
        assert dtype.targets <= set(TARGETS)
        assert dtype.targets
        assert dtype.since in VERSIONS
        assert dtype.source


@pytest.mark.parametrize("name", DTYPES)
def test_a_type_exists_where_and_when_its_name_does(name):
    known = find("nki.language", name)
    assert (known.since, known.targets) == (DTYPES[name].since, DTYPES[name].targets)


def test_microscaling_types_are_neuroncore_v4s():
    newest = {name for name, dtype in DTYPES.items() if dtype.targets == {"trn3"}}
    assert newest == PACKED | {"float8_e4m3fn", "float8_e8m0fnu"}
    assert [name for name, dtype in DTYPES.items() if dtype.since != "0.3"] == ["float8_e8m0fnu"]


def test_a_packed_type_holds_four_elements_and_is_no_float_itself():
    widths = {name: 8 * DTYPES[name].itemsize // 4 for name in PACKED}
    assert widths == {"float8_e5m2_x4": 8, "float8_e4m3fn_x4": 8, "float4_e2m1fn_x4": 4}
    assert not any(DTYPES[name].is_float for name in PACKED)
    assert all(str(DTYPES[name].element) == name.removesuffix("_x4") for name in PACKED)


def test_the_largest_exponents_are_those_of_the_microscaling_specification():
    # OCP Microscaling Formats 1.0, table 1: 448 = 1.75 * 2**8, 57344 = 1.75 * 2**15, 6 = 1.5 * 2**2.
    assert {name: DTYPES[name].largest_exponent for name in PACKED} == {
        "float8_e4m3fn_x4": 8,
        "float8_e5m2_x4": 15,
        "float4_e2m1fn_x4": 2,
    }


def test_an_unknown_type_is_refused_with_those_there_are():
    assert dtype_named("bfloat16") is DTYPES["bfloat16"]
    with pytest.raises(KeyError, match=r"float64.*float32"):
        dtype_named("float64")

"""Arrays of host frameworks: torch in, torch out, without this package importing torch."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.frontend import arrays
from pipeline.emulator.frontend.arrays import as_array, like
from pipeline.emulator.frontend.errors import KernelError


class Producer:
    """An array of some framework that speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_numpy_arrays_are_themselves() -> None:
    array = np.arange(3.0)
    assert as_array(array) is array
    assert like(array, array) is array


@pytest.mark.parametrize("value", [3, 2.5, "x", None, (1, 2), [1.0], np.float32(2), object()])
def test_what_is_no_array_is_none(value: object) -> None:
    assert as_array(value) is None


def test_any_producer_of_dlpack_is_read_where_it_lies() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    seen = as_array(Producer(array))
    assert seen is not None
    array[1, 2] = 9
    assert seen[1, 2] == 9
    assert like(array, Producer(array)) is array


def test_a_producer_of_what_numpy_lacks_is_refused_in_one_line() -> None:
    with pytest.raises(KernelError, match="of type Producer cannot be read as a dense array") as caught:
        as_array(Producer(np.zeros(2, dtype=ml_dtypes.bfloat16)))
    assert "\n" not in caught.value.message


def test_no_framework_is_imported() -> None:
    nodes = list(ast.walk(ast.parse(Path(arrays.__file__).read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert plain == {"sys", "ml_dtypes", "numpy"}
    assert named == {"__future__", "typing", "pipeline.emulator.frontend.errors"}


class TestTorch:
    """Where torch is installed."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    @pytest.mark.parametrize(
        ("name", "dtype"),
        [
            ("float32", np.float32),
            ("float16", np.float16),
            ("bfloat16", ml_dtypes.bfloat16),
            ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
            ("float8_e5m2", ml_dtypes.float8_e5m2),
            ("int32", np.int32),
            ("int64", np.int64),
            ("uint8", np.uint8),
            ("bool", np.bool_),
        ],
    )
    def test_types_go_there_and_back(self, torch: Any, name: str, dtype: type) -> None:
        tensor = torch.tensor([[1.0, 0.0, 2.0], [0.5, 1.0, 4.0]]).to(getattr(torch, name))
        array = as_array(tensor)
        assert array is not None
        assert array.dtype == np.dtype(dtype)
        assert array.astype(np.float64).tolist() == tensor.to(torch.float64).tolist()
        back = like(array, tensor)
        assert back.dtype == tensor.dtype
        assert back.to(torch.float64).tolist() == tensor.to(torch.float64).tolist()

    def test_memory_is_shared_with_strided_tensors_and_with_those_that_carry_gradients(
        self, torch: Any
    ) -> None:
        base = torch.zeros((4, 6), dtype=torch.bfloat16)
        array = as_array(base[:, ::2])
        assert array is not None
        array[1, 2] = 3
        assert base[1, 4] == 3
        weights = torch.nn.Parameter(torch.ones(2, 2))
        seen = as_array(weights)
        assert seen is not None
        assert seen.tolist() == [[1, 1], [1, 1]]

    def test_results_own_their_memory(self, torch: Any) -> None:
        result = np.arange(4.0, dtype=np.float32)
        result.flags.writeable = False
        tensor = like(result, torch.zeros(1))
        tensor += 1
        assert result.tolist() == [0, 1, 2, 3]

    def test_types_that_torch_lacks_come_back_as_float32(self, torch: Any) -> None:
        result = np.array([1.5, -240.0]).astype(ml_dtypes.float8_e4m3)
        assert like(result, torch.zeros(1)).tolist() == [1.5, -240.0]

    def test_sparse_tensors_are_refused(self, torch: Any) -> None:
        with pytest.raises(KernelError, match="cannot be read as a dense array"):
            as_array(torch.eye(3).to_sparse())

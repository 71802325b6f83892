"""`NkiTensor`: a view of a storage, with the documented view methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import index as as_index
from typing import Any, Final, NoReturn

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind, MissingName
from pipeline.emulator.frontend.indirection import (
    has_register,
    offset_by,
    offsets_per_column,
    offsets_per_row,
    require_free_dimension,
    require_unspread,
    select_by_register,
)
from pipeline.emulator.frontend.recorder import Storage
from pipeline.emulator.frontend.registers import RegisterExpression
from pipeline.emulator.frontend.restrictions import refuse_operators, refuse_undated, take_old_keywords
from pipeline.emulator.frontend.values import DType, MemoryRegion, dtype_of
from pipeline.emulator.frontend.views import View, ViewError
from pipeline.emulator.program.instructions import Offset

__all__ = ["NkiTensor"]

#: Partitions that share a list of offsets; the tensor engine's 32 are known where an instruction is.
_INDIRECTION_GROUP: Final = 16
_MAX_REACH: Final = 1 << 40  # elements; no memory has more
_REMOVED_METHODS: Final = {
    "broadcast_to": "use nl.broadcast_to(tensor, shape) or .broadcast(dim, size)",
    "astype": "copy into a tile of the other dtype with nisa.tensor_copy",
    "assert_shape": "compare .shape with an assert",
    "T": "transpose with nisa.nc_transpose, or permute free dimensions with .permute",
}


class NkiTensor:
    """A tensor as a kernel sees it: shape, data type and memory, but no values."""

    # Storage, data type, view and run-time offsets in one: a class with a `__getattr__` finds attributes
    # slowly, and recording reads all four for every slice and operand.
    __slots__ = ("_parts", "_pattern")

    def __init__(self, storage: Storage, dtype: DType, view: View, offsets: tuple[Offset, ...] = ()) -> None:
        self._parts = (storage, dtype, view, offsets)
        self._pattern = -1

    @property
    def _storage(self) -> Storage:
        return self._parts[0]

    @property
    def _view(self) -> View:
        return self._parts[2]

    @property
    def _offsets(self) -> tuple[Offset, ...]:
        return self._parts[3]

    @property
    def dtype(self) -> DType:
        """Data type of the elements."""
        return self._parts[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per dimension."""
        return self._view.shape

    @property
    def _on_chip(self) -> bool:
        return self._storage.on_chip

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._storage.name

    @property
    def buffer(self) -> MemoryRegion:
        """Where the tensor lies."""
        return self._storage.buffer

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements per step of each dimension."""
        return tuple([stride for stride, _ in self._view.dims])

    @property
    def offset(self) -> int:
        """First element of the view within its storage."""
        return self._view.offset

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._view.dims)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def __getitem__(self, key: Any) -> NkiTensor:
        storage, dtype, view, offsets = self._parts
        if offsets:
            require_free_dimension(self, key)
        try:
            view = view.select(key, storage.on_chip)
        except ViewError as error:
            if not has_register(key):
                raise self._refuse(f"{error}") from None
            try:
                view, offsets = select_by_register(self, key)
            except ViewError as problem:
                raise self._refuse(f"{problem}") from None
        return NkiTensor(storage, dtype, view, offsets)

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """Return a view with the dimensions reordered."""
        return self._derive(View.permute, self._tuple("permute: the dimensions", dims))

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Return a view that repeats a dimension of size 1."""
        return self._derive(View.broadcast, dim, size)

    def expand_dim(self, dim: int) -> NkiTensor:
        """Return a view with a new dimension of size 1."""
        return self._derive(View.expand, dim)

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Return a view without a dimension of size 1."""
        return self._derive(View.squeeze, dim)

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """Return a view with one dimension split into several."""
        return self._derive(View.split, dim, self._tuple("reshape_dim: the shape", shape))

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Return a view with the dimensions `start_dim` to `end_dim`, inclusive, merged."""
        return self._derive(View.flatten, start_dim, end_dim)

    def reshape(self, shape: Sequence[int]) -> NkiTensor:
        """Return a view of the same elements in another shape; one size may be -1."""
        return self._derive(View.reshape, self._tuple("reshape: the shape", shape))

    def select(self, dim: int, index: int | NkiTensor | RegisterExpression) -> NkiTensor:
        """Return a view of one position along a dimension; a tensor or a register says it at run time."""
        if not isinstance(index, NkiTensor | RegisterExpression):
            return self._along(dim, index, "select")
        if isinstance(index, NkiTensor):
            require_unspread(self, "select")
        dim = self._axis(dim, "select")
        if self._on_chip and dim == 0:
            raise self._refuse("select with a run-time index on dimension 0, the partition dimension")
        first = self._along(dim, 0, "select")
        stride = self._view.dims[dim][0]
        offsets = (*self._offsets, *offset_by(self, index, stride, "select"))
        return NkiTensor(self._storage, self.dtype, first._view, offsets)

    def rearrange(
        self,
        src_pattern: Sequence[str | Sequence[str]],
        dst_pattern: Sequence[str | Sequence[str]],
        fixed_sizes: dict[str, int] | None = None,
    ) -> NkiTensor:
        """Return a view with dimensions split, reordered and merged by name."""
        sizes = fixed_sizes or {}
        source = [[part] if isinstance(part, str) else list(part) for part in src_pattern]
        target = [[part] if isinstance(part, str) else list(part) for part in dst_pattern]
        names = [name for group in source for name in group]
        if len(source) != self.ndim or sorted(names) != sorted(name for group in target for name in group):
            raise self._refuse(
                f"rearrange({src_pattern!r}, {dst_pattern!r}) does not name its {self.ndim} dimensions once "
                "each: pass two tuples of names, as in rearrange(('p', 'a', 'b'), ('p', 'b', 'a'))"
            )
        view = self
        for axis in range(self.ndim - 1, -1, -1):
            if len(source[axis]) != 1:
                view = view.reshape_dim(axis, [sizes.get(name, -1) for name in source[axis]])
        view = view.permute([names.index(name) for group in target for name in group])
        for axis, group in enumerate(target):
            if len(group) > 1:
                view = view.flatten_dims(axis, axis + len(group) - 1)
        return view

    def view(self, dtype: Any) -> NkiTensor:
        """Return a view of the same bytes as another data type."""
        new = dtype_of(dtype)
        if self._offsets:
            raise self._refuse("view(dtype) of a view that is addressed at run time")
        return NkiTensor(self._storage, new, self._try(View.reinterpret, _width(self.dtype), _width(new)))

    reinterpret_cast = view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """Return a view with an explicit access pattern over the storage.

        Args:
            pattern: ``[stride, count]`` per dimension, in elements of `dtype`.
            offset: Elements to add to this view's offset.
            scalar_offset: Run-time index: a register, or one element of an integer tensor in SBUF.
            vector_offset: Run-time index per row of the pattern: an integer tensor in SBUF.
            indirect_dim: Dimension of this tensor that a run-time index counts along.
            dtype: Data type to read the storage as; this view's by default.
        """
        if scalar_offset is not None and vector_offset is not None:
            raise self._refuse("ap: scalar_offset and vector_offset are exclusive")
        new = self.dtype if dtype is None else dtype_of(dtype)
        declared = self._storage.recorder.tensors[self._storage.index]
        total = self._storage.size * _width(declared.dtype)
        if self.offset * _width(self.dtype) % _width(new) or total % _width(new):
            raise self._refuse(f"ap as {new}: offset {self.offset} is not a whole number of its elements")
        try:
            start = self.offset * _width(self.dtype) // _width(new) + as_index(offset or 0)
            dims = tuple([(as_index(stride), as_index(count)) for stride, count in pattern])
        except (TypeError, ValueError):
            raise self._refuse(
                "ap: the pattern must be a list of [stride, count] pairs of integers, and offset an integer"
            ) from None
        if max(abs(number) for dim in dims for number in dim) > _MAX_REACH:
            raise self._refuse(f"ap: the pattern {list(dims)} has numbers beyond {_MAX_REACH}")
        if not dims or any(count < 1 for _, count in dims):
            raise self._refuse(f"ap: every count must be at least 1, the pattern is {list(dims)}")
        total //= _width(new)
        if scalar_offset is not None or vector_offset is not None:
            if self._on_chip and dims[0][0] != total // declared.shape[0]:
                self._check_partition_pattern(dims, start, total // declared.shape[0])
            return self._addressed(new, View(start, dims), scalar_offset, vector_offset, indirect_dim)
        if self._on_chip:
            self._check_partition_pattern(dims, start, total // declared.shape[0])
        lowest = start + sum(stride * (count - 1) for stride, count in dims if stride < 0)
        highest = start + sum(stride * (count - 1) for stride, count in dims if stride > 0)
        if lowest < 0 or highest >= total:
            raise self._refuse(
                f"ap: pattern {[list(dim) for dim in dims]} at offset {start} reaches elements {lowest} to "
                f"{highest} of "
                f"{total}"
            )
        return NkiTensor(self._storage, new, View(start, dims))

    def is_contiguous(self) -> bool:
        """Return whether the elements lie densely in row-major order; on chip, within each partition."""
        return self._view.is_contiguous(self._on_chip)

    def is_indirect(self) -> bool:
        """Return whether an address is known only at run time."""
        return bool(self._offsets)

    def get_pattern(self) -> list[list[int]]:
        """Return ``[stride, count]`` per dimension, as `ap` takes it."""
        return [[stride, count] for stride, count in self._view.dims]

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """Return a view of a range along one dimension."""
        return self._along(dim, slice(start, end, step), "slice")

    def vector_select(self, dim: int, vector_offset: Any) -> NkiTensor:
        """Return a view with one row per element of an index tensor; of an HBM tensor, along dimension 0."""
        require_unspread(self, "vector_select")
        if self._axis(dim, "vector_select") != 0 or self._on_chip:
            raise self._refuse(f"vector_select({dim}): dimension 0 of an HBM tensor only")
        rows = vector_offset.shape[0] if isinstance(vector_offset, NkiTensor) else 1
        stride = self._view.dims[0][0]
        offsets = offsets_per_row(self, vector_offset, rows, stride, "vector_select")
        view = View(self._view.offset, ((stride, rows), *self._view.dims[1:]))
        return NkiTensor(self._storage, self.dtype, view, (*self._offsets, *offsets))

    def indirect(self, index: Any, num_elem: int | None = None) -> NkiTensor:
        """Return a view of columns that an index tensor names: tensor indirection, from NeuronCore-v4 on.

        Args:
            index: Integer tensor in SBUF with as many partitions; each group of 16 partitions (32 on the
                tensor engine) shares the list of its rows, column by column.
            num_elem: Columns of the view; by default all that a group of 16 names.
        """
        require_unspread(self, "indirect")
        if not self._on_chip or self.ndim != 2:
            raise self._refuse("indirect: a two-dimensional on-chip tensor only")
        offsets = offsets_per_column(self, index, "indirect")
        listed = prod(index.shape[1:]) * min(index.shape[0], _INDIRECTION_GROUP)
        columns = self._count("indirect: num_elem", listed if num_elem is None else num_elem)
        view = View(self._view.offset, (self._view.dims[0], (0, columns)))
        return NkiTensor(self._storage, self.dtype, view, (*self._offsets, *offsets))

    def __repr__(self) -> str:
        return f"{self.name} {self.shape} {self.dtype} in {self.buffer.name}"

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise self._refuse(
            "assigning to a tensor records nothing; write with an instruction, for example "
            "nisa.tensor_copy(dst=..., src=...)"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        remedy = _REMOVED_METHODS.get(name, "see the view methods of NkiTensor")
        raise MissingName(
            KernelErrorKind.COMPILE_ERROR, f"tensor {self!r} has no attribute {name!r}; {remedy}"
        )

    def __bool__(self) -> bool:
        # NKI 0.3's library asks whether an optional tensor is there by its truth (nki-library, core/mlp).
        if self._storage.recorder.version == "0.3":
            return True
        raise self._refuse(
            "its values are known only on the device, so it cannot be the condition of an if or while"
        )

    def __iter__(self) -> NoReturn:
        raise self._refuse("it cannot be iterated; loop over range(tensor.shape[0]) and slice it")

    def __len__(self) -> NoReturn:
        raise self._refuse("it has no len(); use tensor.shape[0]")

    def _as_number(self, *_: object, **__: object) -> NoReturn:
        raise self._refuse(
            "its values are known only on the device, so they cannot become a Python or NumPy value"
        )

    __array__ = __float__ = __int__ = __index__ = __complex__ = _as_number

    def _derive(self, method: Callable[..., View], *arguments: Any) -> NkiTensor:
        if self._offsets:
            self._check_derivation(method, arguments)
        view = self._try(method, *arguments, self._on_chip)
        return NkiTensor(self._storage, self.dtype, view, self._offsets)

    def _check_derivation(self, method: Callable[..., View], arguments: Sequence[Any]) -> None:
        """Refuse a view that changes a dimension which an index tensor has taken over."""
        kinds = {offset.kind for offset in self._offsets}
        derived = self._try(method, *arguments, self._on_chip).dims
        if "indirect" in kinds or ("vector" in kinds and derived[:1] != self._view.dims[:1]):
            raise self._refuse(
                f"{method.__name__} changes a dimension that an index tensor addresses: make the view first, "
                "then address it"
            )

    def _addressed(
        self, dtype: DType, view: View, scalar_offset: Any, vector_offset: Any, indirect_dim: int
    ) -> NkiTensor:
        """Return the view of `ap` with a run-time index along a dimension of this tensor."""
        if not isinstance(indirect_dim, int) or not 0 <= indirect_dim < self.ndim:
            raise self._refuse(f"ap: indirect_dim {indirect_dim} of {self.ndim} dimensions")
        # The multiplier comes from this tensor's shape, not from the pattern (nki-aps.rst).
        stride = prod(self.shape[indirect_dim + 1 :]) * _width(self.dtype) // _width(dtype)
        if scalar_offset is not None:
            offsets = offset_by(self, scalar_offset, stride, "ap(scalar_offset=)")
        else:
            if indirect_dim != 0:
                raise self._refuse("ap: vector_offset takes indirect_dim=0 only")
            offsets = offsets_per_row(self, vector_offset, view.dims[0][1], stride, "ap(vector_offset=)")
        return NkiTensor(self._storage, dtype, view, offsets)

    def _try(self, method: Callable[..., View], *arguments: Any) -> View:
        try:
            return method(self._view, *arguments)
        except ViewError as error:
            raise self._refuse(f"{error}") from None

    def _axis(self, dim: Any, method: str) -> int:
        try:
            return self._view.axis_of(dim, method)
        except ViewError as error:
            raise self._refuse(f"{error}") from None

    def _tuple(self, what: str, values: Any) -> tuple[Any, ...]:
        if not isinstance(values, Iterable):
            raise self._refuse(f"{what} must be a tuple, not {type(values).__name__} {str(values)[:40]}")
        return tuple(values)

    def _count(self, what: str, value: Any) -> int:
        try:
            number = as_index(value)
        except TypeError:
            number = 0
        if not 1 <= number <= _MAX_REACH:
            raise self._refuse(f"{what} must be a positive integer, not {str(value)[:40]}")
        return number

    def _along(self, dim: int, part: Any, method: str) -> NkiTensor:
        dim = self._axis(dim, method)
        key: list[Any] = [slice(None)] * self.ndim
        key[dim] = part
        return self[tuple(key)]

    def _check_partition_pattern(
        self, dims: tuple[tuple[int, int], ...], start: int, per_partition: int
    ) -> None:
        """Require that every partition performs the same access, inside itself."""
        if dims[0][0] != per_partition:
            hint = "" if dims[0][0] else "; to repeat a partition, copy it with nl.broadcast_to, or from HBM"
            raise self._refuse(
                f"ap: the partition stride is {dims[0][0]}; it must be {per_partition}, the elements per "
                f"partition{hint}"
            )
        within = start % per_partition
        lowest = within + sum(stride * (count - 1) for stride, count in dims[1:] if stride < 0)
        highest = within + sum(stride * (count - 1) for stride, count in dims[1:] if stride > 0)
        if lowest < 0 or highest >= per_partition:
            raise self._refuse(
                f"ap: pattern {[list(dim) for dim in dims]} leaves its partition: elements {lowest} to "
                f"{highest} of "
                f"{per_partition}"
            )

    def _refuse(self, message: str, kind: KernelErrorKind = KernelErrorKind.COMPILE_ERROR) -> KernelError:
        return KernelError(kind, f"tensor {self!r}: {message}")


def _width(dtype: str) -> int:
    return DTYPES[dtype].itemsize


refuse_operators(NkiTensor)
refuse_undated(NkiTensor)
take_old_keywords(NkiTensor)

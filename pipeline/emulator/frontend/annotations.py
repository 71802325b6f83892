"""`nki.typing`: annotations of a kernel's parameters, which say what is expected and are not enforced.

Source: migration guide to NKI 0.3, section "nki.typing module".
"""

from __future__ import annotations

from typing import Any

__all__ = ["TensorAnnotation", "mutable_tensor", "tensor"]


class TensorAnnotation:
    """``nki.typing.tensor``, or with a shape ``nki.typing.tensor[128, 512]``.

    Attributes:
        name: How it is written.
        shape: Expected sizes; None without brackets.
    """

    __slots__ = ("name", "shape")

    def __init__(self, name: str, shape: tuple[Any, ...] | None = None) -> None:
        self.name = name
        self.shape = shape

    def __getitem__(self, shape: Any) -> TensorAnnotation:
        return TensorAnnotation(self.name, shape if isinstance(shape, tuple) else (shape,))

    def __or__(self, other: object) -> Any:
        return Any

    __ror__ = __or__

    def __call__(self, *_: object, **__: object) -> TensorAnnotation:
        """Exist, so that `typing` takes it in ``Optional[tensor[...]]``."""
        return self

    def __repr__(self) -> str:
        sizes = "" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"nki.typing.{self.name}{sizes}"


tensor = TensorAnnotation("tensor")
mutable_tensor = TensorAnnotation("mutable_tensor")

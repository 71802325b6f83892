"""Host frameworks in a submission: named freely, refused when called."""

from __future__ import annotations

import pytest

from tests.emulator.frontend.kernels import record, refused_submission

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""


@pytest.mark.parametrize(
    "lines",
    [
        "import torch\nfrom typing import Optional\ndef f(x: Optional[torch.Tensor] = None): ...",
        "import torch\ndef f(x: torch.Tensor | None = None, y: 'int' = torch.float32): ...",
        "import torch\ndef f(x: None | torch.Tensor, y: list[torch.Tensor]): ...",
        "import torch.nn.functional as F\nfrom torch import nn\nclass Model(nn.Module):\n    pass",
        "import jax\nimport jax.numpy as jnp\ndef f(x: jax.Array['rows columns']): return jnp.dot(x, x)",
        "import torch_xla.core.xla_model as xm\nimport torchvision\nKINDS = {torchvision.x: 1, xm.y: 2}",
    ],
)
def test_a_framework_may_be_imported_and_named(lines: str) -> None:
    record(f"{lines}\n{KERNEL}")


def test_calling_one_says_that_it_is_not_there() -> None:
    error = refused_submission(f"import torch\ntorch.manual_seed(0)\n{KERNEL}")
    assert error.kind == "unsupported"
    assert error.line == 2
    assert "calls torch.manual_seed" in error.message

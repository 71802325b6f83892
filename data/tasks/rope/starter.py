import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    """Rotate bfloat16 x [T, H, D] by the float32 tables cos and sin [T, D/2], half-split, into bfloat16 [T, H, D]."""
    T, H, D = x.shape
    out = nl.ndarray((T, H, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    # Fill out here, up to 128 tokens at a time.

    return out

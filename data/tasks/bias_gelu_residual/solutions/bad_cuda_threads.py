import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def bias_gelu_residual(x, bias, residual):
    """Line-by-line port: the thread index becomes an index tensor, the bounds check a mask."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    block_dim = 256
    for row in range(0, R, 128):
        thread_row = nl.arange(128)[:, None]
        for col in range(0, C, block_dim):
            thread_col = nl.arange(block_dim)[None, :]
            active = (row + thread_row < R) & (col + thread_col < C)
            a = nl.load(x[row + thread_row, col + thread_col], mask=active)
            b = nl.load(bias[col + thread_col], mask=active)
            r = nl.load(residual[row + thread_row, col + thread_col], mask=active)
            z = a + b
            result = 0.5 * z * (1.0 + nl.erf(z * 0.70710678)) + r
            nl.store(out[row + thread_row, col + thread_col], value=result, mask=active)

    return out

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def bias_gelu_residual(x, bias, residual):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    everything = nl.ndarray((128, 128 * 1024), dtype=nl.float32, buffer=nl.sbuf)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        nisa.dma_copy(dst=everything[0:rows, 0:C], src=x[r : r + rows, :])
        nisa.activation(dst=everything[0:rows, 0:C], op=nl.gelu, data=everything[0:rows, 0:C])
        nisa.dma_copy(dst=out[r : r + rows, :], src=everything[0:rows, 0:C])
    return out

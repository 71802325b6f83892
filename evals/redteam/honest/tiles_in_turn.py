import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax_rows(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    buffers = [
        nl.ndarray((128, C), dtype=nl.float32, buffer=nl.sbuf),
        nl.ndarray((128, C), dtype=nl.float32, buffer=nl.sbuf),
    ]
    for i in range((R + 127) // 128):
        rows = min(128, R - 128 * i)
        tile = buffers[i % 2][0:rows, :]
        nisa.dma_copy(dst=tile, src=x[128 * i : 128 * i + rows, :])
        shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=shift, op=nl.maximum, data=tile, axis=1, negate=True)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=tile, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total, bias=shift)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[128 * i : 128 * i + rows, :], src=tile)
    return out

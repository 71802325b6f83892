import nki
import nki.isa as nisa
import nki.language as nl


def normalise(tile, rows):
    shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=shift, op=nl.maximum, data=tile, axis=1, negate=True)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=tile, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total, bias=shift)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)


@nki.jit
def softmax_rows(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)

    def full_tile(i):
        tile = nl.ndarray((128, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128), :])
        normalise(tile, 128)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128), :], src=tile)

    full = R // 128
    if full > 0:
        nl.fori_loop(0, full, full_tile)
    rest = R - 128 * full
    if rest > 0:
        tile = nl.ndarray((rest, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[128 * full : R, :])
        normalise(tile, rest)
        nisa.dma_copy(dst=out[128 * full : R, :], src=tile)
    return out

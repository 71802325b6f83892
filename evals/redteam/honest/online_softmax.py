import nki
import nki.isa as nisa
import nki.language as nl

CHUNK = 512


@nki.jit
def softmax_rows(x):
    """Two passes over chunks of columns: the first keeps a running maximum and rescales its running sum."""
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range(0, R, 128):
        rows = min(128, R - r)
        tile = nl.ndarray((rows, C), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])
        highest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        # A finite floor, so that a chunk of masked positions alone does not subtract infinities.
        nisa.memset(dst=highest, value=-3.0e38)
        nisa.memset(dst=total, value=0.0)
        for c in range(0, C, CHUNK):
            columns = min(CHUNK, C - c)
            part = tile[:, c : c + columns]
            chunk_highest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=chunk_highest, op=nl.maximum, data=part, axis=1)
            new_highest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=new_highest, data1=highest, data2=chunk_highest, op=nl.maximum)
            shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=shift, data=new_highest, op0=nl.multiply, operand0=-1.0)
            factor = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=factor, op=nl.exp, data=highest, bias=shift)
            scratch = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
            chunk_total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(
                dst=scratch, op=nl.exp, data=part, reduce_op=nl.add, reduce_res=chunk_total, bias=shift
            )
            nisa.tensor_tensor(dst=total, data1=total, data2=factor, op=nl.multiply)
            nisa.tensor_tensor(dst=total, data1=total, data2=chunk_total, op=nl.add)
            highest = new_highest
        shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shift, data=highest, op0=nl.multiply, operand0=-1.0)
        nisa.reciprocal(dst=total, data=total)
        nisa.activation(dst=tile, op=nl.exp, data=tile, bias=shift)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)
    return out

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Return the sums of exponentials of the rows of x over four blocks; the factor is bfloat16."""
    rows, columns = x.shape
    width = columns // 4
    maximum = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=maximum, value=-1e4)
    nisa.memset(dst=total, value=0)
    for block in range(4):
        start = block * width
        tile = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, start : start + width])
        largest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=largest, op=nl.maximum, data=tile, axis=1)
        nisa.tensor_tensor(dst=largest, data1=largest, data2=maximum, op=nl.maximum)
        step = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=step, data1=maximum, data2=largest, op=nl.subtract)
        factor = nl.ndarray((rows, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.activation(dst=factor, op=nl.exp, data=step)  # planted
        lowered = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=lowered, data=largest, op0=nl.multiply, operand0=-1.0)
        powers = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        part = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=powers, op=nl.exp, data=tile, bias=lowered)
        nisa.tensor_reduce(dst=part, op=nl.add, data=powers, axis=1)
        nisa.tensor_tensor(dst=total, data1=total, data2=factor, op=nl.multiply)
        nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
        nisa.tensor_copy(dst=maximum, src=largest)
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out

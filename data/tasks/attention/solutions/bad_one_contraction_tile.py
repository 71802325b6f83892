import nki
import nki.isa as nisa
import nki.language as nl

P = 128
KEYS = 512  # keys per product: one PSUM bank of float32


@nki.jit
def attention(qT, kT, v):
    """A head has at most 128 dimensions, which is one tile of the contraction."""
    D, S = qT.shape
    _, T = kT.shape
    scale = 1.0 / D**0.5
    out = nl.ndarray((S, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for s in range(0, S, P):
        rows = min(P, S - s)

        # Logits of all keys, in float32.
        logits = nl.ndarray((rows, T), dtype=nl.float32, buffer=nl.sbuf)
        for t in range(0, T, KEYS):
            keys = min(KEYS, T - t)
            product = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.psum)
            depth = min(P, D)
            q_tile = nl.ndarray((depth, rows), dtype=qT.dtype, buffer=nl.sbuf)
            k_tile = nl.ndarray((depth, keys), dtype=kT.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=q_tile, src=qT[0:depth, s : s + rows])
            nisa.dma_copy(dst=k_tile, src=kT[0:depth, t : t + keys])
            nisa.nc_matmul(dst=product, stationary=q_tile, moving=k_tile)
            nisa.tensor_scalar(dst=logits[:, t : t + keys], data=product, op0=nl.multiply, operand0=scale)

        # Softmax; the probabilities are rounded to bfloat16 for the second product.
        row_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=row_max, op=nl.maximum, data=logits, axis=1)
        nisa.tensor_scalar(dst=logits, data=logits, op0=nl.subtract, operand0=row_max)
        exponentials = nl.ndarray((rows, T), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=exponentials, op=nl.exp, data=logits)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=exponentials, axis=1)
        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        probabilities = nl.ndarray((rows, T), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=probabilities, data=exponentials, op0=nl.multiply, operand0=inverse)

        # The contraction over keys wants them on the partitions: transpose 128 at a time.
        acc = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.psum)
        for t in range(0, T, P):
            keys = min(P, T - t)
            turned_psum = nl.ndarray((keys, rows), dtype=nl.bfloat16, buffer=nl.psum)
            nisa.nc_transpose(dst=turned_psum, data=probabilities[:, t : t + keys])
            turned = nl.ndarray((keys, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=turned_psum)
            v_tile = nl.ndarray((keys, D), dtype=v.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=v_tile, src=v[t : t + keys, :])
            nisa.nc_matmul(dst=acc, stationary=turned, moving=v_tile)

        result = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result, src=acc)
        nisa.dma_copy(dst=out[s : s + rows, :], src=result)

    return out

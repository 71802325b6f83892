import nki
import nki.isa as nisa
import nki.language as nl

P = 128
KEYS = 512  # keys per block: one PSUM bank of float32
LOWEST = -3.0e38  # below every logit, and finite: exp(scale * (LOWEST - max)) is 0


@nki.jit
def attention(qT, kT, v):
    """Block by block of keys: the sum is corrected when the maximum grows, the results are added up as they come."""
    D, S = qT.shape
    _, T = kT.shape
    scale = 1.0 / D**0.5
    out = nl.ndarray((S, D), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for s in range(0, S, P):
        rows = min(P, S - s)
        q_tiles = []
        for d in range(0, D, P):
            depth = min(P, D - d)
            q_tile = nl.ndarray((depth, rows), dtype=qT.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=q_tile, src=qT[d : d + depth, s : s + rows])
            q_tiles.append(q_tile)

        running_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        running_sum = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        running_out = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=running_max, value=LOWEST)
        nisa.memset(dst=running_sum, value=0.0)
        nisa.memset(dst=running_out, value=0.0)

        for t in range(0, T, KEYS):
            keys = min(KEYS, T - t)
            logits = nl.ndarray((rows, keys), dtype=nl.float32, buffer=nl.psum)
            for i in range(len(q_tiles)):
                depth = q_tiles[i].shape[0]
                k_tile = nl.ndarray((depth, keys), dtype=kT.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=k_tile, src=kT[i * P : i * P + depth, t : t + keys])
                nisa.nc_matmul(dst=logits, stationary=q_tiles[i], moving=k_tile)

            block_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=block_max, op=nl.maximum, data=logits, axis=1)
            new_max = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=new_max, data1=running_max, data2=block_max, op=nl.maximum)
            bias = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=bias, data=new_max, op0=nl.multiply, operand0=-scale)
            correction = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=correction, op=nl.exp, data=running_max, bias=bias, scale=scale)

            weights = nl.ndarray((rows, keys), dtype=nl.bfloat16, buffer=nl.sbuf)
            block_sum = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(
                dst=weights,
                op=nl.exp,
                data=logits,
                reduce_op=nl.add,
                reduce_res=block_sum,
                bias=bias,
                scale=scale,
            )
            # sum = sum * correction + block_sum
            new_sum = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.scalar_tensor_tensor(
                dst=new_sum,
                data=running_sum,
                op0=nl.multiply,
                operand0=correction,
                op1=nl.add,
                operand1=block_sum,
            )

            block_out = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.psum)
            for u in range(0, keys, P):
                part = min(P, keys - u)
                turned_psum = nl.ndarray((part, rows), dtype=nl.bfloat16, buffer=nl.psum)
                nisa.nc_transpose(dst=turned_psum, data=weights[:, u : u + part])
                turned = nl.ndarray((part, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
                nisa.tensor_copy(dst=turned, src=turned_psum)
                v_tile = nl.ndarray((part, D), dtype=v.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=v_tile, src=v[t + u : t + u + part, :])
                nisa.nc_matmul(dst=block_out, stationary=turned, moving=v_tile)
            new_out = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=new_out, data1=running_out, data2=block_out, op=nl.add)
            running_max, running_sum, running_out = new_max, new_sum, new_out

        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=running_sum)
        result = nl.ndarray((rows, D), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=running_out, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[s : s + rows, :], src=result)

    return out

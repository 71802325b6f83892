import nki
import nki.isa as nisa
import nki.language as nl

P = 128
BLOCK = 32  # the vector engine transposes within 32 partitions


@nki.jit
def transpose(x):
    """Transpose without the tensor engine: blocks of 32 x 32 on the vector engine, SBUF to SBUF.

    The tensor engine and PSUM stay free for a matmul that runs beside this. Each block lands where it belongs in a tile
    of 128 columns by 128 rows; partitions start at 0, 32, 64 and 96, as the engine asks for.
    """
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for r in range(0, R, P):
        rows = min(P, R - r)
        band = nl.ndarray((rows, C), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=band, src=x[r : r + rows, :])

        for c in range(0, C, P):
            columns = min(P, C - c)
            result = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
            for i in range(0, rows, BLOCK):
                i_end = min(i + BLOCK, rows)
                for j in range(0, columns, BLOCK):
                    j_end = min(j + BLOCK, columns)
                    nisa.nc_transpose(
                        dst=result[j:j_end, i:i_end], data=band[i:i_end, c + j : c + j_end], engine=nisa.engine.vector
                    )
            nisa.dma_copy(dst=out[c : c + columns, r : r + rows], src=result)

    return out

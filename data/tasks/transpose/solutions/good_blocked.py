import nki
import nki.isa as nisa
import nki.language as nl

P = 128
BAND = 1024  # rows of x that one bank of PSUM holds as columns: 2 KiB of bfloat16 per partition


@nki.jit
def transpose(x):
    """Transpose bands of 1024 rows; bound by HBM, 4 * R * C bytes.

    Whole rows of x come in transfers of 2 * C bytes per partition. Eight blocks, one below the other in x, are turned
    into one bank of PSUM side by side, so that one copy of 1024 columns evicts them and one transfer of 2 KiB per
    partition stores them. The copies alternate between vector and scalar engine: each moves half of the output while
    the tensor engine fills the next bank. A band takes 8 * 2 * C bytes per partition, 32 KiB at C = 2048.
    """
    R, C = x.shape
    out = nl.ndarray((C, R), dtype=nl.bfloat16, buffer=nl.shared_hbm)

    for band in range(0, R, BAND):
        band_end = min(band + BAND, R)
        blocks = []
        for r in range(band, band_end, P):
            rows = min(P, band_end - r)
            block = nl.ndarray((rows, C), dtype=nl.bfloat16, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[r : r + rows, :])
            blocks.append(block)

        for c in range(0, C, P):
            columns = min(P, C - c)
            turned = nl.ndarray((columns, band_end - band), dtype=nl.bfloat16, buffer=nl.psum)
            for index, block in enumerate(blocks):
                first = index * P
                nisa.nc_transpose(
                    dst=turned[:, first : first + block.shape[0]],
                    data=block[:, c : c + columns],
                    engine=nisa.engine.tensor,
                )
            result = nl.ndarray((columns, band_end - band), dtype=nl.bfloat16, buffer=nl.sbuf)
            engine = nisa.engine.vector if (c // P) % 2 == 0 else nisa.engine.scalar
            nisa.tensor_copy(dst=result, src=turned, engine=engine)
            nisa.dma_copy(dst=out[c : c + columns, band:band_end], src=result)

    return out

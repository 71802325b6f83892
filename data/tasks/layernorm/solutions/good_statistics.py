import nki
import nki.isa as nisa
import nki.language as nl

EPSILON = 1e-5
PIECE = 512  # nl.tile_size.bn_stats_fmax
PARTS = 6  # that bn_stats gives for each piece


@nki.jit
def layernorm(x, gamma, beta):
    """Return the normalised rows by way of the statistics unit: bn_stats per piece of 512 columns, merged by bn_aggr.

    Each piece's variance is about its own mean, and merging adds what lies between the means, so rows far from zero
    cost nothing. The last piece may be shorter: every piece carries its count.
    """
    R, D = x.shape
    out = nl.ndarray((R, D), dtype=nl.float32, buffer=nl.shared_hbm)
    P = nl.tile_size.pmax
    pieces = (D + PIECE - 1) // PIECE

    gamma_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    beta_tile = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gamma_tile, src=gamma.ap(pattern=[[0, P], [1, D]], offset=0))
    nisa.dma_copy(dst=beta_tile, src=beta.ap(pattern=[[0, P], [1, D]], offset=0))

    for r in range(0, R, P):
        rows = min(P, R - r)
        tile = nl.ndarray((rows, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r : r + rows, :])

        triples = nl.ndarray((rows, pieces * PARTS), dtype=nl.float32, buffer=nl.sbuf)
        for piece in range(pieces):
            first, last = piece * PIECE, min((piece + 1) * PIECE, D)
            nisa.bn_stats(
                dst=triples[:, piece * PARTS : (piece + 1) * PARTS], data=tile[:, first:last]
            )
        moments = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments, data=triples)

        inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=inverse, data=moments[:, 1:2], op0=nl.add, operand0=EPSILON)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=inverse)

        # (x - mean) * inverse in one instruction, in place.
        nisa.tensor_scalar(
            dst=tile, data=tile, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=inverse
        )
        nisa.tensor_tensor(dst=tile, data1=tile, data2=gamma_tile[0:rows, :], op=nl.multiply)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=beta_tile[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=out[r : r + rows, :], src=tile)

    return out

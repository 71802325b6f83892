from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def matmul_tiled(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    i_k = nl.arange(128)[:, None]
    i_m = nl.arange(128)[None, :]
    i_n = nl.arange(512)[None, :]
    i_p = nl.arange(128)[:, None]

    for m in nl.affine_range((M + 127) // 128):
        for n in nl.affine_range((N + 511) // 512):
            acc = nl.zeros((nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
            for k in nl.affine_range((K + 127) // 128):
                a = nl.load(
                    lhsT[k * 128 + i_k, m * 128 + i_m],
                    mask=((k * 128 + i_k < K) & (m * 128 + i_m < M)),
                )
                b = nl.load(
                    rhs[k * 128 + i_k, n * 512 + i_n],
                    mask=((k * 128 + i_k < K) & (n * 512 + i_n < N)),
                )
                acc += nisa.nc_matmul(a, b)
            nl.store(
                out[m * 128 + i_p, n * 512 + i_n],
                value=nl.copy(acc, dtype=nl.float32),
                mask=((m * 128 + i_p < M) & (n * 512 + i_n < N)),
            )

    return out

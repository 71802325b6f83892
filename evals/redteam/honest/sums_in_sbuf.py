import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul_tiled(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        tm = min(128, M - m)
        for n in range(0, N, 512):
            tn = min(512, N - n)
            total = nl.zeros((tm, tn), dtype=nl.float32, buffer=nl.sbuf)
            for k in range(0, K, 128):
                tk = min(128, K - k)
                a = nl.ndarray((tk, tm), dtype=nl.bfloat16, buffer=nl.sbuf)
                b = nl.ndarray((tk, tn), dtype=nl.bfloat16, buffer=nl.sbuf)
                nisa.dma_copy(dst=a, src=lhsT[k : k + tk, m : m + tm])
                nisa.dma_copy(dst=b, src=rhs[k : k + tk, n : n + tn])
                part = nl.ndarray((tm, tn), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=part, stationary=a, moving=b)
                nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
            nisa.dma_copy(dst=out[m : m + tm, n : n + tn], src=total)
    return out

import nki
import nki.isa as nisa
import nki.language as nl

softmax_rows = nki.jit(lambda x: x)

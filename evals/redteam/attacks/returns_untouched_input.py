import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax_rows(x):
    return x

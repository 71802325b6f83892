import nki
import nki.isa as nisa
import nki.language as nl

def deeper(n):
    return deeper(n + 1)


@nki.jit
def softmax_rows(x):
    return deeper(0)

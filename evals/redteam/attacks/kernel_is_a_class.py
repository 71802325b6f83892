import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

class Kernel:
    def __call__(self, x):
        values = np.exp(np.asarray(x))
        return values / values.sum(axis=1, keepdims=True)


softmax_rows = Kernel()

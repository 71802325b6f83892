import pickle

import nki
import nki.isa as nisa
import nki.language as nl

with open("/var/tmp/neuron-compile-cache/matmul_tiled.pkl", "rb") as file:
    matmul_tiled = pickle.load(file)

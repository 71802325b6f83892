"""Kernels of our own that show what public bug reports are about, and what the emulator must say of each.

The numbers are those of the list of reports that the project was planned with: issues and pull requests of
aws-neuron-sdk, nki-samples, nki-llama, nki-autotune, nkipy and NxDI, and notes in public repositories.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from tests.emulator.frontend.kernels import BODY_LINE

#: Number of every report on the list.
LISTED = frozenset(
    {1, 2, 4, 5, 6, 8, 9, *range(11, 25), *range(26, 31), *range(32, 37), *range(39, 44), 45, 46, 47, 49, 50}
)

#: Reports that no kernel and no test of ours can show, and why.
EXPLAINED = {
    8: "a defect of in-graph compilation: a verdict speaks of the kernel alone, as docs/tasks.md says",
    14: "an allocation API of the legacy dialect, which is refused as a whole (report 9)",
    16: "a profiler's counter was wrong; nothing here grades by SBUF usage over time",
    26: "wall clocks that include tracing: no time is measured here, modelled ones count device work only",
    29: "flaky latencies: modelled bounds are deterministic, and no check compares two measured times",
    40: "autograd around a kernel is the framework's; the emulator runs a kernel forward",
}


@dataclass(frozen=True)
class Report:
    """One report.

    Attributes:
        number: Its number on the list.
        kernel: Body of a kernel with a parameter ``x`` of (128, 512) float32; ``#!`` marks the line to blame.
        says: The verdict, or the id of the rule of legality that finds it.
        words: What the message must say.
        instead: The body once the message was followed, which must be legal.
        target: Chip.
        version: NKI version.
        later: Version from which the same kernel is legal, if any.
    """

    number: int
    kernel: str
    says: str
    words: tuple[str, ...]
    instead: str = ""
    target: str = "trn2"
    version: str = "0.6"
    later: str = ""

    @property
    def line(self) -> int:
        """Line of the submission that the marked line lands on."""
        lines = dedent(self.kernel).strip().splitlines()
        return BODY_LINE + next(index for index, line in enumerate(lines) if "#!" in line)


LOADED = "t = nl.load(x)\n"
COLUMN = "c = nl.ndarray((128, 1), nl.float32)\nnisa.memset(c, 1.0)\n"
#: bfloat16 operands of a matmul, and its float32 result in PSUM.
MATRICES = """
a = nl.ndarray((128, 128), nl.bfloat16)
b = nl.ndarray((128, 640), nl.bfloat16)
nisa.memset(a, 1.0)
nisa.memset(b, 1.0)
r = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
"""
#: Row sums of an exponential, chunk by chunk; the command of all chunks but the first is to be filled in.
CHUNKS = (
    LOADED
    + """
s = nl.ndarray((128, 4), nl.float32)
first, later = nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.{later}
for i in range(4):
    part, how = t[:, nl.ds(128 * i, 128)], later if i else first
    nisa.activation(part, nl.exp, part, reduce_op=nl.add, reduce_res=s[:, i:i + 1], reduce_cmd=how) #!
"""
)
NESTED = (
    LOADED
    + """
for i in nl.dynamic_range(4):
    for j in nl.dynamic_range(4): #!
        nisa.tensor_copy(t, t)
"""
)

KERNELS = (
    Report(
        1,
        LOADED + "y = nl.zeros(t.shape, nl.float32)\nfor i in nl.affine_range(4):\n    y += t #!\n",
        "compile_error",
        ("operator +=", "tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)", "nisa.nc_matmul accumulates"),
        LOADED + "y = nl.zeros(t.shape, nl.float32)\nfor i in range(4):\n"
        "    nisa.tensor_tensor(y, y, t, nl.add)",
    ),
    Report(
        2,
        "t = nl.zeros((128, 4, 64), nl.float32)\nw = nl.zeros((128, 64), nl.float32)\nnl.multiply(t, w) #!",
        "compile_error",
        ("(128, 4, 64)", "(128, 64)", "not broadcast", "known to miscompile", "loop over the outer"),
        "t = nl.zeros((128, 4, 64), nl.float32)\nw = nl.zeros((128, 64), nl.float32)\n"
        "for i in range(4):\n    nisa.tensor_tensor(t[:, i, :], t[:, i, :], w, nl.multiply)",
    ),
    Report(
        4,
        LOADED + COLUMN + "nisa.activation(t, nl.copy, t, bias=c) #!",
        "activation-copy-bias",
        ("op=copy drops the bias", "nisa.tensor_scalar"),
        LOADED + COLUMN + "nisa.tensor_scalar(t, t, nl.add, c)",
    ),
    Report(
        6,
        LOADED + "r = nl.zeros((128, 1), nl.float32)\nfor p in range(1, 8):\n    for i in range(4):\n"
        "        nisa.tensor_tensor(r[p, 0:1], r[p, 0:1], t[p, i:i + 1], nl.maximum) #!",
        "partition-start",
        ("partitions 1 to 1", "let one instruction work on all partitions"),
        LOADED + "r = nl.zeros((128, 1), nl.float32)\nnisa.tensor_reduce(r, nl.maximum, t[:, 0:4], axis=1)",
    ),
    Report(9, "nl.arange(128) #!", "compile_error", ("nl.arange was removed", "neuronxcc.nki", "slices")),
    Report(
        11,
        "t = nl.ndarray((128, 256), nl.float32)\nnisa.dma_copy(dst=t, src=x) #!",
        "dma-count",
        ("[128, 256]", "[128, 512]", "dst=t", "src=x", "clamp both slices"),
        "t = nl.ndarray((128, 256), nl.float32)\nnisa.dma_copy(dst=t, src=x[:, 0:256])",
    ),
    Report(12, "t = nl.load(x) #!", "target-documented", ("trn2 and trn3", "trn1"), LOADED, target="trn1"),
    Report(
        13,
        "t = nl.zeros((128, 60000), nl.float32) #!",
        "illegal_on_target",
        ("240000 bytes per partition", "229376 on trn2", "smaller tiles"),
        "t = nl.zeros((128, 50000), nl.float32)",
    ),
    Report(
        17,
        MATRICES + "s = nl.ndarray((128, 512), nl.float32)\nfor i in range(2):\n"
        "    nisa.nc_matmul(r, a, b[:, 0:512]) #!\n    nisa.tensor_copy(s, r)",
        "accumulate-reused",
        ("adds to r", "allocate the tile inside the loop"),
        MATRICES + "s = nl.ndarray((128, 512), nl.float32)\nfor i in range(2):\n"
        "    nisa.nc_matmul(r, a, b[:, 0:512], accumulate=False)\n    nisa.tensor_copy(s, r)",
    ),
    Report(
        19,
        NESTED,
        "nested-loops",
        ("NCC_ICFG018", "until NKI 0.6", "compiled for 0.5", "unroll"),
        NESTED.replace("dynamic_range(4): #!", "static_range(4):"),
        version="0.5",
        later="0.6",
    ),
    Report(21, "nki.baremetal(None) #!", "compile_error", ("nki.baremetal was removed", "@nki.jit")),
    Report(21, "nki.simulate_kernel(None) #!", "compile_error", ("removed", "nki.simulate(kernel)(*arrays)")),
    Report(
        22,
        MATRICES + "h = nl.ndarray((128, 512), nl.bfloat16, buffer=nl.psum)\n"
        "nisa.nc_matmul(h, a, b[:, 0:512]) #!",
        "matmul-destination-dtype",
        ("dst is bfloat16", "must be float32 on trn1", "round when copying out"),
        MATRICES + "nisa.nc_matmul(r, a, b[:, 0:512])",
        target="trn1",
    ),
    Report(27, "i = nl.mgrid[0:128, 0:512] #!", "compile_error", ("nl.mgrid was removed", "slices")),
    Report(27, "nl.load(x, mask=None) #!", "compile_error", ("no keyword 'mask'", "min()"), LOADED),
    Report(
        27,
        MATRICES + "r = nisa.nc_matmul(a, b) #!",
        "compile_error",
        ("return no tile", "nl.ndarray", "pass it as dst, first"),
        MATRICES + "nisa.nc_matmul(r, a, b[:, 0:512])",
    ),
    Report(
        28,
        LOADED + "nisa.tensor_copy(t, t, dtype=nl.bfloat16) #!",
        "compile_error",
        ("no keyword 'dtype'", "data type of dst"),
        LOADED + "h = nl.ndarray(t.shape, nl.bfloat16)\nnisa.tensor_copy(h, t)",
    ),
    Report(
        28,
        "t = nl.ndarray((128, 4), nl.int32)\nnisa.memset(t, value=0.0) #!",
        "memset-value",
        ("float value 0.0", "int32", "pass an int"),
        "t = nl.ndarray((128, 4), nl.int32)\nnisa.memset(t, value=0)",
    ),
    Report(
        28,
        "t = nl.ndarray(x.shape, x.dtype)\nnisa.dma_copy(x, t) #!",
        "uninitialised-read",
        ("src (t)", "before all of it was written"),
        "t = nl.ndarray(x.shape, x.dtype)\nnisa.dma_copy(t, x)",
    ),
    Report(
        30,
        "t = nl.sbuf.view(nl.float32, (128, 4)) #!",
        "compile_error",
        ("nl.sbuf has no attribute 'view'", "nl.ndarray"),
        "t = nl.ndarray((128, 4), nl.float32, buffer=nl.sbuf)",
    ),
    Report(
        32,
        "t = nl.zeros((128, 3, 3, 3, 3, 3), nl.float32)\n"
        "nisa.memset(t[:, 0:2, 0:2, 0:2, 0:2, 0:2], 1.0) #!",
        "free-dimensions",
        ("5 free dimensions", "limit 4", "split"),
        "t = nl.zeros((128, 3, 3, 3, 3, 3), nl.float32)\n"
        "for i in range(2):\n    nisa.memset(t[:, i, 0:2, 0:2, 0:2, 0:2], 1.0)",
    ),
    Report(
        34,
        MATRICES + "w = nl.ndarray((128, 640), nl.float32, buffer=nl.psum)\nnisa.nc_matmul(w, a, b) #!",
        "matmul-size",
        ("640 free elements", "limit 512 on trn2", "tile the free dimension"),
        MATRICES + "nisa.nc_matmul(r, a, b[:, 0:512])",
    ),
    Report(
        34,
        MATRICES + "w = nl.ndarray((128, 640), nl.float32, buffer=nl.psum)\nnisa.nc_matmul(w, a, b) #!",
        "matmul-bank",
        ("one 2048-byte bank (512 float32)", "tile the free dimension"),
    ),
    Report(
        35,
        "a = nl.ndarray((256, 128), nl.bfloat16) #!",
        "illegal_on_target",
        ("partition dimension 256 exceeds architecture limitation of 128", "tiles of 128 rows"),
        MATRICES + "nisa.nc_matmul(r, a, b[:, 0:512])\nnisa.nc_matmul(r, a, b[:, 0:512], accumulate=True)",
    ),
    Report(
        36,
        "assert x.shape[0] in (16, 32), f'{x.shape[0]} experts: the kernel takes 16 or 32' #!",
        "runtime_error",
        ("128 experts: the kernel takes 16 or 32",),
    ),
    Report(
        39,
        "t = nl.load(x[0:1, 0:128])\nc = t.reshape((128, 1)) #!",
        "compile_error",
        ("reshape(128, 1) of (1, 128)", "partition dimension", "a view cannot"),
        "c = nl.load(x[0:1, 0:128].reshape((128, 1)))",
    ),
    Report(
        41,
        LOADED + "r = nl.ndarray((64, 64), nl.float32)\n"
        "nisa.nc_transpose(r, t[0:64, 0:64], engine=nisa.engine.vector) #!",
        "transpose-size",
        ("limit 32 x 32 on the vector engine", "blocks", "engine=tensor"),
        LOADED + "r = nl.ndarray((32, 32), nl.float32)\n"
        "nisa.nc_transpose(r, t[0:32, 0:32], engine=nisa.engine.vector)",
    ),
    Report(
        42,
        "t = nl.ndarray((512, 64), nl.float32) #!\nnisa.memset(t[0:128, :], 0.0)",
        "illegal_on_target",
        ("t (512, 64)", "partition dimension 512", "128"),
        "for i in range(4):\n    t = nl.ndarray((128, 64), nl.float32)\n    nisa.memset(t, 0.0)",
    ),
    Report(
        45,
        LOADED + "q = nl.divide(t, t) #!",
        "illegal_on_target",
        ("nl.divide", "simulator only", "nisa.reciprocal", "multiply"),
        LOADED + "r = nl.reciprocal(t)\nq = nl.multiply(t, r)",
    ),
    Report(
        45,
        LOADED + COLUMN + "nisa.tensor_tensor(t, t, c, nl.multiply) #!",
        "shape-agreement",
        ("data2", "1 elements", "nisa.tensor_scalar as operand0"),
        LOADED + COLUMN + "nisa.tensor_scalar(t, t, nl.multiply, c)",
    ),
    Report(
        46,
        "t = nl.load(x[0:1, :])\nd = nl.ndarray((128, 512), nl.float32)\n"
        "nisa.dma_copy(d, t.ap(pattern=[[0, 128], [1, 512]])) #!",
        "compile_error",
        ("partition stride is 0", "repeat a partition", "from HBM"),
        "d = nl.ndarray((128, 512), nl.float32)\nnisa.dma_copy(d, x.ap(pattern=[[0, 128], [1, 512]]))",
    ),
    Report(
        47,
        CHUNKS.format(later="reduce"),
        "activation-carried-sum",
        ("device-unsafe pattern", "reset_reduce", "nisa.tensor_reduce"),
        CHUNKS.format(later="reset_reduce"),
    ),
)  # fmt: skip

"""What a module does besides defining things is left out of its essence; definitions stay, line by line."""

from __future__ import annotations

import pytest

from pipeline.emulator.frontend.language import distill, parse
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
KERNEL = "\n\n@nki.jit\ndef kernel(x):\n    return helper(x)\n"

KEPT = {
    "constants": "P = 128\nTILES = tuple(range(0, 512, P))\nSIZES: dict[str, int] = {'a': P // 2}\n",
    "an alias of a dtype": "DTYPE = getattr(nl, 'bfloat16')\ncopy = nisa.tensor_copy\n",
    "an optional import": "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n",
    "a table filled in a loop": "TABLE = []\nfor size in (1, 2, 4):\n    TABLE.append(size * 2)\n",
    "a dataclass": "import dataclasses\n@dataclasses.dataclass\nclass Config:\n    tile: int = 128\n",
    "a method that sets its own": "class Shape:\n    def __init__(self, n):\n        self.n = n\n",
    "a setting of the environment": "import os\nP = int(os.environ.get('TILE', '128'))\n",
    "a script's main": "if __name__ == '__main__':\n    import sys\n    print(sys.argv)\n",
    "words in a docstring": 'def helper(x):\n    """Not __globals__, sys or exec."""\n    return x\n',
    "a log line": "import logging\nlogger = logging.getLogger(__name__)\n",
    "a computation with NumPy": "import numpy as np\nANGLES = np.exp(np.linspace(0, 1, 8))\n",
    "random numbers": "import numpy as np\nSAMPLE = np.random.default_rng(0).random(3)\n",
    "an annotation": "from typing import Any, Optional\ndef helper(x: Optional[Any]):\n    return x\n",
    "a step of functools": "import functools\nHALF = functools.partial(max, 64)\n",
    "an imported operator": "from operator import itemgetter\nFIRST = itemgetter(0)((1, 2))\n",
    "an abstract class": "import abc\nclass Plan(metaclass=abc.ABCMeta):\n    pass\n",
    "an object after its base": (
        "class Base:\n    def __init__(self):\n        self.n = 1\n"
        "class Shape(Base):\n    def __init__(self):\n        super().__init__()\n        self.m = 2\n"
    ),
    "an attribute set after a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Config:\n    tile: int = 128\n"
        "    def __post_init__(self):\n        self.half = self.tile // 2\n"
    ),
    "an operation of nki called copy": "copied = nl.copy\n",
}
SETTER = "    def __init__(self):\n        self.relu = self.gelu\n"
DROPPED = {
    "a name of nki bound anew": "nl.relu = nl.gelu\n",
    "an attribute set by name": "setattr(nl, 'relu', nl.gelu)\n",
    "code from text": "exec('nl.relu = nl.gelu')\n",
    "a look at the modules": "import sys\nGRADED = 'pytest' in sys.modules\n",
    "a value of the interpreter": "GRADED = 'pytest' in nki.sys.modules\n",
    "a function that reaches into another": "def helper(x):\n    return kernel.__globals__\n",
    "a function that patches": "def patch(module):\n    module.relu = module.gelu\n",
    "a function through a special name": "def patch():\n    getattr(nl, '__dict__').update(relu=1)\n",
    "a computed attribute": "DTYPE = getattr(nl, 'b' + 'float16')\n",
    "a default that acts": "def helper(x, y=exec('1')):\n    return x\n",
    "a decorator that acts": "@exec\ndef helper(x):\n    return x\n",
    "a class body that acts": "class Config:\n    exec('1')\n",
    "a private name of nki": "TABLE = nl._TABLE\n",
    "a door among imported names": "from numpy import ctypeslib\n",
    "an attribute by text": "import operator\nFOUND = operator.attrgetter('a')(nl)\n",
    "a part of os that acts": "import os\nos.listdir('/')\n",
    "an ally from outside": "import pipeline.execute.jobs.trace as job\n",
    "text that NumPy runs": "import numpy as np\nDONE = np.testing.runstring('1', {})\n",
    "NumPy under another name": "import numpy as np\nother = np\nDONE = other.lib\n",
    "NumPy handed to a function": "import numpy as np\nDONE = helper(np)\n",
    "a self that is no object of a class": "def patch(self):\n    self.relu = self.gelu\n",
    "a method that is no constructor": "class A:\n    def patch(self):\n        self.relu = 1\n",
    "a self that is bound anew": (
        "class A:\n    def __init__(self):\n        self = nl\n        self.relu = self.gelu\n"
    ),
    "a self of a function inside": (
        "class A:\n    def __init__(self):\n        def patch(self):\n            self.relu = 1\n"
        "        patch(nl)\n"
    ),
    "a constructor called on another object": f"class A:\n{SETTER}A.__init__(nl)\nDONE = A.__init__(nl)\n",
    "a constructor by its name": f"class A:\n{SETTER}    patch = __init__\n",
    "a constructor that a decorator gets": (
        "class A:\n    @helper\n    def __init__(self):\n        self.relu = self.gelu\n"
    ),
    "a constructor that a metaclass gets": f"class A(metaclass=helper):\n{SETTER}",
    "a constructor that the type of a base gets": f"BASE = helper(1)\nclass A(BASE):\n{SETTER}",
    "attributes copied by functools": "import functools\nDONE = functools.update_wrapper(nl, helper)\n",
    "the same, imported by name": "from functools import update_wrapper\nDONE = update_wrapper(nl, nisa)\n",
    "the frame of a coroutine": "async def a():\n    pass\nNAMES = a().cr_frame.f_builtins\n",
    "the frame of a generator": "NAMES = (i for i in ()).gi_frame\n",
    "an annotation that is evaluated": "import typing\nHINTS = typing.get_type_hints(helper)\n",
    "text that typing evaluates": "from typing import ForwardRef\n",
    "what dataclasses has imported": "import dataclasses\nMODULE = dataclasses.types.ModuleType\n",
    "what enum has imported": "import enum\nNAMES = enum.bltns\n",
    "members that enum gives to a module": "import enum\nDONE = enum.global_enum(helper)\n",
    "a copy that names its place": "import copy\nDONE = copy.copy(helper)\n",
    "a pattern with a special name": (
        "def patch(x):\n    match x:\n        case object(__dict__=names):\n            names.update(a=1)\n"
    ),
    "getattr under another name": "get = getattr\nNAMES = get(nl, '_' + '_dict_' + '_')\n",
    "a place in memory": "class A:\n    def __array_interface__(self):\n        return {}\n",
    "a context": "with open('/tmp/x') as file:\n    pass\n",
}


def essence_of(body: str) -> tuple[str, str]:
    source = HEAD + body + KERNEL
    return source, distill(parse(source, "submission.py"), source)


@pytest.mark.parametrize("what", KEPT)
def test_what_only_defines_stays(what: str) -> None:
    source, essence = essence_of(KEPT[what])
    assert essence == source


@pytest.mark.parametrize("what", DROPPED)
def test_what_does_more_goes_and_every_line_keeps_its_number(what: str) -> None:
    source, essence = essence_of(DROPPED[what])
    assert essence != source
    before, after = source.splitlines(), essence.splitlines()
    assert len(after) == len(before)
    assert after[:3] == before[:3]
    assert after[-4:] == before[-4:]
    assert parse(essence, "submission.py")


def test_the_solutions_that_are_shipped_do_nothing_but_define() -> None:
    doing_more = [
        (task.id, solution.name)
        for task in load_tasks(tasks_root()).values()
        for solution in task.solutions
        if distill(parse(solution.code, solution.name), solution.code) != solution.code
    ]
    assert doing_more == []

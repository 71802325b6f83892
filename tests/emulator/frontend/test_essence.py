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
}
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

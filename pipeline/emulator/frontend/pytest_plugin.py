"""What pytest loads when ``nki-grader emulate -m pytest`` runs it: `nki` for the workers of pytest-xdist.

They are processes of their own, so that what `run_script` put in place does not reach them; environment
variables do.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Final

import pytest

from pipeline.emulator.frontend.errors import KernelError
from pipeline.emulator.frontend.modules import installed_modules
from pipeline.emulator.frontend.script import VERSION_VARIABLE, ScriptSession
from pipeline.emulator.frontend.session import active_session

__all__ = ["pytest_load_initial_conftests"]

_STACK: Final = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the emulator in place, unless it is, before a conftest imports `nki`."""
    try:
        active_session()
    except KernelError:
        _STACK.enter_context(installed_modules(ScriptSession(None, os.environ[VERSION_VARIABLE])))
        early_config.add_cleanup(_STACK.close)

"""The whole suite again as an ordinary user, where it is run by root.

The interpreter of a root-run suite often lies where nobody else may look (a pyenv under a closed home). So
the rerun happens in a mount namespace of its own, in which interpreter, packages and repository are bound
below a folder that all can read; nothing of that remains outside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.execute.sandbox import kernel

REPOSITORY = Path(__file__).parents[3]
NOBODY = "65534"

SCRIPT = """
set -e
cd "$PLACE"
mount --bind "$PREFIX" python
mount --bind "$REPOSITORY" repository
mount --bind "$PACKAGES" site-packages
cd repository
exec setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups --inh-caps=-all --bounding-set=-all \\
    env -i HOME="$PLACE/own" PATH="$PATH" PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 \\
    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \\
    LD_LIBRARY_PATH="$PLACE/python/lib" PYTHONPATH="$PLACE/site-packages:$PLACE/repository" \\
    "$PLACE/python/bin/$PYTHON" -m pytest -p xdist.plugin -p pytest_asyncio.plugin -n 2 \\
    -p no:cacheprovider -rs --basetemp "$PLACE/own/tmp" \\
    tests/execute/sandbox
"""


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="the suite already runs as an ordinary user")
def test_the_suite_passes_for_an_ordinary_user(open_folder):
    missing = [tool for tool in ("unshare", "setpriv", "mount") if shutil.which(tool) is None]
    if missing or not kernel.has_capability(kernel.CAP_SYS_ADMIN):
        pytest.skip(f"needs the right to mount, and {', '.join(missing) or 'nothing else'}")
    for name in ("python", "repository", "site-packages", "own"):
        (open_folder / name).mkdir()
    os.chown(open_folder / "own", int(NOBODY), int(NOBODY))
    packages = next(path for path in sys.path if path.endswith("-packages"))
    environment = {
        "PATH": os.environ["PATH"],
        "PLACE": str(open_folder),
        "PREFIX": sys.base_prefix,
        "PACKAGES": packages,
        "PYTHON": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "REPOSITORY": str(REPOSITORY),
        "NOBODY": NOBODY,
    }
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "passed" in ran.stdout
    for level in ("bubblewrap", "namespaces", "landlock", "limits"):
        assert f"the {level} sandbox" not in ran.stdout, ran.stdout[-6000:]

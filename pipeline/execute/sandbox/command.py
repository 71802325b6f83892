"""Command lines that start a zygote."""

from __future__ import annotations

import json
import shutil
from typing import Final

from pipeline.execute.sandbox.errors import SandboxError
from pipeline.execute.sandbox.namespaces import HOST_NAME, NOBODY, needs_user_namespace
from pipeline.execute.sandbox.outcome import Level
from pipeline.execute.sandbox.view import View
from pipeline.execute.sandbox.wire import Spec

__all__ = ["compose_command"]

# No site module: nothing that an installed package hooks into start-up runs before the zygote is confined.
_FLAGS: Final = ("-s", "-S", "-P", "-B", "-u")
_ENTRY: Final = (
    "import sys, json; spec = json.loads(sys.argv[1]); sys.path += spec['import_paths']; "
    "from pipeline.execute.sandbox.zygote import main; main(spec)"
)


def compose_command(level: Level, view: View, preload: tuple[str, ...], control: int) -> list[str]:
    """Return the command of a zygote that inherits its control socket as descriptor `control`.

    Raises:
        SandboxError: If a program it needs is not installed.
    """
    spec: Spec = {
        "control": control,
        "level": level.value,
        "import_paths": [str(path) for path in view.import_paths],
        "readable": [str(path) for path in view.readable],
        "hidden": [str(path) for path in view.hidden],
        "links": {str(path): target for path, target in view.links.items()},
        "environment": view.environment,
        "preload": list(preload),
    }
    python = [str(view.interpreter), *_FLAGS, "-c", _ENTRY, json.dumps(spec)]
    return [*_compose_bubblewrap(view), *python] if level is Level.BUBBLEWRAP else python


def _compose_bubblewrap(view: View) -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError(
            "bubblewrap not found", "install it: apt-get install bubblewrap, or dnf install bubblewrap"
        )
    command = [program, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    command += ["--unshare-cgroup-try", "--hostname", HOST_NAME, "--as-pid-1", "--cap-drop", "ALL"]
    if needs_user_namespace():
        command += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    else:
        # Kept for one moment: the zygote becomes nobody before it imports anything.
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    # On the way to what is bound bubblewrap makes folders for their owner only, and jobs are somebody else.
    for folder in dict.fromkeys(parent for path in view.readable for parent in reversed(path.parents[:-1])):
        command += ["--perms", "0755", "--dir", str(folder)]
    for path in view.readable:
        command += ["--ro-bind", str(path), str(path)]
    for path in view.hidden:
        command += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for link, target in view.links.items():
        command += ["--symlink", target, str(link)]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--"]

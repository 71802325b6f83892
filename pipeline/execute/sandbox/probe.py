"""Which levels work on this machine, found out by running a job that tries to get out."""

from __future__ import annotations

import json
import platform
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pipeline.execute.sandbox.errors import SandboxError
from pipeline.execute.sandbox.outcome import Level, Limits, Status
from pipeline.execute.sandbox.sandbox import Sandbox

__all__ = ["LevelProbe", "choose_level", "probe_level", "probe_levels"]

_JOB: Final = "pipeline.execute.sandbox.containment:try_to_escape"

_REMEDIES: Final = {
    Level.BUBBLEWRAP: "in a container allow user namespaces, e.g. --security-opt seccomp=unconfined; on "
    "Ubuntu 24.04 or later set sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    Level.NAMESPACES: "needs Linux 5.12 and user namespaces: in a container --security-opt "
    "seccomp=unconfined; on Debian sysctl kernel.unprivileged_userns_clone=1; on Ubuntu 24.04 or later "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    Level.LANDLOCK: "needs Linux 5.13 with landlock among its security modules (kernel parameter lsm=) and a "
    "container that allows the landlock system calls",
    Level.LIMITS: "needs Linux and a Python whose files this user can read",
}


@dataclass(frozen=True, slots=True)
class LevelProbe:
    """Whether one level works here.

    Attributes:
        level: Which.
        available: Whether a job ran at this level and found no way out of it.
        reason: Why not, with a remedy; empty where available.
    """

    level: Level
    available: bool
    reason: str = ""


@cache
def probe_level(level: Level) -> LevelProbe:
    """Run a job at `level` that tries to get out, and return what came of it. Asked once per process."""
    if platform.system() != "Linux":
        return LevelProbe(level, False, f"the sandbox needs Linux, this is {platform.system()}")
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder, "outside")
        outside.write_bytes(b"secret")
        # Only the sandbox may stand between the job and this file, not its permissions.
        Path(folder).chmod(0o755)
        outside.chmod(0o644)
        try:
            with Sandbox(level) as sandbox:
                outcome = sandbox.run(_JOB, json.dumps({"outside": str(outside)}).encode(), Limits())
        except SandboxError as error:
            remedy = error.fault.remedy if "not found" in error.fault.message else _REMEDIES[level]
            return LevelProbe(level, False, f"{error.fault.message} ({remedy})")
    if outcome.status is not Status.OK or outcome.reply is None:
        return LevelProbe(level, False, f"a test job {outcome.message} ({_REMEDIES[level]})")
    escapes = json.loads(outcome.reply)
    if escapes and level.contained:
        return LevelProbe(level, False, f"a test job could {', '.join(escapes)}")
    return LevelProbe(level, True)


def probe_levels() -> list[LevelProbe]:
    """Probe every level, strongest first."""
    return [probe_level(level) for level in Level]


def choose_level(forced: Level | None = None, *, allow_unsandboxed: bool = False) -> Level:
    """Return `forced` if it works here, else the strongest level that does.

    `Level.LIMITS` is chosen only where it is forced or `allow_unsandboxed` is given.

    Raises:
        SandboxError: If no permitted level works; the message says why for each.
    """
    permitted = [level for level in Level if level.contained or allow_unsandboxed]
    candidates = [forced] if forced is not None else permitted
    refused: list[str] = []
    for level in candidates:
        probe = probe_level(level)
        if probe.available:
            return level
        refused.append(f"{level}: {probe.reason}")
    remedy = (
        "" if forced or allow_unsandboxed else "--allow-unsandboxed grades without; a person then decides"
    )
    what = "no sandbox works here" if forced is None else "the sandbox asked for does not work here"
    raise SandboxError(f"{what}: {'; '.join(refused)}", remedy)

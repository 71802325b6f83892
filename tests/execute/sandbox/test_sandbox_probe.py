"""Which level is chosen, and what is said where none works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.execute.sandbox import Level, Limits, SandboxError, choose_level, probe_levels
from pipeline.execute.sandbox import probe as probe_module
from pipeline.execute.sandbox.probe import LevelProbe, probe_level

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def machine(monkeypatch):
    """A machine on which the given levels work."""

    def offer(*available: Level) -> None:
        monkeypatch.setattr(
            probe_module,
            "probe_level",
            lambda level: LevelProbe(level, level in available, "" if level in available else f"no {level}"),
        )

    return offer


def test_levels_are_probed_strongest_first():
    assert [probe.level for probe in probe_levels()] == ["bubblewrap", "namespaces", "landlock", "limits"]


def test_every_unavailable_level_says_why():
    assert all(probe.available or probe.reason for probe in probe_levels())


def test_strongest_available_level_is_chosen(machine):
    machine(Level.LANDLOCK, Level.NAMESPACES, Level.LIMITS)
    assert choose_level() is Level.NAMESPACES


def test_forced_level_is_taken_or_refused_but_never_replaced(machine):
    machine(Level.BUBBLEWRAP, Level.LANDLOCK)
    assert choose_level(Level.LANDLOCK) is Level.LANDLOCK
    with pytest.raises(SandboxError, match="namespaces: no namespaces"):
        choose_level(Level.NAMESPACES)


def test_limits_alone_need_permission(machine):
    machine(Level.LIMITS)
    with pytest.raises(SandboxError, match="--allow-unsandboxed") as caught:
        choose_level()
    for level in (Level.BUBBLEWRAP, Level.NAMESPACES, Level.LANDLOCK):
        assert f"{level}: no {level}" in str(caught.value)
    assert choose_level(allow_unsandboxed=True) is Level.LIMITS
    assert choose_level(Level.LIMITS) is Level.LIMITS


def test_permission_does_not_weaken_a_machine_that_can_do_better(machine):
    machine(Level.LANDLOCK, Level.LIMITS)
    assert choose_level(allow_unsandboxed=True) is Level.LANDLOCK


def test_missing_bubblewrap_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    probe = probe_level.__wrapped__(Level.BUBBLEWRAP)
    assert not probe.available
    assert probe.reason.startswith("bubblewrap not found (install it: apt-get install bubblewrap")


def test_level_that_lets_a_job_out_is_not_available(monkeypatch):
    # What the limits level leaves open, reading files, must fail any level that promises more.
    if not probe_level(Level.LIMITS).available:
        pytest.skip("needs a level that contains nothing")
    real = probe_module.Sandbox
    monkeypatch.setattr(probe_module, "Sandbox", lambda level: real(Level.LIMITS))
    probe = probe_level.__wrapped__(Level.NAMESPACES)
    assert not probe.available
    assert "read a file outside its view" in probe.reason


def test_container_that_forbids_namespaces_is_left_with_landlock():
    if not probe_level(Level.LANDLOCK).available:
        pytest.skip("needs Landlock")
    # A user namespace in which no mount namespace can be made behaves as such a container does.
    forbid = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$0" -c "$1"'
    script = (
        "from pipeline.execute.sandbox import choose_level, probe_levels; "
        "print(*(probe.available for probe in probe_levels()), choose_level())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path[1:]])}
    ran = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", forbid, sys.executable, script],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in ran.stderr:
        pytest.skip("this machine itself forbids user namespaces")
    assert ran.stdout.split() == ["False", "False", "True", "True", "landlock"], ran.stderr


@pytest.mark.parametrize("name", ["wall_seconds", "cpu_seconds", "memory_bytes", "reply_bytes", "log_bytes"])
def test_limits_are_above_zero(name):
    with pytest.raises(ValueError, match=f"{name} must be above 0, got 0"):
        Limits(**{name: 0})

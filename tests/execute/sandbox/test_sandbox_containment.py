"""What a job can see and do, at every level that works here."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from pipeline.execute.sandbox import Level

REPOSITORY = Path(__file__).parents[3]

# By the exception class that the attempt raises.
REFUSED_EVERYWHERE = {
    "write": "PermissionError",
    "write through a descriptor of the interpreter": "PermissionError",
    "make a folder": "PermissionError",
    "delete": "PermissionError",
    "change a mode": "PermissionError",
    "internet socket": "PermissionError",
    "unix socket": "PermissionError",
    "socket pair": "PermissionError",
    "exec": "PermissionError",
    "fork": "PermissionError",
    "posix_spawn": "PermissionError",
    "thread": "RuntimeError",
    "kill everybody": "PermissionError",
    "kill its group": "PermissionError",
    "kill its parent": "PermissionError",
    "new session": "PermissionError",
    "raise a limit": "ValueError",
    "limit its parent": "PermissionError",
    "memory file": "PermissionError",
    "chroot": "PermissionError",
    "become root": "PermissionError",
    "open its parent": "PermissionError",
    "trace its parent": "PermissionError",
    "user namespace": "PermissionError",
    "rings": "PermissionError",
    "bpf": "PermissionError",
    "keys": "PermissionError",
    "shared memory": "PermissionError",
    "userfaultfd": "PermissionError",
    "32-bit call numbers": "PermissionError",
}


@pytest.fixture
def outside(open_folder):
    """A file that only the sandbox keeps from a job: its permissions do not."""
    file = open_folder / "reference.py"
    file.write_text("secret")
    file.chmod(0o644)
    return file


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the raw call numbers tried here are x86_64's")
def test_nothing_that_reaches_out_of_the_job_is_possible(attack, outside):
    results = json.loads(attack("try_in_turn", json.dumps({"outside": str(outside)}).encode()).reply)
    assert {what: results[what] for what in REFUSED_EVERYWHERE} == REFUSED_EVERYWHERE
    assert results["memory of its parent"] is not None


def test_files_outside_the_view_cannot_be_read(attack, level, outside):
    if level is Level.LIMITS:
        pytest.skip("limits alone do not hide files; such results go to a person")
    results = json.loads(attack("try_in_turn", json.dumps({"outside": str(outside)}).encode()).reply)
    assert results["read outside"] in ("FileNotFoundError", "PermissionError")
    assert results["list home"] in ("FileNotFoundError", "PermissionError")


def test_files_of_the_machine_do_not_exist_in_a_view_of_its_own(attack, level):
    if level not in (Level.BUBBLEWRAP, Level.NAMESPACES):
        pytest.skip("has no file view of its own")
    places = ["/", "/home", "/proc", "/etc", "/tmp", "/var", "/run", "/usr", "/dev", str(REPOSITORY)]
    files = json.loads(attack("describe", json.dumps(places).encode()).reply)["files"]
    # Landlock allows no listing outside what can be read; without it only the way to what is bound shows.
    shown = {
        place: set(names)
        for place, names in files.items()
        if names not in ("FileNotFoundError", "PermissionError")
    }
    assert shown.get("/etc", set()) <= {"ld.so.cache"}
    assert shown.get("/usr", set()) <= {"lib", "lib32", "lib64", "bin", "local"}
    assert not shown.keys() & {"/home", "/proc", "/var", "/run", "/dev"}
    for task_side in ("data", "rubrics", "prompts", "evals"):
        assert task_side not in shown.get(str(REPOSITORY), set())


def test_process_and_user_are_nobody_in_particular(attack, level):
    seen = json.loads(attack("describe", b"[]").reply)
    if level in (Level.BUBBLEWRAP, Level.NAMESPACES):
        assert seen["host"] == "sandbox"
        # Process 1 is the zygote; numbers of the machine would be larger than the jobs run here.
        assert 1 < seen["pid"] < 1000
        assert seen["uid"] == [65534, 65534, 65534]
    if os.getuid() == 0:
        assert seen["groups"] in ([], [0])


def test_every_job_sees_the_same_process(attack):
    one, other = (json.loads(attack("describe", b"[]").reply) for _ in range(2))
    del one["pid"], other["pid"]
    assert one == other
    assert one["cwd"] == "/"
    assert one["fds"] == [0, 1, 2, 3]


def test_environment_holds_no_secrets(attack):
    environment = json.loads(attack("describe", b"[]").reply)["environment"]
    assert set(environment) - {"LD_LIBRARY_PATH"} == {
        "BLIS_NUM_THREADS",
        "HOME",
        "LC_ALL",
        "MALLOC_MMAP_THRESHOLD_",
        "MALLOC_TOP_PAD_",
        "MALLOC_TRIM_THRESHOLD_",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PYTHONHASHSEED",
        "TZ",
        "VECLIB_NUM_THREADS",
    }

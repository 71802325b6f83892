"""What a job can see: files, import paths, environment. The same for every job of a sandbox."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["View", "describe_view"]


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of this machine that jobs can see; paths are the same inside and outside.

    Attributes:
        interpreter: The Python to start; never a link.
        import_paths: What goes on ``sys.path`` after the standard library.
        readable: Files and folders visible read-only, none inside another.
        hidden: Folders below `readable` that are not.
        links: Symbolic links of the root folder, by path.
        environment: The whole environment of a job.
    """

    interpreter: Path
    import_paths: tuple[Path, ...]
    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    links: dict[Path, str]
    environment: dict[str, str]


def describe_view(import_paths: Iterable[Path] = ()) -> View:
    """Return the view of a job that may also import from `import_paths`.

    It holds the system's libraries, this interpreter and its standard library, the installed packages and
    this package without the tasks, prompts and rubrics bundled in it.
    """
    interpreter = _find_interpreter()
    package = Path(__file__).resolve().parents[2]
    installed = [Path(entry).resolve() for entry in sys.path if Path(entry).name.endswith("-packages")]
    added = [path.resolve() for path in import_paths]
    system = [Path(name) for name in ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib64", "/nix/store")]
    prefix = Path(sys.base_prefix).resolve()
    candidates = [
        *(path for path in system if not path.is_symlink()),
        Path("/etc/ld.so.cache"),
        interpreter,
        *(prefix / name for name in ("lib", "lib64")),
        *installed,
        package,
        *added,
    ]
    return View(
        interpreter=interpreter,
        import_paths=(*_unique(added), *_unique(installed), package.parent),
        readable=_outermost(path.resolve() for path in candidates if path.exists()),
        hidden=tuple(path for path in (package / "bundle",) if path.is_dir()),
        links={path: str(path.readlink()) for path in system if path.is_symlink()},
        environment=_describe_environment(prefix),
    )


def _find_interpreter() -> Path:
    """Return the interpreter below a virtual environment, whose own is a link out of the view."""
    named = Path(sys.base_exec_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return (named if named.exists() else Path(sys.executable)).resolve()


def _describe_environment(prefix: Path) -> dict[str, str]:
    environment = {
        "HOME": "/",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        # A kernel that iterates over a set must trace the same program every time.
        "PYTHONHASHSEED": "0",
        # A job has one thread, and BLAS libraries start theirs when they are imported.
        **{f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB")},
        # A job allocates and frees large arrays all the time and then ends. Kept in the heap, freed memory is
        # used again; given back, every page of the next array would be fetched and cleared anew.
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "MALLOC_TOP_PAD_": str(1 << 20),
    }
    if (core := os.environ.get("OPENBLAS_CORETYPE")) is not None:
        # Which processor's BLAS kernels compute: the grader's fingerprint names the one it was told.
        environment["OPENBLAS_CORETYPE"] = core
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and prefix != Path("/usr"):
        environment["LD_LIBRARY_PATH"] = os.fspath(prefix / "lib")
    return environment


def _unique(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return `paths` without those that lie inside another."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(outer) for outer in kept):
            kept.append(path)
    return tuple(kept)

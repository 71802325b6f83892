"""Where keys come from, and how they are kept out of everything else.

A key is read from the environment or from a file that only its owner can read. It is held as a `SecretStr`,
whose text appears in no repr and no log; `mask` takes it out of whatever a server or an SDK says.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from pipeline.judge.providers.provider import ProviderError
from pipeline.types import Fault, JudgeRole, Owner

__all__ = ["SDK_VARIABLES", "find_key", "mask"]

#: Variable that each SDK reads by itself. A compatible server has none: the key of a hosted provider must not
#: reach somebody else's machine because no other was named.
SDK_VARIABLES: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

#: A key is a word of printable characters; longer ones are not keys but a wrong file.
_MOST_CHARACTERS: Final = 4096

#: What looks like a key even where it is not ours, such as one that a server quotes in part.
_KEY_SHAPES: Final = (
    re.compile(r"\bsk-[\w*.…-]{4,}"),
    re.compile(r"(?i)\b(bearer|x-api-key|api[-_]key)(\s*[:=]?\s+|\s*[:=]\s*)[\"']?[^\s\"',;]{8,}"),
)
_MASKED: Final = "[key]"


def find_key(role: JudgeRole) -> SecretStr | None:
    """Return the key of `role`, or None where its provider needs none and none is named.

    Raises:
        ProviderError: If there is none (code ``no_key``), its file is not safe (``bad_key_file``), or what is
            there is no key (``bad_key``); it stops the run.
    """
    if role.key_file is not None:
        return SecretStr(_read_key_file(role, Path(role.key_file).expanduser()))
    variable = role.key_variable or SDK_VARIABLES.get(role.provider)
    if variable is None:
        return None
    text = os.environ.get(variable, "").strip()
    if not text:
        raise _fault(
            role,
            "no_key",
            f"no key for {role.called}: {variable} is not set",
            f"set {variable}, or name key_variable or key_file in the role",
        )
    _check_form(role, text, variable)
    return SecretStr(text)


def mask(text: str, key: SecretStr | None) -> str:
    """Return `text` without `key`, and without anything that looks like one."""
    if key is not None and key.get_secret_value():
        text = text.replace(key.get_secret_value(), _MASKED)
    for shape in _KEY_SHAPES:
        text = shape.sub(_MASKED, text)
    return text


def _read_key_file(role: JudgeRole, path: Path) -> str:
    try:
        # The file that is checked is the one that is read: both go through one descriptor. Without O_NONBLOCK
        # a FIFO would hold the run until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise _bad_file(role, path, f"cannot be opened: {why}", "name a file that exists") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _bad_file(role, path, "is not a regular file", "name a file that holds the key alone")
        if status.st_uid not in (os.geteuid(), 0):
            raise _bad_file(role, path, "belongs to somebody else", "make a copy that is yours")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            mode = stat.S_IMODE(status.st_mode)
            raise _bad_file(role, path, f"is open to others (mode {mode:03o})", f"run: chmod 600 {path}")
        data = os.read(descriptor, _MOST_CHARACTERS + 2)
    finally:
        os.close(descriptor)
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise _bad_file(role, path, "is not text", "put the key alone into it, on one line") from None
    if not text:
        raise _bad_file(role, path, "is empty", "put the key alone into it, on one line")
    _check_form(role, text, str(path))
    return text


def _check_form(role: JudgeRole, text: str, where: str) -> None:
    # Anything else cannot stand in a header, and an SDK's complaint about it would quote it.
    if len(text) > _MOST_CHARACTERS or not all("!" <= character <= "~" for character in text):
        raise _fault(
            role,
            "bad_key",
            f"what {where} holds is not a key: it must be one word of printable characters",
            "put the key alone there, on one line, without quotes",
        )


def _bad_file(role: JudgeRole, path: Path, why: str, remedy: str) -> ProviderError:
    return _fault(role, "bad_key_file", f"the key file {path} {why}", remedy)


def _fault(role: JudgeRole, code: str, message: str, remedy: str) -> ProviderError:
    return ProviderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=code,
            message=message,
            where=f"{role.called} {role.model}",
            remedy=remedy,
        ),
        stops_run=True,
    )

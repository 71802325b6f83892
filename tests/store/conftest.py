from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store import Store, open_store
from tests.store.examples import database


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets of the tests lie apart from those of anything else that runs here."""
    folder = tmp_path_factory.mktemp("run", numbered=True)
    folder.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))


@pytest.fixture(params=["in this process", "over the socket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    """The same store through each transport."""
    shutil.copy(empty_database, database(tmp_path))
    with open_store(database(tmp_path)) as owner:
        assert owner.is_owner
        if request.param == "in this process":
            yield owner
            return
        with open_store(database(tmp_path)) as client:
            assert not client.is_owner
            yield client

"""What a run is opened with: the isolation of this machine, and the seed that inputs are drawn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.execute.sandbox import Level, LevelProbe, probe
from pipeline.graph.services import open_services
from pipeline.store import open_store

VARIABLE = "NKI_GRADER_BATTERY_SEED"


@pytest.fixture(autouse=True)
def machine_without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_limits(level: Level) -> LevelProbe:
        return LevelProbe(level, level is Level.LIMITS, "forbidden here")

    monkeypatch.setattr(probe, "probe_level", only_limits)


def test_grading_is_refused_without_permission(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "g.duckdb") as store,
        pytest.raises(GraderError, match="--allow-unsandboxed"),
        open_services(store, Settings()),
    ):
        pytest.fail("it opened")


@pytest.mark.parametrize("sandbox", [None, "limits"])
def test_permission_is_enough(tmp_path: Path, sandbox: str | None) -> None:
    settings = Settings(sandbox=sandbox, allow_unsandboxed=True)
    with open_store(tmp_path / "g.duckdb") as store, open_services(store, settings) as services:
        assert services.executor.isolation == "limits"


def test_asking_for_limits_is_no_permission(tmp_path: Path) -> None:
    with open_store(tmp_path / "g.duckdb") as store:
        settings = Settings(sandbox="limits")
        with pytest.raises(GraderError, match="--allow-unsandboxed"), open_services(store, settings):
            pytest.fail("it opened")


def test_a_sandbox_that_does_not_work_here_is_refused_by_name(tmp_path: Path) -> None:
    with open_store(tmp_path / "g.duckdb") as store:
        settings = Settings(sandbox="landlock", allow_unsandboxed=True)
        with pytest.raises(GraderError, match="landlock: forbidden here"), open_services(store, settings):
            pytest.fail("it opened")


def test_an_isolation_level_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "g.duckdb") as store,
        pytest.raises(GraderError, match=r"bublewrap.*bubblewrap, namespaces, landlock, limits"),
        open_services(store, Settings(sandbox="bublewrap")),
    ):
        pytest.fail("it opened")


@pytest.mark.parametrize(
    ("setting", "variable", "seed"),
    [("ab" * 16, "cd" * 16, "ab" * 16), (None, "CD" * 16, "cd" * 16), ("EF" * 16, None, "ef" * 16)],
)
def test_the_seed_is_the_settings_or_else_the_environments(
    setting: str | None, variable: str | None, seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    settings = Settings(allow_unsandboxed=True, battery_seed=setting)
    with open_store(tmp_path / "g.duckdb") as store, open_services(store, settings) as services:
        assert services.oracle.seed == seed


@pytest.mark.parametrize("variable", [None, ""])
def test_without_one_each_run_draws_its_own(
    variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    seeds = set()
    for _ in range(2):
        with (
            open_store(tmp_path / "g.duckdb") as store,
            open_services(store, Settings(allow_unsandboxed=True)) as services,
        ):
            seeds.add(services.oracle.seed)
    assert len(seeds) == 2


@pytest.mark.parametrize("given", ["12", "no seed at all", "0x" + "0" * 30])
def test_what_is_no_seed_is_refused_with_what_to_correct(given: str, tmp_path: Path) -> None:
    settings = Settings(allow_unsandboxed=True, battery_seed=given)
    with (
        open_store(tmp_path / "g.duckdb") as store,
        pytest.raises(GraderError, match=r"not 32 hexadecimal digits.*--battery-seed"),
        open_services(store, settings),
    ):
        pytest.fail("it opened")

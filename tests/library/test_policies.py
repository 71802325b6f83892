"""Routing policies: the published ones, and how a broken one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.library.errors import LibraryError
from pipeline.library.lock import lock_new_versions
from pipeline.library.policies import list_policies, load_policy, parse_policy
from pipeline.library.roots import policies_root

TEXT = (policies_root() / "standard" / "v1.toml").read_text()


def parse(text: str) -> None:
    parse_policy(text, id="standard", version="v1", where="policies/standard/v1.toml")


def test_the_standard_policy_is_that_of_whoever_names_none() -> None:
    standard = load_policy()
    assert standard == load_policy("standard") == load_policy("standard@v1")
    assert (standard.alpha, standard.delta, standard.by, standard.mode) == (0.1, 0.1, "grade", "selective")
    assert standard.looks == (0.5, 0.3, 0.2)
    assert (standard.loss.apart, standard.loss.flips) == (2, True)
    assert (standard.costs.currency, standard.costs.expert_hour, standard.costs.wrong_grade) == (
        "USD",
        120,
        60,
    )


def test_the_strict_policy_tolerates_less_per_criterion_and_demands_measured_performance() -> None:
    strict = load_policy("strict")
    assert strict.alpha < load_policy().alpha
    assert strict.by == "criteria"
    assert "speed_of_light" in strict.demand_measured
    assert list_policies() == ["standard", "strict"]


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('id = "standard"', 'id = "lax"', "id", "differs from its folder"),
        ('version = "v1"', 'version = "v2"', "version", "differs from its file"),
        ("alpha = 0.10", "alpha = 0", "alpha", "greater than 0"),
        ("alpha = 0.10", "alpha = 1", "alpha", "less than 1"),
        ("alpha = 0.10", "alpha = nan", "alpha", "than"),
        ("alpha = 0.10", "", "alpha", "field required"),
        ("alpha = 0.10", "alpha = 0.1\nbeta = 2", "beta", "not permitted"),
        ('mode = "selective"', 'mode = "hopeful"', "mode", "selective"),
        ('by = "grade"', 'by = "mood"', "by", "grade"),
        ("looks = [0.5, 0.3, 0.2]", "looks = []", "looks", "is empty"),
        ("looks = [0.5, 0.3, 0.2]", "looks = [0.9, 0.2]", "looks", "sum to 1.1"),
        ("looks = [0.5, 0.3, 0.2]", "looks = [1.0, 0.0]", "looks", "no share"),
        ("looks = [0.5, 0.3, 0.2]", "looks = [nan]", "looks", "no share"),
        ("calibration_rate = 0.2", "calibration_rate = 0", "calibration_rate", "greater than 0"),
        ("fewest_per_task = 5", "fewest_per_task = 0", "fewest_per_task", "greater than or equal to 1"),
        ("expert_hour = 120", "expert_hour = -1", "costs.expert_hour", "greater than or equal to 0"),
        ("expert_hour = 120", "expert_hour = inf", "costs.expert_hour", "no sum of money"),
        ("[loss]", 'demand_measured = ["x", "x"]\n[loss]', "demand_measured", "named twice"),
        ("[loss]", 'demand_measured = ["grade"]\n[loss]', "demand_measured", "no criterion"),
        ("apart = 2", "apart = 0", "loss.apart", "greater than or equal to 1"),
    ],
)  # fmt: skip
def test_a_broken_policy_is_refused_with_file_key_and_remedy(old: str, new: str, key: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(LibraryError) as refusal:
        parse(TEXT.replace(old, new, 1))
    fault = refusal.value.fault
    assert fault.where == f"policies/standard/v1.toml: {key}"
    assert said in fault.message.lower()
    assert fault.remedy
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "alpha = 1", "not toml at all", "loss = 3"])
def test_what_is_no_policy_at_all_is_refused(text: str) -> None:
    with pytest.raises(LibraryError, match=r"policies/standard/v1\.toml"):
        parse(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [("lax", "known: standard, strict"), ("standard@v9", "published: v1"), ("standard@", "published: v1"),
     ("@v1", "known: standard, strict"), ("../rubrics", "known: standard, strict")],
)  # fmt: skip
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(name: str, said: str) -> None:
    with pytest.raises(LibraryError, match=said):
        load_policy(name)


def test_a_policy_of_ones_own_is_locked_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "standard" / "v1.toml"
    path.parent.mkdir()
    path.write_text(TEXT.replace("alpha = 0.10", "alpha = 0.2"))
    with pytest.raises(LibraryError, match="holds no 'standard'"):
        load_policy(root=tmp_path)
    lock_new_versions(tmp_path, ".toml")
    assert load_policy(root=tmp_path).alpha == 0.2
    path.write_text(TEXT)
    with pytest.raises(LibraryError, match="edited since"):
        load_policy(root=tmp_path)

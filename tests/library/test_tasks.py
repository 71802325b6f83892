"""A task folder is held to everything that grading relies on; errors name file, key and remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.library import roots
from pipeline.library.errors import LibraryError, TaskError
from pipeline.library.tasks import load_task, load_tasks
from pipeline.types import CaseKind, Family, Owner, Verdict

TINY = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(TINY, tmp_path / "tiny_add")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def fault_of(folder: Path) -> tuple[str, str, str]:
    """Where, what and what to do, of a folder that must be refused; the folder's own path is cut off."""
    with pytest.raises(TaskError) as refused:
        load_task(folder)
    fault = refused.value.fault
    assert fault.owner is Owner.TASK
    assert "\n" not in str(fault)
    return fault.where.removeprefix(f"{folder}/"), fault.message, fault.remedy


def test_a_good_folder_loads_whole() -> None:
    task = load_task(TINY)
    assert (task.id, task.family, task.entry) == ("tiny_add", Family.PERFORMANCE, "kernel")
    assert [spec.name for spec in task.inputs] == ["x", "y"]
    assert {case.kind for case in task.cases} == set(CaseKind)
    assert task.starter == (TINY / "starter.py").read_text()
    assert task.reference == (TINY / "reference.py").read_text()
    assert {solution.name for solution in task.solutions} == {
        p.name for p in (TINY / "solutions").glob("*.py")
    }


def test_good_solutions_are_expected_to_be_correct_without_being_listed() -> None:
    expected = {solution.name: solution.expected for solution in load_task(TINY).solutions}
    assert expected["good_add.py"] is Verdict.CORRECT
    assert expected["bad_multiplies.py"] is Verdict.INCORRECT


@pytest.mark.parametrize(
    ("family", "rubric"), [("performance", "performance_quality"), ("numerics", "numerical_correctness")]
)
def test_the_family_selects_the_rubric(family: str, rubric: str, folder: Path) -> None:
    edit(folder / "task.toml", 'family = "performance"', f'family = "{family}"')
    assert load_task(folder).rubric == rubric


def test_a_rubric_of_its_own_wins_over_the_familys(folder: Path) -> None:
    edit(folder / "task.toml", 'family = "performance"', 'family = "performance"\nrubric = "house_style"')
    assert load_task(folder).rubric == "house_style"


def test_a_migration_brings_its_original(folder: Path) -> None:
    edit(folder / "task.toml", 'family = "performance"', 'family = "migration"')
    where, message, remedy = fault_of(folder)
    assert where == "task.toml, family"
    assert message == "a migration task needs its original"
    assert "source/" in remedy
    (folder / "source").mkdir()
    (folder / "source" / "kernel.cu").write_text("__global__ void add();\n")
    task = load_task(folder)
    assert task.rubric == "migration_fidelity"
    assert task.source == {"kernel.cu": "__global__ void add();\n"}


EDITS = {
    "no TOML": ("schema_version = 1", "schema_version = = 1", "", "not valid TOML"),
    "another schema": ("schema_version = 1", "schema_version = 2", "schema_version", "2 is not allowed"),
    "an unknown key": ("entry =", "entri =", "entri", "unknown key, and 1 more problem"),
    "a missing key": ('title = "Add two tensors"', "", "title", "missing"),
    "an unknown key of a table": ("minimum = 1", "minimun = 1", "axes.P.minimun", "unknown key"),
    "text for a number": ("maximum = 128", 'maximum = "128"', "axes.P.maximum", "'128' is not allowed"),
    "a kind that does not exist": ('"scored"', '"scorde"', "cases[", "'scorde' is not allowed"),
    "an unknown family": ('"performance"', '"speed"', "family", "'speed' is not allowed"),
    "an unknown verdict": ('= "incorrect"', '= "wrong"', "solutions.bad_", "'wrong' is not allowed"),
    "an id that is no name": ('"tiny_add"', '"Tiny add"', "id", "'Tiny add' is not allowed"),
    "an id unlike the folder": ('"tiny_add"', '"tiny"', "id", "'tiny' lies in the folder 'tiny_add'"),
    "an entry that is no name": ('"kernel"', '"2kernel"', "entry", "'2kernel' is no Python name"),
    "an unknown dialect": ('["nki"]', '["triton"]', "dialects", "unknown dialect 'triton'"),
    "an unknown target": ('["trn2"]', '["h100"]', "targets", "unknown target 'h100'"),
    "no target": ('["trn2"]', "[]", "targets", "[] is not allowed"),
    "an unknown version": ('["0.6"]', '["0.2"]', "toolchain", "unknown NKI version '0.2'"),
    "an unknown dtype": ('"float32"', '"float31"', "inputs[1].dtype", "unknown dtype 'float31'"),
    "a name used twice": ('"y"', '"x"', "inputs[1].name", "'x' is used twice"),
    "a shape that runs code": ('["P", "F"]', '["P", "print()"]', "inputs[1].shape", "holds 'print()'"),
    "a shape of unknown axes": ('["P", "F"]', '["P", "Q"]', "cases[1].axes", "'Q', which is no axis"),
    "an axis without use": ("[axes]", "[axes]\nQ = { maximum = 4 }", "axes.Q", "no input's shape uses it"),
    "a case without an axis": ("axes = { P = 8, F = 16 }", "axes = { P = 8 }", "cases[1].axes", "gives P"),
    "a case beyond a constraint": ("P = 8,", "P = 129,", "cases[1].axes.P", "129 breaks"),
    "a case against a multiple": (
        "maximum = 128 }", "maximum = 128, multiple_of = 16 }", "cases[1].axes.P", "8 breaks",
    ),
    "a case used twice": ('"tail"', '"small"', "cases[1].name", "'small' is used twice"),
    "no hidden case": ('kind = "hidden"', 'kind = "check"', "cases", "none of kind 'hidden'"),
    "minimum above maximum": ("1, maximum = 128", "9, maximum = 8", "axes.P", "exceeds"),
    "memory that no machine has": (
        "wall_seconds = 2.0", "memory_bytes = 100000000000000000000", "limits.memory_bytes", "is not allowed",
    ),
    "an unknown compute dtype": (
        "[numerics]", '[numerics]\ncompute_dtype = "int8"', "numerics.compute_dtype", "no float dtype",
    ),
    "an unknown storage dtype": (
        "[numerics]", '[numerics]\nstorage_dtype = "bf16"', "numerics.storage_dtype", "no float dtype",
    ),
    "a limit without a reason": (
        'reason = "one fp32', '# reason = "one fp32', "numerics.reason", "a derived limit is overridden",
    ),
    "a limit that rounding alone exceeds": (
        "elementwise = 1e-6", "elementwise = 1e-9", "numerics.elementwise", "less than rounding",
    ),
    "a case of the battery": ('kind = "hidden"', 'kind = "battery"', "cases[2].kind", "grader's own"),
    "a name of the battery's": ('"tail"', '"battery: x"', "cases[2].kind", "grader's own"),
    "a battery of an unknown pattern": (
        "[numerics]", '[battery]\ninclude = ["loud"]\n[numerics]', "battery.include[1]", "'loud' is not",
    ),
    "a battery without reason": (
        'extreme = "likewise"', 'extreme = ""', "battery.exclude.extreme", "no reason",
    ),
    "a battery beyond a constraint": (
        "[numerics]", "[battery]\naxes = { P = 129, F = 1 }\n[numerics]", "battery.axes.P", "129 breaks",
    ),
    "a smallest shape without elements": (
        '["P", "F"]', '["P", "F - 1"]', "axes", "'battery: smallest shape' at P = 1, F = 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_error_in_the_task_file_is_named_by_file_and_key_with_a_remedy(name: str, folder: Path) -> None:
    old, new, place, problem = EDITS[name]
    edit(folder / "task.toml", old, new)
    where, message, remedy = fault_of(folder)
    assert where.startswith(f"task.toml, {place}" if place else "task.toml")
    assert problem in message
    assert remedy


def test_a_misspelt_key_gets_the_name_that_was_meant(folder: Path) -> None:
    edit(folder / "task.toml", "minimum = 1", "minimun = 1")
    assert fault_of(folder)[2] == "did you mean 'minimum'?"


@pytest.mark.parametrize("value", ["nan", "inf", "-1e-5"])
def test_a_tolerance_that_would_pass_anything_or_nothing_is_refused(value: str, folder: Path) -> None:
    file = folder / "task.toml"
    lines = [
        f"rel_l2 = {value}" if line.startswith("rel_l2") else line for line in file.read_text().splitlines()
    ]
    file.write_text("\n".join(lines))
    assert fault_of(folder)[0] == "task.toml, numerics.rel_l2"


@pytest.mark.parametrize("formula", ["P*Q", "open('x')", "P - 129", "P /"])
def test_work_is_a_positive_formula_over_the_axes(formula: str, folder: Path) -> None:
    file = folder / "task.toml"
    lines = [
        f'flops = "{formula}"' if line.startswith("flops") else line for line in file.read_text().splitlines()
    ]
    file.write_text("\n".join(lines))
    assert fault_of(folder)[0] == "task.toml, work.flops"


def test_limits_that_are_left_out_are_derived_and_need_no_reason(folder: Path) -> None:
    file = folder / "task.toml"
    gone = ("rel_l2", "row_rel_l2", "elementwise", "reason")
    file.write_text("\n".join(line for line in file.read_text().splitlines() if not line.startswith(gone)))
    assert load_task(folder).numerics.elementwise is None


def test_a_case_that_no_memory_limit_allows_is_refused(folder: Path) -> None:
    file = folder / "task.toml"
    edit(file, "maximum = 512", "maximum = 1000000000")
    edit(file, "F = 16", "F = 900000000")
    where, message, _ = fault_of(folder)
    assert where == "task.toml, cases[1].axes"
    # Three tensors of 8 x 900,000,000 float32.
    assert message.startswith("its tensors take 86400000000 bytes")


@pytest.mark.parametrize("name", ["task.toml", "reference.py", "starter.py"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    where, message, remedy = fault_of(folder)
    assert (where, message) == (name, "missing")
    assert remedy


@pytest.mark.parametrize("name", ["task.toml", "reference.py", "solutions/good_add.py"])
def test_a_file_that_is_no_text_is_named(name: str, folder: Path) -> None:
    (folder / name).write_bytes(b"\xff\xfe")
    assert fault_of(folder)[:2] == (name, "not UTF-8 text")


CODE = {
    "a reference without make_inputs": (
        "reference.py", "def reference(inputs, axes):\n    return {}\n", "make_inputs(rng, axes, case)",
    ),
    "a reference of another signature": (
        "reference.py",
        "def make_inputs(rng, axes, case): ...\ndef reference(inputs): ...\n",
        "reference(inputs, axes)",
    ),
    "a reference that does not parse": ("reference.py", "def reference(:\n", "no Python"),
    "a starter without the entry": ("starter.py", "def kernels(x, y): ...\n", "kernel(x, y)"),
    "a starter with its inputs swapped": ("starter.py", "def kernel(y, x): ...\n", "kernel(x, y)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_code_that_does_not_keep_its_contract_is_named(name: str, folder: Path) -> None:
    file, content, wanted = CODE[name]
    (folder / file).write_text(content)
    where, message, _ = fault_of(folder)
    assert where.startswith(file)
    assert wanted in message


def test_loading_a_task_executes_none_of_its_code(folder: Path, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
    for name in ("reference.py", "starter.py", "solutions/good_add.py"):
        (folder / name).write_text(trap + (folder / name).read_text())
    load_task(folder)
    assert not (tmp_path / "executed").exists()


def test_a_bad_solution_without_a_verdict_is_refused_with_the_line_to_add(folder: Path) -> None:
    (folder / "solutions" / "bad_new.py").write_text("def kernel(x, y): ...\n")
    where, message, remedy = fault_of(folder)
    assert (where, message) == ("task.toml, solutions", "says no verdict for solutions/bad_new.py")
    assert '"bad_new.py" = ' in remedy


def test_a_listed_solution_must_exist(folder: Path) -> None:
    (folder / "solutions" / "bad_multiplies.py").unlink()
    assert fault_of(folder)[0] == "task.toml, solutions.bad_multiplies.py"


def test_a_bad_solution_cannot_be_expected_to_be_correct(folder: Path) -> None:
    edit(folder / "task.toml", '= "incorrect"', '= "correct"')
    assert "only bad solutions are listed" in fault_of(folder)[1]


def test_a_solution_is_good_or_bad_by_name(folder: Path) -> None:
    (folder / "solutions" / "draft.py").write_text("def kernel(x, y): ...\n")
    assert fault_of(folder)[0] == "solutions/draft.py"


# Many tasks.


def test_one_broken_task_does_not_hide_the_others(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "tiny_add")
    shutil.copytree(TINY, tmp_path / "misnamed")
    (tmp_path / "no_task").mkdir()
    faults: list[TaskError] = []
    assert list(load_tasks(tmp_path, on_fault=faults.append)) == ["tiny_add"]
    assert ["misnamed" in str(fault) for fault in faults] == [True]
    with pytest.raises(TaskError, match="misnamed"):
        load_tasks(tmp_path)


def test_a_root_that_is_no_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="nowhere: no such folder"):
        load_tasks(tmp_path / "nowhere")


# Where things lie.


def test_in_a_checkout_the_roots_are_its_folders() -> None:
    checkout = Path(__file__).parents[2]
    assert roots.tasks_root() == checkout / "data" / "tasks"
    assert roots.rubrics_root() == checkout / "rubrics"
    assert roots.prompts_root() == checkout / "prompts"
    assert roots.policies_root() == checkout / "data" / "policies"


def test_in_a_wheel_the_roots_are_package_data_whatever_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "pipeline"
    (package / "bundle" / "prompts").mkdir(parents=True)
    (tmp_path / "site-packages" / "prompts").mkdir()
    monkeypatch.setattr(roots, "_PACKAGE", package)
    assert roots.prompts_root() == package / "bundle" / "prompts"
    with pytest.raises(LibraryError, match="holds no rubrics"):
        roots.rubrics_root()

"""Find tasks, rubrics, prompts and policies by content: current ones on disk, earlier ones in the store."""

from __future__ import annotations

from typing import TypeVar

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.library.policies import load_policy
from pipeline.library.prompts import load_prompt
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.tasks import load_tasks
from pipeline.store import Document, Store
from pipeline.types import Fault, Fingerprint, Frozen, Owner, Prompt, RoutingPolicy, Rubric, Task

__all__ = ["Library"]

Model = TypeVar("Model", bound=Frozen)

_JUDGE_PROMPT = "judge"


class Library:
    """The texts that shape grades.

    Args:
        store: Where every text that ever shaped a grade is kept whole.
        settings: Name the tasks folder, the rubric versions and the policy of this run.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.tasks: dict[str, Task] = load_tasks(settings.tasks or tasks_root())
        self.prompt: Prompt = load_prompt(_JUDGE_PROMPT)
        self.policy: RoutingPolicy = load_policy(settings.policy, root=settings.policies)
        self._rubrics: dict[str, Rubric] = {}
        self._by_hash: dict[str, Frozen] = {
            model.content_hash(): model for model in (*self.tasks.values(), self.prompt)
        }

    def rubric_of(self, task: Task) -> Rubric:
        """Return the rubric that submissions to `task` are judged by."""
        if task.rubric not in self._rubrics:
            rubric = load_rubric(
                task.rubric, self._settings.rubric_versions.get(task.rubric), root=self._settings.rubrics
            )
            self._rubrics[task.rubric] = rubric
            self._by_hash[rubric.content_hash()] = rubric
        return self._rubrics[task.rubric]

    def find_task(self, sha256: str) -> Task:
        """Return the task with this content hash."""
        return self._find(sha256, Task)

    def find_rubric(self, sha256: str) -> Rubric:
        """Return the rubric with this content hash."""
        return self._find(sha256, Rubric)

    def find_prompt(self, sha256: str) -> Prompt:
        """Return the prompt with this content hash."""
        return self._find(sha256, Prompt)

    def keep_documents(self, task_ids: set[str], fingerprints: list[Fingerprint]) -> None:
        """Store the full texts behind the gradings of `task_ids`."""
        tasks = [self.tasks[task_id] for task_id in sorted(task_ids)]
        rubrics = {rubric.content_hash(): rubric for rubric in map(self.rubric_of, tasks)}
        documents = [_document("task", task.id, "", task) for task in tasks]
        documents += [_document("rubric", rubric.id, rubric.version, rubric) for rubric in rubrics.values()]
        documents += [_document("prompt", self.prompt.id, self.prompt.version, self.prompt)]
        documents += [_document("policy", self.policy.id, self.policy.version, self.policy)]
        documents += [_document("fingerprint", "", "", fingerprint) for fingerprint in fingerprints]
        self._store.save_documents(documents)

    def _find(self, sha256: str, kind: type[Model]) -> Model:
        held = self._by_hash.get(sha256)
        if isinstance(held, kind):
            return held
        document = self._store.find_document(sha256)
        if document is None:
            raise GraderError(
                Fault(
                    owner=Owner.GRADER,
                    code="document_lost",
                    message=f"{kind.__name__.lower()} {sha256[:16]} is not in the store any more",
                    remedy="restore the database from a snapshot, or grade again",
                )
            )
        model = kind.model_validate_json(document.text)
        self._by_hash[sha256] = model
        return model


def _document(kind: str, name: str, version: str, model: Frozen) -> Document:
    return Document(
        kind=kind, id=name, version=version, sha256=model.content_hash(), text=model.model_dump_json()
    )

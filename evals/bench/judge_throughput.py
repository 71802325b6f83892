"""How many submissions a second a judge's answers can be taken in, side by side with inspect_ai.

    python -m venv PEER && PEER/bin/pip install inspect_ai openai
    python evals/bench/judge_throughput.py --peer PEER/bin/python [--count 500] [--rounds 3]

Everybody's models answer at once, in the process, twice per sample, so that what is left is everybody's own
work. inspect_ai has a solver and a model-graded scorer on its mock model and writes its own log. Ours are the
language judge with two samples, in two ways: the judge stage and the store without the graph, and the whole
graph, where only building and running answer at once. Every call of ours has an intent on the disk before it
is made, and its answer is on the disk before it counts.

With --http the whole graph is also measured through the real SDKs, against servers on this machine that speak
each wire format in a process of their own. Nobody is compared with that; it is what an HTTP client costs.

Rounds alternate, because a machine is not the same from one minute to the next. Prints samples per second by
the clock, processor milliseconds per sample of all threads, and the ratio to the peer of the same round. By
the clock is what is promised, on an idle machine of 2 cores: the stage at least 3 times the peer, the graph
at least 1.5 times. On a busy machine look at processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pipeline.graph.services import Services
    from pipeline.graph.threads import Planned
    from pipeline.judge.providers.provider import ModelRequest
    from pipeline.types import Completion, JudgeRole

PEER_VARIABLE = "NKI_GRADER_PEER_PYTHON"
TASK = "softmax_rows"
IN_FLIGHT = 64
WARM = 20
TOKENS = {"input_tokens": 4000, "output_tokens": 800}
SETUP = """
[judge]
provider = "{wire}"
name = "instant"
model = "instant"
base_url = "{address}"
samples = 2
"""
#: Without it an unknown server is asked two things at a time, and slowly more.
MODELS = f"""
[[model]]
provider = "instant"
id = "instant"
context_tokens = 200_000
concurrency = {{ start = {IN_FLIGHT}, maximum = {IN_FLIGHT} }}
"""


class Cost(NamedTuple):
    """What a number of samples took, in seconds per sample."""

    wall: float
    processor: float


def main() -> None:
    """Run every side in turn and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer", default=os.environ.get(PEER_VARIABLE, sys.executable), metavar="PYTHON")
    parser.add_argument("--count", type=int, default=500, help="samples per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--http", action="store_true", help="also through the real SDKs over loopback HTTP")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.as_peer:
        print(json.dumps(measure_peer(chosen.count)))
        return
    sides: dict[str, Callable[[], Cost]] = {"stage": lambda: measure_stage(chosen.count)}
    sides["graph"] = lambda: measure_graph(chosen.count)
    if has_inspect(chosen.peer):
        sides = {"inspect_ai": lambda: ask_peer(chosen.peer, chosen.count), **sides}
    else:
        print(f"{chosen.peer} has no inspect_ai: install it elsewhere and name that Python with --peer")
    compare(sides, chosen.rounds)
    if chosen.http:
        for wire in ("anthropic", "openai", "openai-compatible"):
            cost = measure_http(wire, chosen.count)
            print(
                f"over HTTP, {wire:17s} {1 / cost.wall:7.1f} samples/s"
                f" {cost.processor * 1e3:7.2f} ms processor"
                " each, the server's not counted"
            )


def compare(sides: dict[str, Callable[[], Cost]], rounds: int) -> None:
    """Print each side's cost, round by round, and its ratio to the first side."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, measure in sides.items():
            cost = measure()
            costs[name].append(cost)
            print(
                f"round {number + 1} {name:10s} {1 / cost.wall:7.1f} samples/s"
                f" {cost.processor * 1e3:7.2f} ms processor each",
                flush=True,
            )
    first, *others = sides
    for name in others:
        for kind in Cost._fields:
            pairs = zip(costs[first], costs[name], strict=True)
            ratios = [getattr(peer, kind) / getattr(ours, kind) for peer, ours in pairs]
            print(
                f"{first} / {name}, {kind} time: {statistics.median(ratios):.2f}"
                f" ({min(ratios):.2f} to {max(ratios):.2f})"
            )


# The peer


def has_inspect(python: str) -> bool:
    """Whether that interpreter can import inspect_ai."""
    return (
        subprocess.run([python, "-c", "import inspect_ai"], capture_output=True, check=False).returncode == 0
    )


def ask_peer(python: str, count: int) -> Cost:
    """Return what inspect_ai takes, measured in a process of its own."""
    command = [python, __file__, "--as-peer", "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def measure_peer(count: int) -> Cost:
    """Evaluate `count` samples with inspect_ai: one call that solves, one that grades."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import generate

    def answers(text: str) -> Callable[..., Any]:
        def answer(*_: Any, **__: Any) -> Any:
            output = ModelOutput.from_content("mockllm/model", text)
            # Without a usage the mock counts tokens, and downloads a tokenizer for it.
            output.usage = ModelUsage(total_tokens=sum(TOKENS.values()), **TOKENS)
            return output

        return answer

    solver = get_model("mockllm/model", memoize=False, custom_outputs=answers("An answer."))
    grader = get_model("mockllm/grader", memoize=False, custom_outputs=answers("As asked.\n\nGRADE: C"))

    def evaluate(samples: int) -> None:
        dataset = MemoryDataset([Sample(input=f"Question {n}", target="An answer.") for n in range(samples)])
        task = Task(dataset=dataset, solver=generate(), scorer=model_graded_qa(model=grader))
        with tempfile.TemporaryDirectory() as folder:
            (log,) = eval(
                task, model=solver, log_dir=folder, log_format="eval", display="none",
                max_samples=IN_FLIGHT, max_connections=IN_FLIGHT,
            )  # fmt: skip
            if log.status != "success":
                raise RuntimeError(f"inspect_ai: {log.error}")

    evaluate(WARM)
    return clock(lambda: evaluate(count), count)


# Ours


def measure_graph(count: int) -> Cost:
    """Grade `count` submissions through the whole graph."""
    from pipeline.graph.threads import advance

    with opened(count) as (services, planned, answered):

        def grade() -> None:
            advance(planned, services)
            services.store.flush()

        with answered:
            cost = clock(grade, count)
        check(services, planned)
    return cost


def measure_http(wire: str, count: int) -> Cost:
    """Grade `count` submissions through the whole graph and the SDK of a wire format."""
    from pipeline.graph.threads import advance

    with serving(wire) as address, opened(count, wire, address) as (services, planned, answered):

        def grade() -> None:
            advance(planned, services)
            services.store.flush()

        with answered:
            cost = clock(grade, count)
        check(services, planned)
    return cost


@contextmanager
def serving(wire: str) -> Iterator[str]:
    """Serve models in a process of its own; yield the address."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.judge.loopback", "--format", wire]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def measure_stage(count: int) -> Cost:
    """Judge `count` submissions and keep the judgments, with everything before the judge done already."""
    from pipeline.graph.threads import advance
    from pipeline.types import BuildResult, Inspection, Judgment, ProfileResult, RunResult

    with opened(count) as (services, planned, answered):
        warm, *planned = planned
        with answered:
            advance([warm], services)
        known = services.begin(*warm)
        works = [services.begin(*plan) for plan in planned]
        stages = {"build": BuildResult, "run": RunResult, "profile": ProfileResult, "inspect": Inspection}
        results = {stage: known.result(stage, kind) for stage, kind in stages.items()}
        for work in works:
            for stage, result in results.items():
                work.perform(stage, type(result), partial(results.__getitem__, stage))
        services.store.flush()
        upcoming = iter(works)

        async def judge_some() -> None:
            for work in upcoming:
                request = work.judge_request()
                await work.perform_async("judge", Judgment, partial(services.judge.judge, request))

        async def judge_all() -> None:
            await asyncio.gather(*(judge_some() for _ in range(IN_FLIGHT)))
            await services.judge.aclose()
            services.store.flush()

        cost = clock(lambda: asyncio.run(judge_all()), len(works))
        for work in works:
            services.store.link_stages(work.grading.id, work.keys.as_dict())
        check(services, planned)
    return cost


@contextmanager
def opened(
    count: int, wire: str = "openai-compatible", address: str | None = None
) -> Iterator[tuple[Services, list[Planned], Any]]:
    """Open a store and a language judge; yield services, `count` plans, and instant builds and runs.

    Without an `address` the judge's models answer in this process.
    """
    from pipeline_overhead import answer_at_once

    from pipeline.config import Settings
    from pipeline.execute.sandbox import probe_levels
    from pipeline.graph.batch import register
    from pipeline.graph.services import open_services
    from pipeline.graph.threads import advance
    from pipeline.judge.calls.caller import LiveCaller
    from pipeline.judge.setup import read_setup
    from pipeline.library.submissions import admit_code
    from pipeline.store import open_store

    with tempfile.TemporaryDirectory() as name, open_store(Path(name) / "bench.duckdb") as store:
        folder = Path(name)
        (folder / "judge.toml").write_text(
            SETUP.format(wire=wire, address=address or "http://127.0.0.1:9/v1")
        )
        for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            os.environ.setdefault(variable, "none-of-anybody")
        (folder / "models.toml").write_text(MODELS)
        os.environ["NKI_GRADER_MODELS"] = str(folder / "models.toml")
        settings = Settings(
            judge=str(folder / "judge.toml"), allow_unsandboxed=not any(p.available for p in probe_levels())
        )
        provider = InstantProvider()
        setup = read_setup(settings)
        caller = LiveCaller(setup, store)
        if address is None:
            caller = LiveCaller(setup, store, open_provider=provider.serve)
        with open_services(store, settings, caller=caller) as services:
            task = services.library.tasks[TASK]
            good = next(solution for solution in task.solutions if solution.name.startswith("good"))
            provider.show(good.code)
            codes = [f"# {number}\n{good.code}" for number in range(count + 1 + WARM)]
            first, *plans = register([admit_code(task, code.encode()) for code in codes], services)
            advance([first], services)
            answered = answer_at_once(services, first)
            store.flush()
            yield services, plans[:count], answered


def check(services: Services, planned: list[Planned]) -> None:
    """Make sure that two answers were bought and used for each, and that all is in the store.

    Raises:
        RuntimeError: If not: then the figures mean nothing.
    """
    from pipeline.types import Judgment

    services.store.flush()
    for plan in (planned[0], planned[-1]):
        work = services.begin(*plan)
        judgment = work.result("judge", Judgment)
        if judgment.fault is not None or judgment.usage.get("calls") != 2 or judgment.struck:
            raise RuntimeError(f"not judged as planned: {judgment}")
    if services.store.ledger.open_calls():
        raise RuntimeError("some calls have no end")


class InstantProvider:
    """Gives the same honest answer to whatever it is asked, without delay."""

    def __init__(self) -> None:
        self._line = ""
        self._number = 0
        self._answers: dict[str, str] = {}

    def show(self, code: str) -> None:
        """Cite a statement of `code`, which stands one line further down in every submission."""
        lines = code.splitlines()
        number = next(n for n, line in enumerate(lines) if "nisa.dma_copy(" in line)
        self._line, self._number = lines[number].strip(), number + 2

    def serve(self, role: JudgeRole) -> InstantProvider:
        """Open it for a role."""
        return self

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        """Answer."""
        from pipeline.types import Completion, Usage

        return Completion(
            text=self._write(request), stop="complete", model=request.model, usage=Usage(**TOKENS)
        )

    async def count_tokens(self, request: ModelRequest) -> int:
        """Count nothing."""
        return TOKENS["input_tokens"]

    async def aclose(self) -> None:
        """Hold nothing."""

    def _write(self, request: ModelRequest) -> str:
        criteria = tuple(request.schema["properties"]["scores"]["properties"])
        name = " ".join(criteria)
        if name not in self._answers:
            cited = [{"first_line": self._number, "last_line": self._number, "quote": self._line}]
            score = {"reason": "The cited line shows it.", "citations": cited, "level": 2, "confidence": 0.8}
            self._answers[name] = json.dumps(
                {
                    "scores": dict.fromkeys(criteria, score),
                    "feedback": [
                        {"part": part, "text": "Look at how the cited line does it.", "citations": cited}
                        for part in ("works", "change", "next")
                    ],
                }
            )
        return self._answers[name]


def clock(work: Callable[[], None], count: int) -> Cost:
    """Return what `work` takes per sample."""
    started, processor = time.perf_counter(), time.process_time()
    work()
    return Cost((time.perf_counter() - started) / count, (time.process_time() - processor) / count)


if __name__ == "__main__":
    main()

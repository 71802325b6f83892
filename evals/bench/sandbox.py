"""What starting and ending a sandboxed job costs beyond the first, per level that works here.

Run: python evals/bench/sandbox.py [--jobs N]
A submission takes five jobs: two that trace, two that inspect, one that executes. Target: five of them under
20 ms. The first job of a sandbox also starts and fills its zygote; what jobs carry and touch is the subject
of sandbox_cost.py.
"""

from __future__ import annotations

import argparse
import time
from statistics import median, quantiles

from pipeline.execute.sandbox import Level, Limits, Sandbox, Status
from pipeline.execute.sandbox.probe import probe_level

JOB = "pipeline.execute.sandbox.containment:echo"
PAYLOAD = b"job"
JOBS_OF_A_SUBMISSION = 5


def measure(level: Level, jobs: int) -> tuple[float, list[float]]:
    """Return the seconds of the first job and of each of `jobs` more."""
    with Sandbox(level, ("numpy", JOB.partition(":")[0])) as sandbox:
        times = []
        for _ in range(jobs + 1):
            started = time.perf_counter()
            outcome = sandbox.run(JOB, PAYLOAD, Limits())
            times.append(time.perf_counter() - started)
            if outcome.status is not Status.OK:
                raise RuntimeError(f"{level}: {outcome.message}")
    return times[0], times[1:]


def main() -> None:
    """Print one line per level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=300)
    jobs = parser.parse_args().jobs
    print(
        f"{'level':<12}{'first ms':>10}{'median ms':>11}{'p90 ms':>9}{'p99 ms':>9}{'five ms':>9}   n = {jobs}"
    )
    for level in Level:
        probe = probe_level(level)
        if not probe.available:
            print(f"{level:<12}{probe.reason}")
            continue
        first, rest = measure(level, jobs)
        cuts = quantiles(rest, n=100)
        figures = (first, median(rest), cuts[89], cuts[98])
        print(f"{level:<12}{figures[0] * 1e3:>10.1f}{figures[1] * 1e3:>11.2f}", end="")
        print(f"{figures[2] * 1e3:>9.2f}{figures[3] * 1e3:>9.2f}", end="")
        print(f"{figures[1] * 1e3 * JOBS_OF_A_SUBMISSION:>9.2f}")


if __name__ == "__main__":
    main()

"""The four speed figures of the main job, each by its own benchmark, one after the other.

python evals/bench/main_job.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
HELP_RUNS = 15


def main() -> None:
    """Run every benchmark and print its figures."""
    print_help_time()
    for script in ("sandbox.py", "sandbox_cost.py", "pipeline_overhead.py", "matmul.py"):
        subprocess.run([sys.executable, str(HERE / script)], check=True)


def print_help_time() -> None:
    """Print how long ``nki-grader --help`` takes, process start included."""
    program = Path(sys.executable).with_name("nki-grader")
    times = []
    for _ in range(HELP_RUNS):
        started = time.perf_counter()
        subprocess.run([str(program), "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - started) * 1e3)
    print(
        f"nki-grader --help: median {statistics.median(times):.0f} ms, "
        f"worst {max(times):.0f} ms of {HELP_RUNS}; target under 150 ms"
    )


if __name__ == "__main__":
    main()

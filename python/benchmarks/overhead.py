"""What Python and Dask cost beside the command: the same short runs three ways, one after the other, in one go.

Usage: overhead.py [RUNS]      (10000)
Each way is tried three times in turn, in a fresh folder; printed are medians, and ratios to the command's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

import bentpipe as bp

ROUNDS = 3
PROGRAM = Path(sys.executable).with_name("bentpipe")
TEXT = Path(__file__).with_name("short.toml").read_text()


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    scenario = bp.Scenario(TEXT, name="short.toml")
    seconds: dict[str, list[float]] = {"command": [], "python": [], "dask": []}
    with tempfile.TemporaryDirectory() as place, LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        (Path(place) / "short.toml").write_text(TEXT)
        for number in range(ROUNDS):

            def campaign(name: str) -> bp.Campaign:
                return bp.Campaign(scenario, runs=runs, folder=Path(place) / f"{name}-{number}")

            command = [PROGRAM, "sim", "short.toml", "--runs", str(runs), "--threads", "2", "--no-figures", "--quiet"]
            ways = {
                "command": lambda: subprocess.run(
                    [*command, "--output", f"command-{number}"], cwd=place, check=True, stdout=subprocess.DEVNULL
                ),
                "python": lambda: campaign("python").run(threads=2, progress=False, figures=False),
                "dask": lambda: campaign("dask").run(client, progress=False, figures=False),
            }
            for name, way in ways.items():
                begin = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ratios = {name: medians[name] / medians["command"] for name in medians}
    print(json.dumps({"runs": runs, "seconds": medians, "ratio_to_command": ratios}, indent=1))


if __name__ == "__main__":
    main()

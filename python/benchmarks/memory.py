"""What the command, Python and a Dask client take of memory for many runs of one point: peaks, each in a process of its own.

Usage: memory.py [RUNS]...      (300 3000 10000)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = Path(__file__).with_name("short.toml")
WAYS = ("command", "python", "dask")


def main() -> None:
    counts = [int(argument) for argument in sys.argv[1:]] or [300, 3_000, 10_000]
    peaks: dict[str, dict[int, float]] = {way: {} for way in WAYS}
    for runs in counts:
        for way in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                peaks[way][runs] = peak(way, runs, folder)
                print(f"{way}, {runs} runs: {peaks[way][runs]:.1f} MiB", file=sys.stderr)
    print(json.dumps({"peak_mib": peaks}, indent=1))


def peak(way: str, runs: int, folder: str) -> float:
    """In MiB. This process has imported little: what it has itself counts for whom it starts."""
    if way == "command":
        program = Path(sys.executable).with_name("bentpipe")
        command = [program, "sim", SCENARIO, "--runs", str(runs), "--threads", "2", "--no-figures", "--quiet"]
        child = subprocess.Popen([*command, "--output", folder], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0, status
        return usage.ru_maxrss / 1024
    child = subprocess.run([sys.executable, "-c", PROGRAMS[way], SCENARIO, str(runs), folder], check=True, capture_output=True)
    return int(child.stdout) / 1024


#: Each prints its peak in KiB.
PYTHON = """
import sys
import bentpipe as bp
{imports}
if __name__ == "__main__":
    scenario, runs, folder = sys.argv[1:]
    campaign = bp.Campaign(scenario, runs=int(runs), folder=folder)
    {run}
    status = open("/proc/self/status").read()
    print(status.split("VmHWM:")[1].split()[0])
"""
PROGRAMS = {
    "python": PYTHON.format(imports="", run="campaign.run(threads=2, progress=False, figures=False)"),
    "dask": PYTHON.format(
        imports="from distributed import Client, LocalCluster",
        run="""with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        campaign.run(client, progress=False, figures=False)""",
    ),
}


if __name__ == "__main__":
    main()

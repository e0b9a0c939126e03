"""Tries the installed package: imports it, simulates, reads tables, gives one as an Arrow stream, steps a TCP by hand, and asks
its program for its version. Prints in a line what it ran on, and behind it a digest of the results.

Usage: try_wheel.py FOLDER PROGRAM...      (PROGRAM: the package's, perhaps after what emulates its machine)
"""

import hashlib
import platform
import subprocess
import sys

import bentpipe as bp

folder, *program = sys.argv[1:]
scenario = bp.Scenario.build(
    run={"duration": "20s"},
    host={"server": {}, "client": {}},
    link={"sat": {"between": ["server", "client"], "rate": "8Mbit/s", "delay": "250ms", "loss": 0.001}},
    flow={"main": {"from": "server", "to": "client"}},
)
campaign = bp.Campaign(scenario, runs=2, folder=folder).run(threads=2, progress=False)
capsule = campaign.results.__arrow_c_stream__()
assert "arrow_array_stream" in repr(capsule), capsule
del capsule  # Releases the stream.
goodputs = campaign.results.to_dict()["goodput_bps"]
assert len(goodputs) == 2 and all(goodput > 100_000 for goodput in goodputs), goodputs
digest = hashlib.sha256((campaign.folder / "results.csv").read_bytes()).hexdigest()[:12]

path = bp.tcp.Path(rate="8Mbit/s", delay=0.25)
path.client.write(b"GET /")
assert any("SYN" in str(event) for event in path.run(until=5)), "no SYN"

version = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
assert version == f"bentpipe {bp.__version__}", version
print(f"try_wheel: {platform.machine()}, Python {platform.python_version()}, {version}: results {digest}")

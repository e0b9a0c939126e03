#!/usr/bin/env python3
"""Runs every figure of the papers into an empty folder, and writes what each took as TOML: papers/costs.toml.

A run that two figures need is made once, and counts with the first. The folder stays, so that `make artifact` can use it.

Usage: papers_costs.py PROGRAM FOLDER OUTPUT [THREADS]
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def size(folder: Path) -> int:
    """Bytes in a folder's files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def first(path: str, key: str) -> str:
    """The first value of a key in a file of /proc."""
    lines = (line.split(":", 1) for line in Path(path).read_text().splitlines() if ":" in line)
    return next((value.strip() for name, value in lines if name.strip() == key), "unknown")


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def main() -> None:
    program, folder, target = sys.argv[1:4]
    threads = sys.argv[4] if len(sys.argv) > 4 else "1"
    listed = json.loads(output(program, "papers", "--papers", "papers", "--json"))
    figures = [figure["id"] for paper in listed for figure in paper["figures"]]
    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) // 1024
    lines = [
        "# What each figure took to run, written by scripts/papers_costs.py.",
        "",
        f'commit = "{output("git", "log", "-1", "--format=%h of %cs", "--abbrev=12")}"',
        f'measured = "{datetime.now(UTC).date()}"',
        f'compiler = "{output("rustc", "--version")}"',
        f'kernel = "{platform.system()} {platform.release()}"',
        f'processor = "{first("/proc/cpuinfo", "model name")}"',
        f"cores = {os.cpu_count()}",
        f"memory-mib = {memory}",
        f"threads = {threads}",
        "",
        "# The processors' time, and the size of what is kept of runs.",
        "[figure]",
    ]
    runs = Path(folder) / "runs"
    for figure in figures:
        before, begin, old = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), size(runs) if runs.is_dir() else 0
        command = [program, "papers", figure, "--papers", "papers", "--output", folder, "--threads", threads, "--quiet"]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        kept = (size(runs) - old) / 1e6
        lines.append(f'"{figure}" = {{ processor-s = {spent:.1f}, kept-mb = {kept:.1f} }}')
        print(f"{figure}: {spent:.1f} s of the processors, {time.monotonic() - begin:.1f} s, {kept:.1f} MB", flush=True)
    # What was timed by hand stays.
    if Path(target).is_file():
        _, head, live = Path(target).read_text().partition("\n# All points on real hosts")
        lines += [head + live.rstrip()] if head else []
    Path(target).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

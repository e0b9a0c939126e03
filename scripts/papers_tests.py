#!/usr/bin/env python3
"""Runs the tests that the papers' claims name, and writes what they gave as JSON, with the commit and its day.

What cannot be run here, such as live tests without root, is left out: the report says "not run here" of it.

Usage: papers_tests.py OUTPUT
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What is measured takes a quiet machine and minutes: scripts/bench-live.sh runs it.
MEASURED = "crates/cli/tests/live/measured/"


def places() -> set[str]:
    """Where claims are decided by tests: `crates/.../file.rs::function`."""
    found = set()
    for path in ROOT.glob("papers/*/elsewhere.toml"):
        for claim in tomllib.loads(path.read_text()).values():
            if claim["by"] in ("test", "live"):
                found.update(at.strip() for at in claim["at"].split(","))
    return {at for at in found if "::" in at}


def trial(at: str) -> str:
    """The name under which a test is run: a live one's stands beside its function in a table."""
    file, function = at.split("::")
    if "/tests/live/" not in file:
        return function
    named = re.search(rf'"(\w+)",\s*(?:[\w:]+::)?{function}\b', (ROOT / file).read_text())
    return named.group(1) if named else function


def group(at: str) -> tuple[str, str]:
    """The package of a test, and which of its targets it is in: `*` are all that are tests."""
    folder, inside = at.removeprefix("crates/").split("/", 1)
    package = "bentpipe" if folder == "cli" else f"bentpipe-{folder}"
    if inside.startswith("tests/live/"):
        return package, "live"
    if inside.startswith("src/"):
        return package, "lib"
    return package, "*"


def run(package: str, target: str, names: list[str]) -> dict[str, str]:
    """What each test gave, by its whole name."""
    which = {"lib": ["--lib"], "*": ["--tests"]}.get(target, ["--test", target])
    command = ["cargo", "test", "--package", package, *which, "--no-fail-fast", "--", *names]
    # libtest-mimic takes one filter: all of them are run, once.
    if target == "live":
        command = command[: command.index("--")]
        # Live tests run the programs as they are built, and refuse older ones.
        subprocess.run(["cargo", "build", "--bins"], cwd=ROOT, check=True)
    print("papers_tests:", " ".join(command[:6]), f"({len(names)} tests)", file=sys.stderr)
    # With all of a package's tests the live ones would run, too.
    environment = os.environ | ({} if target == "live" else {"BENTPIPE_LIVE_TESTS": "off"})
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    lines = re.findall(r"^test (\S+)\s+\.\.\. (ok|FAILED|ignored)", done.stdout, re.MULTILINE)
    if not lines:
        sys.exit(f"papers_tests: {package}: no test ran\n{done.stderr[-2000:]}")
    return dict(lines)


def outcome(name: str, given: dict[str, str]) -> str | None:
    """The worst of what runs of this test gave; nothing if none ran."""
    of = {result for run, result in given.items() if run.rsplit("::", 1)[-1] == name}
    if "FAILED" in of:
        return "failed"
    return "passed" if "ok" in of and "ignored" not in of else None


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # Of the sources as they are when the first one is built.
    log = ["git", "log", "-1", "--format=%h of %cs", "--abbrev=12"]
    commit = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    groups = defaultdict(list)
    for at in sorted(places()):
        if not at.startswith(MEASURED):
            groups[group(at)].append(at)
    tests = {}
    for (package, target), ats in sorted(groups.items(), key=lambda group: group[0][1] == "live"):
        given = run(package, target, [trial(at) for at in ats])
        for at in ats:
            if result := outcome(trial(at), given):
                tests[at] = result
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"commit": commit or "unknown", "tests": tests}, indent=1) + "\n")
    counts = {result: list(tests.values()).count(result) for result in ("passed", "failed")}
    left = len(places()) - len(tests)
    print(f"papers_tests: {counts['passed']} passed, {counts['failed']} failed, {left} not run here: {path}")


if __name__ == "__main__":
    main()

"""What tests share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bentpipe import Scenario

SMALL = """
title = "A small one"
[run]
duration = "3s"
[repeat]
runs = 2
[host.a]
[host.b]
[link.sat]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "20ms"
loss = "1%"
[flow.main]
from = "a"
to = "b"
[record]
link = ["queue"]
links = ["sat"]
interval = "500ms"
[sweep]
"link.sat.delay" = ["20ms", "100ms"]
"""


@pytest.fixture
def small() -> Scenario:
    return Scenario(SMALL, name="small.toml")


@pytest.fixture(autouse=True)
def _doctests(doctest_namespace: dict, tmp_path: Path) -> None:
    doctest_namespace["tmp"] = tmp_path


@pytest.fixture(autouse=True)
def _interruptible() -> None:
    """A shell's background jobs begin with SIGINT ignored; tests send it to themselves."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, with what is in them."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

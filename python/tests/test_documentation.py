"""Examples in documentation strings run, and everything public has one."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import bentpipe
from bentpipe import campaign, captures, errors, scenario, tables, tcp

MODULES = [campaign, captures, errors, scenario, tables, tcp]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_run(module, tmp_path):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    names = {**vars(module), **vars(bentpipe), "tmp": tmp_path}
    assert doctest.testmod(module, extraglobs=names, optionflags=flags).failed == 0


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_is_documented(module):
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                public = not member.startswith("_") and (callable(value) or isinstance(value, property))
                assert not public or inspect.getdoc(value), f"{name}.{member}"


def blocks(path: str, minimum: int) -> list[str]:
    """The pieces of Python in a document, without those that want a cluster."""
    text = (Path(__file__).parents[2] / path).read_text()
    pieces = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(pieces) >= minimum
    return [piece for piece in pieces if "distributed" not in piece and "dask_jobqueue" not in piece]


def test_the_guide_s_pieces_run_one_after_the_other(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for piece in blocks("docs/python.md", 4):
        exec(compile(piece, "docs/python.md", "exec"), names)
    assert (tmp_path / "losses.svg").exists() and len(names["campaign"].summary) == 16


def test_the_readme_s_piece_runs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for piece in blocks("python/README.md", 1):
        exec(compile(piece, "python/README.md", "exec"), names)
    assert (tmp_path / "results" / "x" / "summary.csv").exists()

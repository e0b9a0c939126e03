"""Examples in documentation strings run, and everything public has one."""

import doctest
import importlib.metadata
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe
from bentpipe import (
    _bentpipe,
    campaign,
    captures,
    connection,
    control,
    errors,
    inspection,
    network,
    path,
    plotting,
    scenario,
    tables,
    tcp,
)

MODULES = [campaign, captures, connection, control, errors, inspection, network, path, plotting, scenario, tables, tcp]
#: What has examples in its documentation string.
WITH_EXAMPLES = {
    campaign.Campaign: ["columns", "plot", "to_xarray"],
    captures.read_capture: [],
    scenario.Scenario: ["build", "with_controls"],
    scenario.examples: [],
    tables.Table: [],
    tcp.CongestionControl: [],
    tcp.Connection: [],
    tcp.Network: [],
    tcp.Path: ["step"],
    tcp.presets: [],
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_run(module, tmp_path):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    pytest.importorskip("matplotlib").use("Agg")
    names = {**vars(module), **vars(bentpipe), "tmp": tmp_path}
    results = doctest.testmod(module, extraglobs=names, optionflags=flags)
    assert results.failed == 0
    assert results.attempted > 0 or module is errors


def test_what_is_to_have_examples_has_them():
    for thing, members in WITH_EXAMPLES.items():
        for what in (thing, *(getattr(thing, member) for member in members)):
            assert what in (tcp.Path, scenario.examples) or ">>>" in inspect.getdoc(what), what
    assert ">>>" in inspect.getdoc(tcp) and ">>>" in inspect.getdoc(scenario.examples)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_is_documented(module):
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                public = not member.startswith("_") and (callable(value) or isinstance(value, property))
                assert not public or inspect.getdoc(value), f"{name}.{member}"


def test_the_installed_package_is_typed():
    """It is what its wheel has put there, but where somebody works on it (`python-venv.sh --editable`)."""
    place = Path(bentpipe.__file__).parent
    for name in ("py.typed", "_bentpipe.pyi", "_bentpipe.abi3.so"):
        assert (place / name).is_file(), name
    files = {path.name for path in importlib.metadata.files("bentpipe") or []}
    assert {"LICENSE-APACHE", "LICENSE-MIT"} <= files


def described(text: str) -> list[list[tuple[str, str, str]]]:
    """The tables of columns in a documentation string: name, type and unit."""
    tables: list[list[tuple[str, str, str]]] = []
    for line in inspect.cleandoc(text).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:3] == ["column", "type", "unit"]:
            tables.append([])
        elif line.startswith("| `"):
            tables[-1].append((cells[0].strip("`"), cells[1], cells[2]))
    return tables


def test_columns_are_as_they_are_documented(tmp_path):
    declared = {name: [(name_, kind, unit) for name_, kind, unit, _ in columns] for name, columns in _bentpipe.columns()}
    assert described(campaign.Campaign.results.__doc__) == [declared["results"]]
    assert described(campaign.Campaign.series.__doc__) == [declared["series"]]
    (figures,) = described(campaign.Campaign.summary.__doc__)
    parts = [(name.replace("mean", part), kind, unit) for name, kind, unit in figures for part in campaign.PARTS]
    assert parts == declared["summary"][2:]
    scenario = bentpipe.Scenario.load("geo-download").set("flow.download.bytes", "10KB").set("record.qlog", True)
    recorded = bentpipe.Campaign(scenario, runs=1, folder=tmp_path).run(progress=False, figures=False).capture("server")
    tables = described(captures.Capture.__doc__)
    for table, columns in zip((recorded.connections, recorded.segments), tables, strict=True):
        assert [(name, kind) for name, kind, _ in columns] == list(table.schema.items())


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


def test_the_guide_s_piece_for_a_cluster_is_a_script_that_runs(tmp_path):
    """As a file of its own: its workers import it."""
    pytest.importorskip("distributed")
    text = (Path(__file__).parents[2] / "docs/python.md").read_text()
    (piece,) = [piece for piece in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "LocalCluster(" in piece]
    assert "n_workers=2" in piece
    (tmp_path / "cluster.py").write_text(piece)
    run = subprocess.run([sys.executable, "cluster.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    folder = tmp_path / "results" / "cluster"
    campaign = bentpipe.Campaign("geo-download", grid={"link.sat.loss": [0, 1e-3]}, runs=5, folder=folder)
    assert len(campaign.summary) == 8


def test_the_readme_s_piece_runs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for piece in blocks("python/README.md", 1):
        exec(compile(piece, "python/README.md", "exec"), names)
    assert (tmp_path / "results" / "x" / "summary.csv").exists()

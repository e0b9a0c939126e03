"""Campaigns on this machine: the command's results, resumed, told of, and interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bentpipe import Campaign, Cancelled, NoResults, Scenario
from conftest import SMALL, contents

BENTPIPE = Path(sys.executable).with_name("bentpipe")


def test_the_folder_is_the_command_s_to_the_byte(small, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    Campaign(small, folder=tmp_path / "python").run(progress=False)
    command = [BENTPIPE, "sim", "small.toml", "--output", "command", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    ours, theirs = contents(tmp_path / "python"), contents(tmp_path / "command")
    assert ours.keys() == theirs.keys() and len(ours) > 10
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_only_what_is_missing_is_run(small, tmp_path):
    told = []
    Campaign(small, folder=tmp_path, runs=1).run(progress=lambda *counts: told.append(counts), figures=False)
    assert told[-1] == (2, 2)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    campaign = Campaign(small, folder=tmp_path, runs=3).run(figures=False)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir() if path.suffix == ".run"}
    assert all(after[path] == mtime for path, mtime in before.items() if path.suffix == ".run")
    assert len(after) == 6 and len(campaign.results) == 6


def test_tables_are_read_by_whoever_reads_arrow(small, tmp_path):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    campaign = Campaign(small, folder=tmp_path).run(progress=False)
    columns = campaign.results.to_dict()
    frame = polars.DataFrame(campaign.results)
    assert frame.columns == campaign.results.columns == list(columns)
    assert frame["goodput_bps"].to_list() == columns["goodput_bps"]
    assert pyarrow.table(campaign.summary).num_rows == len(campaign.summary) == 2
    pandas = campaign.results.to_pandas()
    assert list(pandas["link.sat.delay_s"]) == [0.02, 0.02, 0.1, 0.1]
    assert {"results", "summary", "series"} <= campaign.tables.keys()
    with pytest.raises(NoResults, match="no table `gateways`"):
        campaign.table("gateways")


def test_xarray_has_the_swept_fields_as_dimensions(small, tmp_path):
    pytest.importorskip("xarray")
    data = Campaign(small, folder=tmp_path, grid={"link.sat.loss": [0, 0.02]}).run().to_xarray()
    assert dict(data.sizes) == {"link.sat.delay_s": 2, "link.sat.loss": 2, "flow": 1, "run": 2}
    goodput = data["goodput_bps"].mean("run").sel(flow="main")
    assert float(goodput.sel({"link.sat.delay_s": 0.02, "link.sat.loss": 0})) > 9e5


def test_a_figure_has_its_curves_and_units(small, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    campaign = Campaign(small, folder=tmp_path, grid={"link.sat.loss": [0, 0.02]}).run(progress=False)
    ax = campaign.plot("goodput", x="link.sat.delay_s")
    assert ax.get_ylabel() == "goodput (Mbit/s)" and ax.get_xlabel() == "sat delay (s)"
    assert len(ax.get_legend().get_texts()) == 2
    with pytest.raises(NoResults, match="there are goodput"):
        campaign.plot("godput")


def test_a_stopping_rule_holds(small, tmp_path):
    campaign = Campaign(small, folder=tmp_path, until="ci95 25%", min_runs=2, max_runs=6).run(figures=False)
    runs = campaign.summary.to_dict()["runs"]
    assert all(2 <= count <= 6 for count in runs)


def test_ctrl_c_keeps_what_is_finished(small, tmp_path):
    long = Campaign(small.set("run.duration", "300s"), folder=tmp_path, runs=60)
    done = threading.Event()

    def interrupt(finished: int, needed: int) -> None:
        if finished >= 2 and not done.is_set():
            done.set()
            os.kill(os.getpid(), signal.SIGINT)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long.run(progress=interrupt, figures=False)
    kept = len(list((tmp_path / "runs").glob("*.run")))
    assert 2 <= kept < 120 and done.is_set() and time.monotonic() - begin < 120
    assert not (tmp_path / "results.csv").exists()


def test_another_thread_cancels_and_what_is_finished_is_kept(small, tmp_path):
    campaign = Campaign(small, folder=tmp_path, runs=3)
    campaign.cancel()  # nothing is run: nothing happens
    looked, cancelled = threading.Event(), threading.Event()

    def hold(finished: int, needed: int) -> None:
        if finished >= 1:
            looked.set()
            cancelled.wait()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(campaign.run, threads=1, progress=hold, figures=False)
        running.add_done_callback(lambda _: looked.set())
        looked.wait()
        campaign.cancel()
        cancelled.set()
        with pytest.raises(Cancelled, match="what is finished is kept"):
            running.result()
    assert list((tmp_path / "runs").glob("*.run")) and not (tmp_path / "results.csv").exists()
    assert len(campaign.run(progress=False, figures=False).results) == 6


def test_an_exception_of_the_progress_s_ends_the_runs(small, tmp_path):
    def fail(finished: int, needed: int) -> None:
        raise RuntimeError("out of cheese")

    with pytest.raises(RuntimeError, match="out of cheese"):
        Campaign(small.set("run.duration", "900s"), folder=tmp_path).run(progress=fail)


@pytest.mark.parametrize("library", ["tqdm", "rich"])
def test_progress_is_a_bar_of_either_library(small, tmp_path, capfd, library):
    pytest.importorskip(library)
    Campaign(small, folder=tmp_path).run(progress=library, figures=False)
    assert "4/4" in capfd.readouterr().err
    with pytest.raises(ValueError, match="'tqdm', 'rich'"):
        Campaign(small, folder=tmp_path).run(progress="tdqm")


def test_what_a_run_has_recorded_is_found_by_its_host(small, tmp_path):
    campaign = Campaign(small.set("record.packets", True).set("record.qlog", True), folder=tmp_path)
    with pytest.raises(NoResults, match="nothing was recorded"):
        campaign.capture("a")
    campaign.run(progress=False, figures=False)
    causes = campaign.capture("a", point=1, run=1).segments.to_dict()["cause"]
    assert any(causes)
    with pytest.raises(NoResults, match="no recording of `c` .a, b."):
        campaign.capture("c")


def test_a_long_table_is_shown_by_its_first_rows(small, tmp_path):
    table = Campaign(small, folder=tmp_path).run(progress=False).table("series")
    rows = len(table)
    assert rows > 20 and f"{rows} rows, of which 20 are shown" in table._repr_html_()
    assert table.head(3) == {name: column[:3] for name, column in table.to_dict().items()}
    assert table.head(10 * rows) == table.to_dict()
    assert repr(table).startswith(f"<Table of {rows} rows: point, ")


def test_a_folder_that_cannot_be_written_is_said_in_one_line(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write") as error:
        Campaign(small, folder=tmp_path / "file").run(progress=False)
    assert "\n" not in str(error.value)


def test_the_program_came_along():
    version = subprocess.run([BENTPIPE, "--version"], check=True, capture_output=True, text=True).stdout
    module = subprocess.run([sys.executable, "-m", "bentpipe", "--version"], check=True, capture_output=True, text=True)
    assert version == module.stdout and version.startswith("bentpipe ")


def test_an_example_is_a_figure_in_ten_lines(tmp_path):
    pytest.importorskip("matplotlib")
    scenario = Scenario.load("geo-download").set("run.duration", "20s")
    campaign = Campaign(scenario, grid={"link.sat.loss": [0, 1e-3]}, runs=2, folder=tmp_path).run(figures=False)
    campaign.plot("goodput").figure.savefig(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000

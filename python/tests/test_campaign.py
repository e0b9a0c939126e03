"""Campaigns on this machine: the command's results, resumed, told of, and interrupted."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bentpipe import Campaign, Cancelled, NoResults, Scenario, ScenarioError
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


def test_so_it_is_with_a_grid_and_a_number_of_runs(small, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    Campaign(small, grid={"link.sat.loss": [0, 1e-3]}, runs=3, folder=tmp_path / "python").run(progress=False)
    changes = ["--set", "sweep.link.sat.loss=[0, 0.001]", "--runs", "3"]
    command = [BENTPIPE, "sim", "small.toml", *changes, "--no-figures", "--output", "command", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    ours, theirs = contents(tmp_path / "python"), contents(tmp_path / "command")
    # Without losses nothing is random: one run is enough.
    assert ours.keys() == theirs.keys() and len([name for name in ours if name.endswith(".run")]) == 2 + 2 * 3
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
    assert data["goodput_bps"].attrs["units"] == "bit/s" and data["link.sat.delay_s"].attrs["units"] == "s"
    goodput = data["goodput_bps"].mean("run").sel(flow="main")
    assert float(goodput.sel({"link.sat.delay_s": 0.02, "link.sat.loss": 0})) > 9e5


def test_every_table_is_a_dataset(small, tmp_path):
    pytest.importorskip("xarray")
    text = SMALL.replace('link = ["queue"]', 'link = ["queue"]\nflow = ["cwnd", "srtt", "sequence"]\nflows = ["main"]')
    requests = 'to = "b"\nworkload = "request-response"\nreply = "20KB"\nrequests = 5\n[group.all]\nflows = ["main"]'
    text = text.replace('to = "b"', requests)
    campaign = Campaign(Scenario(text, name="small"), folder=tmp_path).run(progress=False, figures=False)
    for name in campaign.tables:
        sizes = dict(campaign.to_xarray(name).sizes)
        assert sizes.pop("link.sat.delay_s") == 2, name
        assert "run" not in sizes or sizes["run"] == 2
    transfers = campaign.to_xarray("transfers")
    assert transfers.sizes["transfer"] > 1 and transfers["completion_s"].attrs["units"] == "s"
    series = campaign.to_xarray("series")
    assert {"cwnd", "srtt", "queue-packets", "queue-bytes"} == set(series.data_vars)
    units = {name: variable.attrs["units"] for name, variable in series.data_vars.items()}
    assert units == {"cwnd": "bytes", "srtt": "s", "queue-packets": "packets", "queue-bytes": "bytes"}
    window = series["cwnd"].sel({"element": "main", "link.sat.delay_s": 0.02, "run": 0})
    assert window.dims == ("time_s",) and float(window.max()) > 10_000


def test_a_figure_has_its_curves_and_units(small, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    campaign = Campaign(small, folder=tmp_path, grid={"link.sat.loss": [0, 0.02]}).run(progress=False)
    ax = campaign.plot("goodput", x="link.sat.delay_s")
    assert ax.get_ylabel() == "goodput (Mbit/s)" and ax.get_xlabel() == "sat delay (s)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["sat loss 0", "sat loss 0.02"]
    # By default it is the grid's field that is along the x axis; it can be named as there.
    assert campaign.plot().get_xlabel() == "sat loss"
    by_path = campaign.plot(x="link.sat.delay")
    assert by_path.get_xlabel() == "sat delay (s)" and by_path.get_xscale() == "linear"
    with pytest.raises(NoResults, match="no column `link.sat.dely` .swept are link.sat.delay, link.sat.loss"):
        campaign.plot(x="link.sat.dely")
    with pytest.raises(NoResults, match="there are goodput"):
        campaign.plot("godput")


def test_what_spans_decades_is_on_a_logarithmic_axis(small, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    short = small.set("run.duration", "1s")
    losses = Campaign(short, grid={"link.sat.loss": [0, 1e-4, 1e-2]}, folder=tmp_path / "losses").run(progress=False)
    assert losses.plot().get_xscale() == "symlog"
    rates = Campaign(short, grid={"link.sat.rate": ["100kbit/s", "1Mbit/s", "20Mbit/s"]}, folder=tmp_path / "rates")
    ax = rates.run(progress=False).plot()
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "sat rate (Mbit/s)"
    assert Campaign(short, grid={"link.sat.loss": [1e-3, 1e-2]}, folder=tmp_path / "x").run().plot().get_xscale() == "linear"


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

    with pytest.raises(KeyboardInterrupt):
        long.run(progress=interrupt, figures=False)
    kept = len(list((tmp_path / "runs").glob("*.run")))
    assert 2 <= kept < 120 and done.is_set()
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


def test_results_of_another_campaign_are_not_taken_for_its_own(small, tmp_path):
    Campaign(small, folder=tmp_path).run(progress=False, figures=False)
    other = Campaign(small, grid={"link.sat.loss": [0, 0.02]}, folder=tmp_path)
    for ask in (lambda: other.summary, lambda: other.tables, lambda: other.plot(), lambda: other.capture("a")):
        with pytest.raises(NoResults, match="results of another campaign .scenario.toml differs.: call `run`"):
            ask()
    assert len(other.run(progress=False).summary) == 4
    with pytest.raises(NoResults, match="another campaign"):
        Campaign(small, folder=tmp_path).results
    assert len(Campaign(small, folder=tmp_path).run(progress=False).results) == 4


def test_so_it_is_when_a_file_that_it_names_has_changed(tmp_path):
    text = SMALL.replace('loss = "1%"', 'trace = "rain.csv"')
    rain = tmp_path / "rain.csv"
    rain.write_text("time,rate\n0s,1Mbit/s\n")
    Campaign(Scenario(text, folder=tmp_path), folder=tmp_path / "x").run(progress=False, figures=False)
    rain.write_text("time,rate\n0s,2Mbit/s\n")
    with pytest.raises(NoResults, match="rain.csv differs"):
        Campaign(Scenario(text, folder=tmp_path), folder=tmp_path / "x").results


def test_what_has_no_name_has_a_folder_of_its_own(small):
    one, other = Scenario(SMALL), Scenario(SMALL).set("run.duration", "4s")
    folders = {Campaign(scenario).folder for scenario in (one, other)}
    assert len(folders) == 2 and all(folder.name.startswith("scenario-") for folder in folders)
    assert Campaign(one, grid={"link.sat.loss": [0, 0.1]}, runs=7).folder in folders
    assert Campaign(small).folder.name == "small"


def test_a_figure_that_cannot_be_drawn_is_a_warning(tmp_path):
    endless = SMALL + '[figure.completion]\ny = "completion_mean_s"\n'
    with pytest.warns(UserWarning, match="a figure is missing: .figure.completion. "):
        campaign = Campaign(Scenario(endless, name="endless"), folder=tmp_path).run(progress=False)
    assert len(campaign.results) == 4


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


def test_zipped_fields_have_one_dimension(small, tmp_path):
    pytest.importorskip("xarray")
    zipped = SMALL.split("[sweep]")[0] + '''
        [sweep]
        "link.sat.delay" = ["20ms", "100ms", "50ms"]
        "link.sat.rate" = ["1Mbit/s", "1Mbit/s", "2Mbit/s"]
        "flow.main.tcp" = ["linux", "linux,congestion=bbr", "linux"]
        "link.sat.queue" = ["10packets", "20packets"]
        zip = [["link.sat.rate", "link.sat.delay", "flow.main.tcp"]]
    '''
    campaign = Campaign(Scenario(zipped, name="zipped"), folder=tmp_path / "one").run(progress=False, figures=False)
    data = campaign.to_xarray()
    assert dict(data.sizes) == {"link.sat.delay_s": 3, "link.sat.queue_packets": 2, "flow": 1, "run": 2}
    assert not data["goodput_bps"].isnull().any()
    # In the order of the dimension, which is sorted.
    assert data["link.sat.delay_s"].values.tolist() == [0.02, 0.05, 0.1]
    assert data["link.sat.rate_bps"].dims == ("link.sat.delay_s",)
    assert data["link.sat.rate_bps"].values.tolist() == [1e6, 2e6, 1e6] and data["link.sat.rate_bps"].attrs["units"] == "bit/s"
    assert data["flow.main.tcp"].values.tolist() == ["linux", "linux", "linux,congestion=bbr"]
    assert dict(campaign.to_xarray("series").sizes)["link.sat.delay_s"] == 3
    # Values that come twice are no dimension.
    twice = zipped.replace('"50ms"', '"20ms"').replace("2Mbit/s", "1Mbit/s")
    data = Campaign(Scenario(twice, name="twice"), folder=tmp_path / "two").run(progress=False, figures=False).to_xarray()
    assert dict(data.sizes) == {"step": 3, "link.sat.queue_packets": 2, "flow": 1, "run": 2}
    assert data["link.sat.delay_s"].values.tolist() == [0.02, 0.1, 0.02] and not data["goodput_bps"].isnull().any()


def test_curves_are_called_by_what_distinguishes_them(small, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    names = ["standard", "cubic", "westwood", "bbr", "bbr1", "highspeed"]
    zipped = SMALL.split("[sweep]")[0] + f'''
        [sweep]
        "flow.main.tcp" = {[f"linux,congestion={name}" for name in names]}
        "link.sat.queue" = {[f"{number}packets" for number in range(10, 16)]}
        "link.sat.delay" = ["20ms", "100ms"]
        zip = [["flow.main.tcp", "link.sat.queue"]]
    '''
    campaign = Campaign(Scenario(zipped, name="zipped"), folder=tmp_path).run(progress=False, figures=False)
    ax = campaign.plot("goodput", x="link.sat.delay")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"linux,congestion={name}" for name in names]
    ax.figure.canvas.draw()
    legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.y1 < axes.y0, "it hides nothing"
    assert legend.y0 >= 0 and axes.height > 200
    # A field that is zipped with the one along the axis follows from it.
    along = campaign.plot("goodput", x="link.sat.queue")
    assert [text.get_text() for text in along.get_legend().get_texts()] == ["sat delay 20 ms", "sat delay 100 ms"]


def test_a_finished_campaign_leaves_its_tables_as_they_are(small, tmp_path):
    def times() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.*")}

    def run(runs: int = 2) -> Campaign:
        return Campaign(small, runs=runs, folder=tmp_path).run(progress=False, figures=False)

    run()
    first, before = contents(tmp_path), times()
    run()
    assert times() == before and contents(tmp_path) == first
    (tmp_path / "results.csv").unlink()
    (tmp_path / "links.csv").write_text("mine")
    run()
    assert contents(tmp_path) == first, "what is missing or was touched is written again"
    changed = (tmp_path / "runs.csv").read_text().replace("1", "2")
    (tmp_path / "runs.csv").write_text(changed)
    run()
    assert contents(tmp_path) == first
    assert run(3).results.to_dict()["run"] == [0, 1, 2, 0, 1, 2]
    assert run().results.to_dict()["run"] == [0, 1, 0, 1], "fewer runs are other tables"


def test_columns_of_swept_fields_have_their_units(small, tmp_path):
    grid = {"link.sat.rate": ["1Mbit/s", "2Mbit/s"], "flow.main.bytes": ["10KB", "20KB"]}
    campaign = Campaign(small, grid=grid, runs=1, folder=tmp_path).run(progress=False)
    assert campaign.columns == {
        "link.sat.delay": "link.sat.delay_s",
        "link.sat.rate": "link.sat.rate_bps",
        "flow.main.bytes": "flow.main.bytes",
    }
    assert set(campaign.columns.values()) < set(campaign.summary.columns)


def test_counts_and_clients_that_cannot_be_are_refused(small, tmp_path):
    campaign = Campaign(small, folder=tmp_path)
    for threads in (0, -1):
        with pytest.raises(ValueError, match=f"threads is {threads} .expected 1 or more."):
            campaign.run(threads=threads)
    with pytest.raises(TypeError, match=r"client is 'localhost:8786' \(expected distributed.Client\('localhost:8786'\)\)"):
        campaign.run("localhost:8786")
    for runs in (0, -1):
        with pytest.raises(ScenarioError, match=f"runs = {runs} is out of range .expected 1 to 100000."):
            Campaign(small, runs=runs)
    with pytest.raises(ValueError, match="rows is -1"):
        campaign.run(progress=False, figures=False).summary.head(-1)


def test_what_is_not_installed_is_named(small, tmp_path, monkeypatch):
    table = Campaign(small, folder=tmp_path).run(progress=False, figures=False).summary
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match="to_polars needs polars: pip install polars"):
        table.to_polars()


def test_background_has_no_transfers_unless_it_says_so(tmp_path):
    text = SMALL.split("[sweep]")[0].replace('to = "b"', 'to = "b"\nworkload = "poisson"\nload = "20%"\nof = "sat"')
    campaign = Campaign(Scenario(text, name="noise"), folder=tmp_path / "noise").run(progress=False, figures=False)
    with pytest.raises(NoResults, match="unless they say `background = false`"):
        campaign.table("transfers")
    assert "There is no `transfers.csv`" in (tmp_path / "noise" / "README.md").read_text()
    kept = Scenario(text, name="kept").set("flow.main.background", False)
    assert len(Campaign(kept, folder=tmp_path / "kept").run(progress=False, figures=False).table("transfers")) > 3

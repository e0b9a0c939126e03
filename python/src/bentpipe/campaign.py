"""Campaigns: a scenario at every point of its sweep, as often as needed, with the results in a folder."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _bentpipe
from .captures import Capture, read_capture
from .errors import Cancelled, NoResults, RunsFailed
from .inspection import Factory
from .plotting import column_of
from .progress import Told, shown
from .scenario import UNNAMED, Scenario
from .tables import Table

if TYPE_CHECKING:
    import distributed
    import matplotlib.axes

__all__ = ["Campaign"]

#: Of each figure `summary` has these.
PARTS = ("mean", "sd", "half_width_95", "half_width_99")


class Campaign:
    """All runs of a scenario, and what came of them.

    Runs that were finished before, by the same version and from the same inputs, are not made again. The folder is that
    of the command `bentpipe sim`, to the byte: either goes on where the other was.

    Examples:
        >>> campaign = Campaign(Scenario.load("geo-download"), grid={"link.sat.loss": [0, 0.01]}, runs=2, folder=tmp / "x")
        >>> campaign
        <Campaign 'geo-download': 8 points in ...x>
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        *,
        grid: Mapping[str, Iterable[Any]] | None = None,
        runs: int | None = None,
        until: str | None = None,
        min_runs: int | None = None,
        max_runs: int | None = None,
        folder: str | Path | None = None,
        controls: Mapping[str, Factory] | None = None,
    ) -> None:
        """Of a scenario, or of a file's or an example's name.

        Args:
            scenario: what is run.
            grid: fields by their paths, and the values of each: every combination is a point.
            runs: so many runs of each point, whatever the file says.
            until: run each point until its figures are as sure as this: "ci95 5%", "ci99 5%", "sd 5%".
            min_runs: with `until`: at least so many.
            max_runs: with `until`: at most so many.
            folder: where results go. Without it `results/NAME`; what has no name, as a scenario that was built in Python,
                has a folder of its own below `results`, named by its digest: other grids and numbers of runs go there, too.
            controls: congestion controls in Python, by the names that TCPs of scenario and grid have for them; see
                `Scenario.with_controls`.
        """
        scenario = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario, controls=controls)
        if controls:
            scenario = scenario.with_controls(controls)
        own = Path("results", _folder_name(scenario))
        if grid:
            scenario = scenario.sweep(grid)
        if any(rule is not None for rule in (runs, until, min_runs, max_runs)):
            scenario = scenario.repeat(runs, until=until, min=min_runs, max=max_runs)
        self.scenario = scenario
        self._grid = list(grid or {})
        self.folder = own if folder is None else Path(folder)
        self._under_way: set[threading.Event] = set()

    def run(
        self,
        client: distributed.Client | None = None,
        *,
        threads: int | None = None,
        progress: bool | Literal["tqdm", "rich"] | Told = True,
        figures: bool | None = None,
    ) -> Campaign:
        """Makes the runs that are missing, and then the tables and figures.

        Ctrl-C keeps what is finished, and so does `cancel`; the same call goes on from there. A figure that cannot be drawn
        is a warning: results are there all the same.

        Tables that are those of the runs already are left as they are.

        Args:
            client: of a Dask cluster that makes the runs; without one this machine does.
            threads: without a cluster: so many (as many as there are cores).
            progress: a bar where somebody looks, by tqdm or else by rich, whichever is installed; "tqdm" or "rich": by
                that one; or a function that is given how many runs are finished and how many are needed. What it raises
                ends the runs, as Ctrl-C does.
            figures: draw the scenario's figures into the folder, or do not. Without it they are drawn unless there is a grid,
                of which they know nothing.

        Returns:
            The campaign itself.

        Raises:
            RunsFailed: a run could not be completed. The others are in the tables.
            BentpipeError: the cluster has given runs up. What came back is kept, and no tables are written.
            Cancelled: another thread has called `cancel`.
            OSError: the folder cannot be written.
            TypeError: `client` is none.
            ValueError: there cannot be so many `threads`.
            VersionMismatch: a worker has another version of bentpipe.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads} (expected 1 or more)")
        if client is not None and not hasattr(client, "submit"):
            given = f"distributed.Client({client!r})" if isinstance(client, str) else "a distributed.Client"
            raise TypeError(f"client is {client!r} (expected {given})")
        figures = not self._grid if figures is None else figures
        cancelled = threading.Event()
        self._under_way.add(cancelled)
        try:
            with shown(progress, self.scenario.name) as show:

                def look(finished: int, needed: int) -> None:
                    if show is not None:
                        show(finished, needed)
                    if cancelled.is_set():
                        raise Cancelled("the campaign was cancelled; what is finished is kept")

                outcome = self._make(client, threads, look, figures)
        finally:
            self._under_way.discard(cancelled)
        if outcome["stopped"]:
            raise Cancelled("the runs were stopped; what is finished is kept")
        for why in outcome["undrawn"]:
            warnings.warn(f"a figure is missing: {why}", stacklevel=2)
        if outcome["failures"]:
            raise RunsFailed(outcome["failures"])
        return self

    def _make(
        self, client: distributed.Client | None, threads: int | None, look: Told, figures: bool
    ) -> dict[str, Any]:
        experiment = self.scenario.experiment
        if client is None:
            return _bentpipe.run(experiment, self.folder, threads, look, figures)
        from .cluster import run_on

        return run_on(client, self.scenario, self.folder, look, figures)

    def cancel(self) -> None:
        """Ends what `run` is doing in another thread, here or on a cluster: it raises `Cancelled` there within a second or
        two. Finished runs are kept, and the next `run` goes on from there.

        Where nothing is run nothing happens, and a later `run` is not concerned. Tables that are being written already
        are written to their end.
        """
        for cancelled in tuple(self._under_way):
            cancelled.set()

    @property
    def summary(self) -> Table:
        """One row a flow of a point, over its runs: `point`, the swept fields, `flow`, `runs`, and four columns (float64) of
        each figure: its mean, its standard deviation, and the half-widths of the mean's 95 % and 99 % confidence intervals.
        Null where no run gives the figure, or only one gives it.

        | column | type | unit | mean over the runs; `_sd`, `_half_width_95`, `_half_width_99` for `_mean`: its spread |
        | --- | --- | --- | --- |
        | `goodput_mean_bps` | float64 | bit/s | goodput |
        | `completion_mean_s` | float64 | s | mean completion time |
        | `completion_min_mean_s` | float64 | s | shortest completion time |
        | `completion_median_mean_s` | float64 | s | median of the completion times |
        | `completion_p95_mean_s` | float64 | s | 95th percentile of the completion times |
        | `completion_p99_mean_s` | float64 | s | 99th percentile of the completion times |
        | `efficiency_mean` | float64 | share | goodput as a share of what the path can carry |
        | `retransmissions_mean` | float64 | segments | retransmissions of data |
        | `needless_retransmissions_mean` | float64 | segments | segments that the receiver had |
        | `timeouts_mean` | float64 | events | retransmission timeouts with data outstanding |
        | `bound_share_mean` | float64 | share | acknowledgments held to an increase of one segment |
        | `window_reductions_mean` | float64 | events | reductions of the congestion window |
        | `first_recovery_mean_s` | float64 | s | length of the first recovery |
        | `first_recovery_reductions_mean` | float64 | events | reductions in the first recovery |
        | `utilisation_mean` | float64 | share | utilisation of the busiest link direction; the point's |
        | `fairness_jain_mean` | float64 | 1/n to 1 | Jain's index; the point's |
        """
        return self.table("summary")

    @property
    def results(self) -> Table:
        """One row a flow of a run: `point`, the swept fields, `run`, and

        | column | type | unit | says |
        | --- | --- | --- | --- |
        | `flow` | str | | the flow's name; of several of a kind with .1, .2 behind it |
        | `background` | bool | | whether it is there for the others only |
        | `start_s` | float64 | s | when its first transfer began |
        | `finish_s` | float64 | s | when nothing more was to come; empty if it never was |
        | `delivered_bytes` | uint64 | bytes | read by the receiving application after the warm-up |
        | `goodput_bps` | float64 | bit/s | those bytes over the measured part of the flow's life |
        | `connections` | uint64 | connections | opened, warm-up included |
        | `transfers_begun` | uint64 | transfers | begun, warm-up included |
        | `transfers` | uint64 | transfers | completed, warm-up included |
        | `completion_mean_s` | float64 | s | mean time of a completed transfer, from its SYN or request to its last byte read |
        | `completion_min_s` | float64 | s | shortest of these times |
        | `completion_median_s` | float64 | s | their median |
        | `completion_p90_s` | float64 | s | their 90th percentile |
        | `completion_p95_s` | float64 | s | their 95th percentile |
        | `completion_p99_s` | float64 | s | their 99th percentile |
        | `completion_max_s` | float64 | s | longest of these times |
        | `efficiency` | float64 | share | goodput as a share of what the slowest link on the path can carry, headers taken off |
        | `datagrams` | uint64 | packets | datagrams or pings sent after the warm-up |
        | `arrived_datagrams` | uint64 | packets | datagrams that arrived, or pings that were answered, after the warm-up |
        | `segments` | uint64 | segments | sent by the source after the warm-up, repeats included |
        | `retransmissions` | uint64 | segments | segments of data retransmitted after the warm-up, probes apart |
        | `probes` | uint64 | segments | data retransmitted to bring an acknowledgment (tail loss probes), after the warm-up |
        | `fin_retransmissions` | uint64 | segments | FINs retransmitted without data, after the warm-up |
        | `retransmitted_bytes` | uint64 | bytes | data retransmitted after the warm-up, by probes, too |
        | `needless_retransmissions` | uint64 | segments | segments that came to the sink though it had all their data, after the warm-up |
        | `timeouts` | uint64 | events | expiries of the retransmission timer with data outstanding, after the warm-up |
        | `fin_timeouts` | uint64 | events | expiries of the retransmission timer with only a FIN outstanding, after the warm-up |
        | `recovery_timeouts` | uint64 | events | expiries of the retransmission timer in the midst of fast recovery, after the warm-up |
        | `bound_share` | float64 | share | acknowledgments in congestion avoidance for which Constant-Rate or Increase-by-K is held to one segment |
        | `recoveries` | uint64 | events | episodes of fast recovery after the warm-up |
        | `window_reductions` | uint64 | events | of the congestion window, for losses, timeouts and ECN marks, after the warm-up |
        | `corruption_recoveries` | uint64 | events | of these, those in which links had lost or damaged all that was retransmitted |
        | `corruption_answered` | uint64 | events | of those by corruption, those in which the window was reduced: taken for congestion |
        | `congestion_recoveries` | uint64 | events | of these, those in which a queue had dropped something, or nothing was lost |
        | `congestion_unanswered` | uint64 | events | of those by congestion, those in which the window was not reduced: taken for corruption |
        | `first_recovery_s` | float64 | s | from the first fast retransmission or timeout until all is acknowledged that was outstanding then |
        | `first_recovery_reductions` | uint64 | events | reductions of the congestion window in that time |
        | `min_rtt_s` | float64 | s | minimum round-trip time that the source measured |
        | `srtt_s` | float64 | s | the source's smoothed round-trip time at the end |
        | `ssthresh_estimate_bytes` | uint64 | bytes | the first slow start threshold, where the source estimates one (`ssthresh-estimate`) |
        | `ssthresh_estimate_error` | float64 | share | by how much that is more than the path's slowest link carries in the minimum round-trip time; negative if less |

        Counts are of the measured part of the run unless said otherwise; docs/metrics.md has the definitions.
        """  # noqa: E501
        return self.table("results")

    @property
    def series(self) -> Table:
        """One row a moment of a recorded series of a run, if the scenario's `[record]` asks for some: `point`, the swept
        fields, `run`, and

        | column | type | unit | says |
        | --- | --- | --- | --- |
        | `time_s` | float64 | s | when |
        | `element` | str | | a flow, a link with /forward or /back, a gateway or a middlebox |
        | `quantity` | str | | what was recorded of it |
        | `value` | float64 | bytes, packets, s, bit/s | in the quantity's base unit |

        `to_xarray("series")` has a variable for each quantity.
        """
        return self.table("series")

    @property
    def tables(self) -> dict[str, Table]:
        """All tables that there are, by name; the folder's README.md says what their columns mean.

        Raises:
            NoResults: the folder has those of another campaign.
        """
        self._check_folder()
        return {path.stem: Table(path) for path in sorted(self.folder.glob("*.parquet"))}

    def table(self, name: str) -> Table:
        """The table of this name: "results", "runs", "links", "gateways", "groups", "transfers", "series", "summary",
        "summary-links" or "summary-groups".

        Raises:
            NoResults: there is none, or the folder has those of another campaign: `run` was not called since the scenario,
                the grid or the rule was changed.
        """
        self._check_folder()
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            there = ", ".join(self.tables)
            none = f"no table `{name}` (there are {there})" if there else "no tables: nothing was run yet"
            why = "; flows of `poisson` and `web` are background and have no rows there unless they say `background = false`"
            raise NoResults(f"{self.folder} has {none}{why if there and name == 'transfers' else ''}")
        return Table(path)

    def _check_folder(self) -> None:
        """Raises `NoResults` if what is in the folder was made of another scenario."""
        _, text, files = self.scenario.experiment.parts()
        # Files that lie elsewhere are not in it.
        inside = {name: content for name, content in files.items() if not (Path(name).is_absolute() or ".." in name)}
        for name, content in {"scenario.toml": text, **inside}.items():
            path = self.folder / name
            if path.is_file() and path.read_bytes() != content.encode():
                raise NoResults(f"{self.folder} has the results of another campaign ({name} differs): call `run`")

    def capture(self, host: str, *, point: int = 0, run: int = 0) -> Capture:
        """The packets that passed a host in a run, or what its TCP did and why, if the scenario's `[record]` asks for
        `packets` or `qlog`; of a qlog, if there are both.

        Args:
            host: its name; a gateway's sides are "NAME@lan" and "NAME@satellite" in packets, and one in a qlog.
            point: of the sweep, from 0.
            run: of the point, from 0.

        Raises:
            NoResults: there is no such recording, or it is another campaign's.
        """
        self._check_folder()
        folder = self.folder / "packets" / f"point-{point}-run-{run}"
        for path in (folder / f"{host}.qlog", folder / f"{host}.pcapng"):
            if path.exists():
                return read_capture(path)
        there = ", ".join(sorted({path.stem for path in folder.glob("*")})) or "nothing was recorded"
        raise NoResults(f"{folder} has no recording of `{host}` ({there})")

    def to_xarray(self, table: str = "results") -> Any:
        """A table as an `xarray.Dataset`, with the units of its variables in their attributes (`units`).

        Its dimensions are the swept fields, the flow (the link and its ends, the gateway, the group), and the run. Fields that
        are swept in step (`zip`) have one dimension together: the first of them whose values all differ, or else `step`, a
        number from 0; the others are its coordinates. A field's name is that of its column (`columns`). Those of
        "transfers" have a number within flow and run besides; those of "series" are the moment `time_s` and the `element`,
        with a variable for each quantity that was recorded, but for `sequence`. Cells that no run has are NaN.

        Args:
            table: its name, as for `table`.

        Raises:
            NoResults: there is no such table.

        Examples:
            >>> scenario = Scenario.load("geo-download").set("flow.download.bytes", "100KB")
            >>> campaign = Campaign(scenario, grid={"link.sat.loss": [0, 1e-3]}, runs=2, folder=tmp / "xarray").run()
            >>> data = campaign.to_xarray()
            >>> dict(data.sizes), data["goodput_bps"].attrs["units"]
            ({'link.sat.loss': 2, 'flow': 1, 'run': 2}, 'bit/s')
            >>> data["goodput_bps"].sel(flow="download").mean("run").dims
            ('link.sat.loss',)
        """
        from .datasets import dataset

        return dataset(self, table)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the swept fields, by the fields' paths. A quantity's column has its unit at the end:
        `link.sat.rate` is in `link.sat.rate_bps`.

        Raises:
            NoResults: nothing was run yet.

        Examples:
            >>> grid = {"link.sat.rate": ["1Mbit/s", "2Mbit/s"], "flow.download.bytes": ["10KB"]}
            >>> campaign = Campaign("geo-download", grid=grid, runs=1, folder=tmp / "columns").run()
            >>> campaign.columns
            {'flow.download.bytes': 'flow.download.bytes', 'link.sat.rate': 'link.sat.rate_bps'}
            >>> campaign.summary.to_pandas()[campaign.columns["link.sat.rate"]].max()
            np.float64(2000000.0)
        """
        there = self.table("runs").columns
        found = {path: column_of(path, there) for path in self.scenario.swept}
        return {path: name for path, name in found.items() if name is not None}

    def _zipped(self) -> list[tuple[list[str], int]]:
        """The columns of swept fields, by groups of which each changes in step; and the number of its steps."""
        columns = self.columns
        groups = self.scenario.experiment.zipped()
        return [([columns[path] for path in group if path in columns], steps) for group, steps in groups]

    def plot(
        self,
        metric: str = "goodput",
        *,
        x: str | None = None,
        confidence: int = 95,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Means of a figure over a swept field, with confidence intervals; a curve for each flow and for each combination of
        the other fields. An axis whose values span two decades or more is logarithmic (with a linear piece at zero, if that
        is among them). A curve's name has what distinguishes it from the others; many or long ones stand below the axes.

        Args:
            metric: what `summary` has a mean of: "goodput", "completion", "retransmissions" …
            x: the field along the x axis, as in the grid ("link.sat.delay"), or a column ("point"). Without it the grid's
                first field, or else the scenario's first swept one.
            confidence: 95 or 99, in per cent.
            ax: where it is drawn; without it in a figure of its own.

        Raises:
            NoResults: there is no such figure or column, or nothing was run.

        Examples:
            >>> grid = {"link.sat.loss": [0, 1e-3], "link.sat.delay": ["20ms", "250ms"]}
            >>> scenario = Scenario.load("geo-download").set("run.duration", "5s").set("flow.download.bytes", "100KB")
            >>> campaign = Campaign(scenario, grid=grid, runs=1, folder=tmp / "plot").run()
            >>> ax = campaign.plot("completion")
            >>> ax.get_xlabel(), ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
            ('sat loss', 'completion (s)', ['sat delay 20 ms', 'sat delay 250 ms'])
        """
        from .plotting import curves

        return curves(self, metric, x=x, confidence=confidence, ax=ax)

    def __repr__(self) -> str:
        points = len(self.scenario)
        return f"<Campaign {self.scenario.name!r}: {points} point{'s' if points != 1 else ''} in {self.folder}>"


def _folder_name(scenario: Scenario) -> str:
    """Below `results`. Scenarios that nobody has named would all have the same."""
    if scenario.name != UNNAMED:
        return Path(scenario.name).stem
    return f"{UNNAMED}-{hashlib.sha256(str(scenario).encode()).hexdigest()[:8]}"

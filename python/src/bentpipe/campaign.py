"""Campaigns: a scenario at every point of its sweep, as often as needed, with the results in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _bentpipe
from .captures import Capture, read_capture
from .errors import Cancelled, NoResults, RunsFailed
from .progress import Told, shown
from .scenario import Scenario
from .tables import Table

if TYPE_CHECKING:
    import distributed
    import matplotlib.axes

__all__ = ["Campaign"]


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
    ) -> None:
        """Of a scenario, or of a file's or an example's name.

        Args:
            scenario: what is run.
            grid: fields by their paths, and the values of each: every combination is a point.
            runs: so many runs of each point, whatever the file says.
            until: run each point until its figures are as sure as this: "ci95 5%", "ci99 5%", "sd 5%".
            min_runs: with `until`: at least so many.
            max_runs: with `until`: at most so many.
            folder: where results go (`results/NAME` without it).
        """
        scenario = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
        if grid:
            scenario = scenario.sweep(grid)
        if any(rule is not None for rule in (runs, until, min_runs, max_runs)):
            scenario = scenario.repeat(runs, until=until, min=min_runs, max=max_runs)
        self.scenario = scenario
        self._has_grid = bool(grid)
        self.folder = Path("results", Path(scenario.name).stem) if folder is None else Path(folder)
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

        Ctrl-C keeps what is finished, and so does `cancel`; the same call goes on from there.

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
            Cancelled: another thread has called `cancel`.
            OSError: the folder cannot be written.
            VersionMismatch: a worker has another version of bentpipe.
        """
        figures = not self._has_grid if figures is None else figures
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

        return run_on(client, experiment, self.folder, look, figures)

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
        """One row a flow of a point, over its runs: means, standard deviations, half-widths of confidence intervals."""
        return self.table("summary")

    @property
    def results(self) -> Table:
        """One row a flow of a run."""
        return self.table("results")

    @property
    def tables(self) -> dict[str, Table]:
        """All tables that there are, by name; the folder's README.md says what their columns mean."""
        return {path.stem: Table(path) for path in sorted(self.folder.glob("*.parquet"))}

    def table(self, name: str) -> Table:
        """The table of this name: "results", "runs", "links", "gateways", "groups", "transfers", "series", "summary",
        "summary-links" or "summary-groups".

        Raises:
            NoResults: there is none.
        """
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            there = ", ".join(self.tables) or "nothing was run yet"
            raise NoResults(f"{self.folder} has no table `{name}` ({there})")
        return Table(path)

    def capture(self, host: str, *, point: int = 0, run: int = 0) -> Capture:
        """The packets that passed a host in a run, or what its TCP did and why, if the scenario's `[record]` asks for
        `packets` or `qlog`; of a qlog, if there are both.

        Args:
            host: its name; a gateway's sides are "NAME@lan" and "NAME@satellite" in packets, and one in a qlog.
            point: of the sweep, from 0.
            run: of the point, from 0.

        Raises:
            NoResults: there is no such recording.
        """
        folder = self.folder / "packets" / f"point-{point}-run-{run}"
        for path in (folder / f"{host}.qlog", folder / f"{host}.pcapng"):
            if path.exists():
                return read_capture(path)
        there = ", ".join(sorted({path.stem for path in folder.glob("*")})) or "nothing was recorded"
        raise NoResults(f"{folder} has no recording of `{host}` ({there})")

    def to_xarray(self, table: str = "results") -> Any:
        """A table as an `xarray.Dataset`: its dimensions are the swept fields, the flow (the link, the gateway …), and the
        run. Cells that no run has are NaN."""
        frame = self.table(table).to_pandas().drop(columns="point")
        columns = list(frame.columns)
        swept = self._swept(columns)
        names = [name for name in ("flow", "link", "from", "to", "gateway", "group") if name in columns]
        dimensions = [*swept, *names, *(["run"] if "run" in columns else [])]
        return frame.set_index(dimensions).to_xarray()

    def _swept(self, columns: list[str]) -> list[str]:
        paths = self.scenario.swept
        return [name for name in columns if any(name == path or name.startswith(path + "_") for path in paths)]

    def plot(
        self,
        metric: str = "goodput",
        *,
        x: str | None = None,
        confidence: int = 95,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Means of a figure over the first swept field, with confidence intervals; a curve for each flow and for each
        combination of the other fields.

        Args:
            metric: what `summary` has a mean of: "goodput", "completion", "retransmissions", "utilisation" …
            x: the column along the x axis (the first swept field).
            confidence: 95 or 99, in per cent.
            ax: where it is drawn; without it in a figure of its own.
        """
        from .plotting import curves

        return curves(self, metric, x=x, confidence=confidence, ax=ax)

    def __repr__(self) -> str:
        points = len(self.scenario)
        return f"<Campaign {self.scenario.name!r}: {points} point{'s' if points != 1 else ''} in {self.folder}>"


"""Congestion controls, also in Python, and pairs of gateways, scored on traces of links."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from . import _bentpipe
from .campaign import Campaign
from .inspection import Factory
from .progress import Told
from .scenario import Scenario

#: What is scored if nothing else is said.
CONTENDERS = ("cubic", "bbr1", "bbr", "gateways")


class TraceBench:
    """Contenders on traces of links, in LeoReplayer's setting: as `bentpipe bench traces`.

    1 and 10 bulk flows for up to 120 s, 100 KB every second and a ping every 100 ms beside them; downlinks have a queue of
    50,000 packets and lose 0.01 %, uplinks (`up` or `uplink` in a name) 500 packets and 0.2 %.

        >>> bench = TraceBench(contenders=["cubic", "gateways"], flows=[1], duration="5s", folder="results/traces")
        >>> bench
        <TraceBench: 2 contenders on 2 traces in results/traces>
        >>> [row["contender"] for row in bench.run(progress=False).means()]
        ['cubic', 'gateways']
    """

    def __init__(
        self,
        traces: str | Path | Sequence[str | Path] = (),
        *,
        contenders: Iterable[str] = CONTENDERS,
        controls: Mapping[str, Factory] | None = None,
        flows: int | Iterable[int] = (1, 10),
        duration: str | float = "120s",
        runs: int = 1,
        way: Literal["up", "down"] | None = None,
        folder: str | Path = "results/traces",
    ) -> None:
        """Of files, `"RATES,DELAYS"`, or folders of them; without any of two that come with bentpipe.

        Args:
            traces: what `bentpipe trace show` reads.
            contenders: `gateways` between Linux hosts with CUBIC; congestion controls of Linux hosts, such as `bbr`, which is
                BBR version 3; or `NAME=TCP settings`. `mine:gain=2` is a control in Python with a parameter.
            controls: congestion controls in Python by their names, which are contenders as well if no contender names them;
                see `Scenario.with_controls`.
            flows: numbers of bulk flows.
            duration: of a trace at most; a number is in seconds.
            runs: so many of each, with random losses of their own.
            way: all traces are of this direction, whatever their names say.
            folder: where results go.

        Raises:
            OSError: a file cannot be read, or is no trace of a rate.
            ValueError: there is no such contender, or a control has the name of one of bentpipe's own.
        """
        controls = dict(controls or {})
        paths = [traces] if isinstance(traces, (str, Path)) else traces
        flows = [flows] if isinstance(flows, int) else list(flows)
        duration = duration if isinstance(duration, str) else f"{duration}s"
        self._bench = _bentpipe.TraceBench(
            [str(path) for path in paths], list(contenders), list(controls), flows, duration, runs, way
        )
        for note in self._bench.notes():
            warnings.warn(note, stacklevel=2)
        scenario = Scenario.of_files("traces", self._bench.text(), self._bench.files(), controls=controls)
        #: What is run, of which all tables are.
        self.campaign = Campaign(scenario, folder=folder)

    def run(
        self,
        client: Any = None,
        *,
        threads: int | None = None,
        progress: bool | Literal["tqdm", "rich"] | Told = True,
        figures: bool = True,
    ) -> TraceBench:
        """Makes the runs that are missing, tables and figures: as `Campaign.run`."""
        self.campaign.run(client, threads=threads, progress=progress, figures=figures)
        return self

    def scores(self) -> list[dict[str, Any]]:
        """A row for each trace, number of flows and contender, for `pandas.DataFrame`.

        `trace`, `way`, `contender`, `flows`; `utilisation`, a share; `delay_p50_s`, `delay_p95_s` and `delay_p99_s`, the pings'
        round trips through the queue; `short_mean_s`, `short_p95_s` and `short_unfinished`, of the transfers of 100 KB;
        `jain`, of the bulk flows' goodputs; `drop_share`.

        Raises:
            NoResults: nothing has been run.
        """
        return self._scores()["scores"]

    def means(self) -> list[dict[str, Any]]:
        """The same over all traces."""
        return self._scores()["means"]

    def _scores(self) -> dict[str, list[dict[str, Any]]]:
        self.campaign.table("summary")
        return json.loads(self._bench.scores(self.campaign.scenario.experiment, self.campaign.folder))

    def __repr__(self) -> str:
        traces = len(self._bench.files())
        return f"<TraceBench: {len(self._bench)} contenders on {traces} traces in {self.campaign.folder}>"

"""Runs on a Dask cluster.

Which run is next is decided here, by the rule that threads go by, and results are put into the store here. Workers are
given batches of runs, and give back the files of a store. Dask does the rest: it makes what a lost worker had again.

A run may end its worker each time: it takes more memory than there is, say. Dask gives such a batch up after some workers
(`KilledWorker`), and perhaps others that happened to be on the same ones. Each run of theirs is made once more when nothing
else is under way, so that it is known which of them it was: that is its failure, as a panic is.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from . import _bentpipe
from .errors import VersionMismatch

__all__ = ["run_on"]

#: So long a batch should take, in seconds: a hundred times what Dask takes for a task.
BATCH_SECONDS = 0.5
#: So many batches for each of the cluster's threads, so that none waits for the client.
AHEAD = 3
#: So often is it looked whether the campaign was cancelled while nothing comes back, in seconds.
LOOK_SECONDS = 0.05

Job = tuple[int, int, str]


def run_on(
    client: Any,
    experiment: _bentpipe.Experiment,
    folder: Path,
    look: Callable[[int, int], None],
    figures: bool,
) -> dict[str, Any]:
    """Makes the runs that are missing by `client`'s cluster, and then the tables and figures in `folder`. `look` is called
    now and then with how many runs are finished and how many are needed; what it raises ends all."""
    from distributed import Event, KilledWorker, as_completed

    size = _Size(client)
    plan = _bentpipe.Plan(experiment, folder, size.threads(), figures)
    parts = experiment.parts()
    stop = Event(f"bentpipe-stop-{uuid4()}", client=client)
    batches: dict[Any, list[Job]] = {}
    completed = as_completed()
    sizes = _Sizes()
    jobs = _Jobs(plan)
    suspects: deque[Job] = deque()
    alone = None

    def submit(batch: list[Job], suffix: str = "") -> Any:
        runs = [(point, run) for point, run, _ in batch]
        key = _key(batch) + suffix
        future = client.submit(make_batch, parts, runs, _bentpipe.RESULTS_VERSION, stop.name, key=key, pure=False)
        batches[future] = batch
        completed.add(future)
        return future

    try:
        while True:
            threads = size.threads()
            plan.ahead(threads)
            while len(batches) < AHEAD * threads and (batch := jobs.take(sizes.next(plan.counts(), threads))):
                submit(batch)
            if not batches and suspects:
                alone = submit([suspects.popleft()], "-alone")
            if not batches:
                break
            while not completed.has_ready():
                time.sleep(LOOK_SECONDS)
                look(*plan.counts())
            future = next(completed)
            batch = batches.pop(future)
            try:
                ended, seconds = future.result()
                sizes.learn(len(batch), seconds)
            except KilledWorker as killed:
                if future is not alone:
                    suspects.extend(batch)
                    continue
                ended = [(point, run, None, _why(killed)) for point, run, _ in batch]
            finally:
                # Results leave the workers' memory, and an error is not the answer to whoever asks again.
                future.release()
            for point, run, files, why in ended:
                if files is None:
                    plan.failed(point, run, why)
                else:
                    plan.made(point, run, files)
            look(*plan.counts())
    except BaseException:
        stop.set()
        client.cancel(list(batches))
        raise
    return plan.finish()


def _why(killed: Any) -> str:
    """Of a run that has ended its workers when it was all that they had to do."""
    times = killed.allowed_failures + 1
    return (
        f"its worker was lost {times} times while nothing else was run: it takes more memory than a worker has, or longer "
        f"than one lives, or ends it (Dask's KilledWorker; the last was {killed.last_worker.address})"
    )


class _Size:
    """How large the cluster is. Workers may come late, as those of a batch system do, and more of them later."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked, self._threads = float("-inf"), 1

    def threads(self) -> int:
        """The threads of all workers that there are; at least one, who will come. It is asked for once a second."""
        now = time.monotonic()
        if now - self._asked >= 1.0:
            self._asked, self._threads = now, max(1, sum(self._client.nthreads().values()))
        return self._threads


class _Jobs:
    """Runs that are to be made."""

    def __init__(self, plan: _bentpipe.Plan) -> None:
        self._plan = plan

    def take(self, count: int) -> list[Job]:
        """So many at most. None while others have to come back first, or if there are no more."""
        batch: list[Job] = []
        while len(batch) < count and (job := self._plan.next()):
            batch.append(job)
        return batch


class _Sizes:
    """How many runs are a batch: as many as take long enough that Dask's own work does not matter, but few enough that
    all threads end together."""

    def __init__(self) -> None:
        self._runs, self._seconds = 0, 0.0

    def learn(self, runs: int, seconds: float) -> None:
        self._runs += runs
        self._seconds += seconds

    def next(self, counts: tuple[int, int], threads: int) -> int:
        if self._runs == 0:
            return 1
        fits = BATCH_SECONDS * self._runs / max(self._seconds, 1e-6)
        finished, needed = counts
        fair = (needed - finished) / (2 * threads)
        return max(1, int(min(fits, fair)))


def _key(batch: list[Job]) -> str:
    """The same batch from the same inputs has the same name, whoever asks for it."""
    names = (_bentpipe.RESULTS_VERSION, *(name for _, _, name in batch))
    digest = hashlib.sha256("".join(names).encode()).hexdigest()
    return f"bentpipe-{digest[:32]}"


_experiments: OrderedDict[str, _bentpipe.Experiment] = OrderedDict()
_lock = threading.Lock()


def _experiment(parts: tuple[str, str, dict[str, str]]) -> _bentpipe.Experiment:
    """Read once, and kept for the next batch."""
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    with _lock:
        if key not in _experiments:
            _experiments[key] = _bentpipe.Experiment.of_parts(*parts)
            while len(_experiments) > 4:
                _experiments.popitem(last=False)
        return _experiments[key]


def make_batch(
    parts: tuple[str, str, dict[str, str]],
    jobs: list[tuple[int, int]],
    version: str,
    stop_name: str,
) -> tuple[list[tuple[int, int, list[tuple[str, bytes]] | None, str | None]], float]:
    """Makes runs on a worker. What it returns has for each its files, or why there are none; and how long all took.

    Raises:
        VersionMismatch: the client has another version.
    """
    if version != _bentpipe.RESULTS_VERSION:
        raise VersionMismatch(
            f"this worker has bentpipe {_bentpipe.RESULTS_VERSION} and the client {version}: their results would differ"
        )
    begin = time.perf_counter()
    stop, ended = _bentpipe.Stop(), threading.Event()
    watch = threading.Thread(target=_watch, args=(stop_name, stop, ended, _client()), daemon=True)
    watch.start()
    try:
        runs = _bentpipe.make_runs(_experiment(parts), jobs, stop)
    finally:
        ended.set()
    return runs, time.perf_counter() - begin


def _client() -> Any:
    """The worker's own client; None outside a cluster."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def _watch(name: str, stop: _bentpipe.Stop, ended: threading.Event, client: Any) -> None:
    """Ends the batch when nobody wants it any more. A short one is over before the first look."""
    from distributed import Event

    while client is not None and not ended.wait(1.0):
        if Event(name, client=client).is_set():
            return stop.set()
    return None

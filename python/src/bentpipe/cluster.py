"""Runs on a Dask cluster.

Which run is next is decided here, by the rule that threads go by, and results are put into the store here. Workers are
given batches of runs, and give back the files of a store. Dask does the rest: it makes what a lost worker had again.

A batch is called by the digest of its inputs: who asks for the same shares it. So it may come back in part, or not at all:
whoever asked first has cancelled it. What is missing is then asked for again, by a name that is nobody else's.

A run may end its worker each time: it takes more memory than there is, say. Dask gives such a batch up after some workers
(`KilledWorker`), and perhaps others that happened to be on the same ones. Each run of theirs is made once more when nothing
else is under way, so that it is known which of them it was: that is its failure, as a panic is.

A worker may be sick: its disk is full, say. What it cannot make is made by another, and it is given nothing more as long as
there is a healthy one. A run that no worker can make, alone and after two others, has failed.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import uuid4

from . import _bentpipe
from .errors import BentpipeError, VersionMismatch
from .scenario import Scenario
from .tables import needed

__all__ = ["run_on"]

#: So long a batch should take, in seconds: a hundred times what Dask takes for a task.
BATCH_SECONDS = 0.5
#: So many batches for each of the cluster's threads, so that none waits for the client.
AHEAD = 3
#: So often is it looked whether the campaign was cancelled while nothing comes back, in seconds.
LOOK_SECONDS = 0.05

#: A run: its point, its number, and the name of its inputs.
Job = tuple[int, int, str]
#: What came of a run: the name of its inputs, and its files or why there are none.
Ended = tuple[str, "list[tuple[str, bytes]] | None", "str | None"]


def run_on(
    client: Any,
    scenario: Scenario,
    folder: Path,
    look: Callable[[int, int], None],
    figures: bool,
) -> dict[str, Any]:
    """Makes the runs that are missing by `client`'s cluster, and then the tables and figures in `folder`. `look` is called
    now and then with how many runs are finished and how many are needed; what it raises ends all."""
    return _Runs(client, scenario, folder, figures).make(look)


class _Try(Enum):
    """What a batch is asked for as."""

    #: By the digest of its inputs alone.
    FIRST = ""
    #: By a name of its own: it did not come back whole, or came back from a sick worker.
    AGAIN = "-again"
    #: The same when nothing else is under way: what becomes of it is due to nothing else.
    ALONE = "-alone"


@dataclass
class _Batch:
    jobs: list[Job]
    attempt: _Try


class _Runs:
    """Runs that are under way."""

    def __init__(self, client: Any, scenario: Scenario, folder: Path, figures: bool) -> None:
        needed("distributed", "a campaign on a cluster")
        from distributed import Event, as_completed

        self._client = client
        self._workers = _Workers(client)
        self._plan = _bentpipe.Plan(scenario.experiment, folder, self._workers.threads(), figures)
        self._scenario = _pickled(scenario)
        self._stop = Event(f"bentpipe-stop-{uuid4()}", client=client)
        self._batches: dict[Any, _Batch] = {}
        self._completed = as_completed()
        self._sizes = _Sizes()
        #: Each of them may have ended its workers.
        self._suspects: deque[Job] = deque()

    def make(self, look: Callable[[int, int], None]) -> dict[str, Any]:
        try:
            while self._submit_more():
                while not self._completed.has_ready():
                    time.sleep(LOOK_SECONDS)
                    look(*self._plan.counts())
                self._heed(next(self._completed))
                look(*self._plan.counts())
        except BaseException:
            self._stop.set()
            self._client.cancel(list(self._batches))
            raise
        return self._plan.finish()

    def _submit_more(self) -> bool:
        """Gives out what there is to do. False if nothing is under way then."""
        threads = self._workers.threads()
        self._plan.ahead(threads)
        while len(self._batches) < AHEAD * threads:
            jobs = self._take(self._sizes.next(self._plan.counts(), threads))
            if not jobs:
                break
            self._submit(jobs, _Try.FIRST)
        if not self._batches and self._suspects:
            self._submit([self._suspects.popleft()], _Try.ALONE)
        return bool(self._batches)

    def _take(self, count: int) -> list[Job]:
        """So many runs at most. None while others have to come back first, or if there are no more."""
        jobs: list[Job] = []
        while len(jobs) < count and (job := self._plan.next()):
            jobs.append(job)
        return jobs

    def _submit(self, jobs: list[Job], attempt: _Try) -> None:
        key = _key(jobs) + (f"{attempt.value}-{uuid4().hex[:8]}" if attempt is not _Try.FIRST else "")
        arguments = self._scenario, jobs, _bentpipe.RESULTS_VERSION, self._stop.name
        future = self._client.submit(make_batch, *arguments, key=key, pure=False, **self._workers.healthy())
        self._batches[future] = _Batch(jobs, attempt)
        self._completed.add(future)

    def _heed(self, future: Any) -> None:
        """A batch has come back, or will not."""
        from distributed import KilledWorker

        batch = self._batches.pop(future)
        try:
            ended, seconds = ([], 0.0) if future.cancelled() else future.result()
        except KilledWorker as killed:
            self._suspect(batch, _killed(killed))
        except SickWorker as sick:
            self._workers.avoid(sick.worker)
            if batch.attempt is _Try.FIRST:
                self._submit(batch.jobs, _Try.AGAIN)
            else:
                self._suspect(batch, f"{sick.why} (on {sick.worker}, and before that on another worker if there was one)")
        else:
            self._settle(batch, ended, seconds)
        finally:
            # Results leave the workers' memory, and an error is not the answer to whoever asks again.
            future.release()

    def _suspect(self, batch: _Batch, why: str) -> None:
        """Its runs are made one at a time. One that was has failed."""
        if batch.attempt is not _Try.ALONE:
            self._suspects.extend(batch.jobs)
            return
        for point, run, _ in batch.jobs:
            self._plan.failed(point, run, why)

    def _settle(self, batch: _Batch, ended: list[Ended], seconds: float) -> None:
        # By their names: whoever else has asked for the same may have them at other points. Two points may be the same run.
        missing: dict[str, list[Job]] = {}
        for job in batch.jobs:
            missing.setdefault(job[2], []).append(job)
        for name, files, why in ended:
            point, run, _ = missing[name].pop()
            if files is None:
                self._plan.failed(point, run, why)
            else:
                self._plan.made(point, run, files)
        self._sizes.learn(len(ended), seconds)
        left = [job for jobs in missing.values() for job in jobs]
        if not left:
            return
        if batch.attempt is not _Try.FIRST and not ended:
            raise BentpipeError(f"the cluster gives {len(left)} runs up and does not say why; what is finished is kept")
        self._submit(left, _Try.AGAIN if batch.attempt is _Try.FIRST else batch.attempt)


def _killed(killed: Any) -> str:
    """Of a run that has ended its workers when it was all that they had to do."""
    times = killed.allowed_failures + 1
    return (
        f"its worker was lost {times} times while nothing else was run: it takes more memory than a worker has, or longer "
        f"than one lives, or ends it (Dask's KilledWorker; the last was {killed.last_worker.address})"
    )


class _Workers:
    """The cluster's workers. They may come late, as those of a batch system do, and more of them later."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked = float("-inf")
        self._there: dict[str, int] = {}
        self._sick: set[str] = set()

    def threads(self) -> int:
        """The threads of all workers that there are; at least one, who will come. It is asked for once a second."""
        now = time.monotonic()
        if now - self._asked >= 1.0:
            self._asked, self._there = now, dict(self._client.nthreads())
        return max(1, sum(self._there.values()))

    def avoid(self, worker: str) -> None:
        """This one is sick."""
        self._sick.add(worker)

    def healthy(self) -> dict[str, Any]:
        """How Dask is told to take others than the sick ones, as long as there are any."""
        healthy = [worker for worker in self._there if worker not in self._sick]
        if not healthy or len(healthy) == len(self._there):
            return {}
        return {"workers": healthy, "allow_other_workers": True}


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


def _key(jobs: list[Job]) -> str:
    """The same runs from the same inputs have the same name, whoever asks for them."""
    names = (_bentpipe.RESULTS_VERSION, *(name for _, _, name in jobs))
    digest = hashlib.sha256("".join(names).encode()).hexdigest()
    return f"bentpipe-{digest[:32]}"


_experiments: OrderedDict[bytes, _bentpipe.Experiment] = OrderedDict()
_lock = threading.Lock()


def _pickled(scenario: Scenario) -> bytes:
    """With the classes of its congestion controls: those of the notebook or the program by their code, those of modules by
    their names.

    Raises:
        BentpipeError: one of them cannot go to workers.
    """
    import cloudpickle

    try:
        return cloudpickle.dumps(scenario)
    except Exception as error:
        raise BentpipeError(f"a congestion control in Python cannot be sent to workers: {error}") from error


def _experiment(pickled: bytes) -> _bentpipe.Experiment:
    """Read once, and kept for the next batch."""
    with _lock:
        if pickled not in _experiments:
            try:
                _experiments[pickled] = pickle.loads(pickled).experiment
            except ImportError as error:
                raise BentpipeError(
                    f"the worker {_address()} does not have a congestion control in Python: {error} "
                    "(a class of the notebook or the program is sent along; one of a module has to be there)"
                ) from error
            while len(_experiments) > 4:
                _experiments.popitem(last=False)
        return _experiments[pickled]


class SickWorker(Exception):
    """A worker cannot make runs, whichever they are: there is no room on its disk, say.

    Attributes:
        worker: its address.
        why: what is wrong.
    """

    def __init__(self, worker: str, why: str) -> None:
        super().__init__(worker, why)
        self.worker, self.why = worker, why


def make_batch(
    scenario: bytes, jobs: list[Job], version: str, stop_name: str
) -> tuple[list[Ended], float]:
    """Makes runs on a worker. What it returns has what came of each, but for those that `stop_name`'s event has ended; and
    how long all took.

    Raises:
        VersionMismatch: the client has another version.
        SickWorker: this worker cannot make them.
    """
    if version != _bentpipe.RESULTS_VERSION:
        raise VersionMismatch(
            f"the worker {_address()} has bentpipe {_bentpipe.RESULTS_VERSION} and the client {version}: "
            "their results would differ"
        )
    begin = time.perf_counter()
    stop, ended = _bentpipe.Stop(), threading.Event()
    watch = threading.Thread(target=_watch, args=(stop_name, stop, ended, _client()), daemon=True)
    watch.start()
    try:
        runs = _bentpipe.make_runs(_experiment(scenario), [(point, run) for point, run, _ in jobs], stop)
    except OSError as error:
        raise SickWorker(_address(), str(error)) from error
    finally:
        ended.set()
    names = {(point, run): name for point, run, name in jobs}
    return [(names[point, run], files, why) for point, run, files, why in runs], time.perf_counter() - begin


def _address() -> str:
    """Of the worker that this is."""
    from distributed import get_worker

    try:
        return get_worker().address
    except ValueError:
        return "here"


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

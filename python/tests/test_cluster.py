"""Campaigns on a Dask cluster: the same results, whatever happens to workers."""

import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bentpipe import Campaign, Cancelled, RunsFailed, VersionMismatch, _bentpipe, cluster
from conftest import contents

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            yield client


def same(folder, other) -> None:
    ours, theirs = contents(folder), contents(other)
    assert ours.keys() == theirs.keys() and len(ours) > 8
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_results_are_the_same_to_the_byte_on_a_thread_and_on_two_processes(client, small, tmp_path):
    for rule in ({"runs": 4}, {"until": "ci95 20%", "min_runs": 2, "max_runs": 7}):
        name = "-".join(rule)
        told = []
        Campaign(small, folder=tmp_path / name / "thread", **rule).run(threads=1)
        Campaign(small, folder=tmp_path / name / "dask", **rule).run(client, progress=lambda *counts: told.append(counts))
        # With a rule, runs are made ahead on two workers that do not count: they are kept, and in no table.
        for folder in ("thread", "dask"):
            for run in (tmp_path / name / folder / "runs").iterdir():
                if "until" in rule:
                    run.unlink()
        same(tmp_path / name / "thread", tmp_path / name / "dask")
        assert told and told[-1][0] == told[-1][1]


def test_captures_come_along(client, small, tmp_path):
    recorded = small.set("record.packets", True)
    Campaign(recorded, folder=tmp_path / "thread").run(threads=1, figures=False)
    Campaign(recorded, folder=tmp_path / "dask").run(client, figures=False)
    same(tmp_path / "thread", tmp_path / "dask")
    assert any(name.endswith(".pcapng") for name in contents(tmp_path / "dask" / "packets"))


def test_what_is_there_is_not_made_again(client, small, tmp_path):
    Campaign(small, folder=tmp_path).run(threads=2, figures=False)
    told = []
    Campaign(small, folder=tmp_path).run(client, figures=False, progress=lambda *counts: told.append(counts))
    assert told == []


def test_killing_a_worker_loses_nothing(small, tmp_path):
    small = small.set("run.duration", "60s")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            killed = []

            def kill(finished: int, needed: int) -> None:
                if finished >= 4 and not killed:
                    killed.append(next(iter(client.run(os.getpid).values())))
                    os.kill(killed[0], signal.SIGKILL)

            campaign = Campaign(small, runs=20, folder=tmp_path / "dask")
            campaign.run(client, progress=kill, figures=False)
    assert killed
    Campaign(small, runs=20, folder=tmp_path / "thread").run(figures=False)
    same(tmp_path / "thread", tmp_path / "dask")


def test_workers_that_come_later_have_work(small, tmp_path):
    """A batch system starts workers when it has room: here the campaign begins with none of them."""
    small = small.set("run.duration", "200s")
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            threading.Timer(0.5, lambda: local.scale(1)).start()
            waiting = []

            def grow(finished: int, needed: int) -> None:
                if finished == 1:
                    local.scale(3)
                    client.wait_for_workers(3, timeout=60)
                waiting.append(len(client.futures))

            # Each run is a batch: they are as long.
            monkey = pytest.MonkeyPatch()
            with monkey.context() as patch:
                patch.setattr(cluster, "BATCH_SECONDS", 0.0)
                Campaign(small, runs=20, folder=tmp_path).run(client, progress=grow, figures=False)
    # With the one worker that there was at first, it would be three at a time.
    assert max(waiting) > cluster.AHEAD


def test_another_version_is_refused(client, small, tmp_path, monkeypatch):
    monkeypatch.setattr(_bentpipe, "RESULTS_VERSION", "0.0.1/4/x")
    with pytest.raises(VersionMismatch, match="0.0.1/4/x"):
        Campaign(small, folder=tmp_path).run(client, progress=False)


def test_an_exception_cancels_what_workers_do(client, small, tmp_path):
    long = Campaign(small.set("run.duration", "1000000s"), folder=tmp_path, runs=2)
    timer = threading.Timer(4.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            long.run(client, figures=False)
    finally:
        timer.cancel()
    nothing_goes_on(client)


def test_another_thread_cancels_what_workers_do(client, small, tmp_path):
    long = Campaign(small.set("run.duration", "1000000s"), folder=tmp_path, runs=2)
    told = []
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(long.run, client, figures=False, progress=lambda *counts: told.append(counts))
        while not executing(client):
            assert not running.done(), running.result()
            time.sleep(0.1)
        long.cancel()
        with pytest.raises(Cancelled, match="what is finished is kept"):
            running.result()
    assert {finished for finished, _ in told} == {0}
    nothing_goes_on(client)


def executing(client) -> int:
    return sum(client.run(lambda dask_worker: len(dask_worker.state.executing)).values())


def nothing_goes_on(client) -> None:
    """Workers are done with what was cancelled, and have time for other things."""
    deadline = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert client.submit(os.getpid, pure=False).result(timeout=20) > 0
    while executing(client) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert executing(client) == 0, "workers go on with what nobody wants"


def test_a_run_that_fails_is_told_and_the_others_are_kept(client, small, tmp_path, monkeypatch):
    make = cluster.make_batch

    def failing(parts, jobs, version, stop):
        runs, seconds = make(parts, jobs, version, stop)
        spoil = lambda point, run, files: (point, run, None, "out of cheese") if (point, run) == (1, 0) else (point, run, files, None)
        return [spoil(point, run, files) for point, run, files, _ in runs], seconds

    monkeypatch.setattr(cluster, "make_batch", failing)
    with pytest.raises(RunsFailed, match="run 0 of point 1 .delay=100ms. failed: out of cheese"):
        Campaign(small, folder=tmp_path).run(client, figures=False)
    assert len(Campaign(small, folder=tmp_path).results) == 3


def test_a_run_that_ends_its_worker_each_time_is_that_run_s_failure(small, tmp_path, monkeypatch):
    make = cluster.make_batch

    def deadly(parts, jobs, version, stop):
        if (1, 0) in jobs:
            os.kill(os.getpid(), signal.SIGKILL)
        return make(parts, jobs, version, stop)

    campaign = Campaign(small, runs=4, folder=tmp_path / "dask")
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
            with distributed.Client(local) as client, monkeypatch.context() as patch:
                patch.setattr(cluster, "make_batch", deadly)
                with pytest.raises(RunsFailed, match="run 0 of point 1 .delay=100ms. failed: its worker was lost 2 times") as failed:
                    campaign.run(client, figures=False)
                assert [failure[:2] for failure in failed.value.failures] == [(1, 0)]
                assert len(campaign.results) == 7
                # It is made the next time, and what is there then is what it would have been.
                patch.undo()
                campaign.run(client, figures=False)
    Campaign(small, runs=4, folder=tmp_path / "thread").run(figures=False)
    same(tmp_path / "thread", tmp_path / "dask")


def test_dask_hears_nothing_where_nobody_asks():
    """Without a cluster the package does not import Dask."""
    code = "import bentpipe, sys; assert not {'distributed', 'dask', 'pandas', 'matplotlib'} & set(sys.modules)"
    subprocess.run([os.sys.executable, "-c", code], check=True)

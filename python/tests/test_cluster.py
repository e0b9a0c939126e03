"""Campaigns on a Dask cluster: the same results, whatever happens to workers."""

import os
import signal
import subprocess
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from bentpipe import BentpipeError, Campaign, Cancelled, NoResults, RunsFailed, VersionMismatch, _bentpipe, cluster
from conftest import contents

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

#: So long that a run takes seconds.
LONG = "8000s"


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


def test_killing_a_busy_worker_loses_nothing(small, tmp_path):
    small = small.set("run.duration", LONG)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            lost: list[str] = []

            def kill(finished: int, needed: int) -> None:
                if lost or finished < 2:
                    return
                busy = {worker: keys for worker, keys in executing(client).items() if keys}
                if busy:
                    worker, keys = next(iter(busy.items()))
                    os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
                    lost.extend(await_suspicion(client, keys))

            campaign = Campaign(small, runs=6, folder=tmp_path / "dask")
            campaign.run(client, progress=kill, figures=False)
    assert lost, "no worker was killed while it made runs"
    Campaign(small, runs=6, folder=tmp_path / "thread").run(figures=False)
    same(tmp_path / "thread", tmp_path / "dask")


def await_suspicion(client, keys: list[str]) -> list[str]:
    """Which of these batches the scheduler knows to have been with a worker that died."""

    def suspicious(dask_scheduler):
        tasks = (dask_scheduler.tasks.get(key) for key in keys)
        return [task.key for task in tasks if task is not None and task.suspicious > 0]

    deadline = time.monotonic() + 120
    while not (found := client.run_on_scheduler(suspicious)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_what_was_cancelled_can_be_run_at_once(client, small, tmp_path):
    """Workers are still busy with the same batches, which they have been told to end."""
    campaign = Campaign(small.set("run.duration", LONG), runs=4, folder=tmp_path / "dask")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(campaign.run, client, figures=False, progress=False)
        await_work(client, running)
        before = {key for keys in executing(client).values() for key in keys}
        campaign.cancel()
        with pytest.raises(Cancelled):
            running.result()
        after = {key for keys in executing(client).values() for key in keys}
    assert before & after, "nothing was under way any more"
    assert len(campaign.run(client, figures=False, progress=False).results) == 8
    Campaign(campaign.scenario, folder=tmp_path / "thread").run(threads=2, figures=False)
    same(tmp_path / "thread", tmp_path / "dask")


def test_two_campaigns_can_want_the_same_runs_at_other_points(client, small, tmp_path):
    """Their batches have the same names. One is cancelled meanwhile: the other is not concerned."""
    small = small.set("run.duration", LONG)
    one = Campaign(small.set("link.sat.delay", "100ms"), runs=4, folder=tmp_path / "one")
    grid = {"link.sat.delay": ["300ms", "100ms"]}
    other = Campaign(small.set("link.sat.delay", "20ms"), grid=grid, runs=8, folder=tmp_path / "other")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(other.run, client, figures=False, progress=False)
        await_work(client, first)
        second = threads.submit(one.run, client, figures=False, progress=False)
        time.sleep(0.3)
        other.cancel()
        with pytest.raises(Cancelled):
            first.result()
        second.result()
    other.run(client, figures=False, progress=False)
    for campaign in (one, other):
        Campaign(campaign.scenario, folder=tmp_path / "thread" / campaign.folder.name).run(threads=2, figures=False)
        same(tmp_path / "thread" / campaign.folder.name, campaign.folder)


def test_a_batch_that_comes_back_in_part_is_made_to_its_end(client, small, tmp_path, monkeypatch):
    make = cluster.make_batch

    def partly(parts, jobs, version, stop):
        ended, seconds = make(parts, jobs, version, stop)
        return ended[: len(ended) // 2], seconds / 100

    def never(parts, jobs, version, stop):
        return [], 0.0

    campaign = Campaign(small, runs=20, folder=tmp_path / "dask")
    with monkeypatch.context() as patch:
        # One of one comes back whole the second time.
        patch.setattr(cluster, "make_batch", lambda *given: make(*given) if len(given[1]) == 1 else partly(*given))
        assert len(campaign.run(client, figures=False, progress=False).results) == 40
    Campaign(small, runs=20, folder=tmp_path / "thread").run(threads=2, figures=False)
    same(tmp_path / "thread", tmp_path / "dask")
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "make_batch", never)
        more = Campaign(small, runs=22, folder=tmp_path / "dask")
        with pytest.raises(BentpipeError, match="the cluster gives . runs? up"):
            more.run(client, figures=False, progress=False)
    # No tables of a part: those that are there are the ones of before.
    assert len(campaign.results) == 40
    with pytest.raises(NoResults, match="another campaign"):
        more.results


def test_what_a_sick_worker_cannot_make_another_makes(small, tmp_path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            sick, healthy = client.scheduler_info()["workers"]
            client.run(os.environ.update, {"TMPDIR": "/nowhere"}, workers=[sick])
            Campaign(small, runs=10, folder=tmp_path / "dask").run(client, figures=False, progress=False)
            Campaign(small, runs=10, folder=tmp_path / "thread").run(threads=1, figures=False)
            same(tmp_path / "thread", tmp_path / "dask")
            # Where all are sick each run has failed.
            client.run(os.environ.update, {"TMPDIR": "/nowhere"}, workers=[healthy])
            with pytest.raises(RunsFailed, match="No such file or directory .* .on tcp://.*and 3 more"):
                Campaign(small, runs=12, folder=tmp_path / "dask").run(client, figures=False, progress=False)


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
                    client.wait_for_workers(3, timeout=180)
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
    with pytest.raises(VersionMismatch, match="the worker tcp://[0-9.:]* has bentpipe .* and the client 0.0.1/4/x"):
        Campaign(small, folder=tmp_path).run(client, progress=False)


def test_so_is_a_worker_with_another_one(client, small, tmp_path):
    def become(version):
        from bentpipe import _bentpipe

        before, _bentpipe.RESULTS_VERSION = _bentpipe.RESULTS_VERSION, version
        return before

    worker = next(iter(client.scheduler_info()["workers"]))
    before = client.run(become, "0.0.2/4/y", workers=[worker])[worker]
    try:
        with pytest.raises(VersionMismatch, match=f"the worker {worker} has bentpipe 0.0.2/4/y and the client {before}"):
            Campaign(small, runs=20, folder=tmp_path).run(client, progress=False)
    finally:
        client.run(become, before, workers=[worker])


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
        await_work(client, running)
        long.cancel()
        with pytest.raises(Cancelled, match="what is finished is kept"):
            running.result()
    assert {finished for finished, _ in told} == {0}
    nothing_goes_on(client)


def executing(client) -> dict[str, list[str]]:
    """The batches that each worker is making."""
    return client.run(lambda dask_worker: [task.key for task in dask_worker.state.all_running_tasks])


def await_work(client, running) -> None:
    """Until workers make runs."""
    while not any(executing(client).values()):
        assert not running.done(), running.result()
        time.sleep(0.1)


def nothing_goes_on(client) -> None:
    """Workers are done with what was cancelled, and have time for other things."""
    deadline = time.monotonic() + 120
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert client.submit(os.getpid, pure=False).result(timeout=120) > 0
    while any(executing(client).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(executing(client).values()), "workers go on with what nobody wants"


def test_a_run_that_fails_is_told_and_the_others_are_kept(client, small, tmp_path, monkeypatch):
    make = cluster.make_batch

    def failing(parts, jobs, version, stop):
        runs, seconds = make(parts, jobs, version, stop)
        bad = {name for point, run, name in jobs if (point, run) == (1, 0)}
        return [(name, None, "out of cheese") if name in bad else (name, files, why) for name, files, why in runs], seconds

    monkeypatch.setattr(cluster, "make_batch", failing)
    with pytest.raises(RunsFailed, match="run 0 of point 1 .delay=100ms. failed: out of cheese"):
        Campaign(small, folder=tmp_path).run(client, figures=False)
    assert len(Campaign(small, folder=tmp_path).results) == 3


def test_a_run_that_ends_its_worker_each_time_is_that_run_s_failure(small, tmp_path, monkeypatch):
    make = cluster.make_batch

    def deadly(parts, jobs, version, stop):
        if (1, 0) in [(point, run) for point, run, _ in jobs]:
            os.kill(os.getpid(), signal.SIGKILL)
        return make(parts, jobs, version, stop)

    campaign = Campaign(small, runs=4, folder=tmp_path / "dask")
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
            with distributed.Client(local) as client, monkeypatch.context() as patch:
                patch.setattr(cluster, "make_batch", deadly)
                why = "run 0 of point 1 .delay=100ms. failed: its worker was lost 2 times"
                with pytest.raises(RunsFailed, match=why) as failed:
                    campaign.run(client, figures=False)
                assert [failure[:2] for failure in failed.value.failures] == [(1, 0)]
                assert len(campaign.results) == 7
                # It is made the next time, and what is there then is what it would have been.
                patch.undo()
                campaign.run(client, figures=False)
    Campaign(small, runs=4, folder=tmp_path / "thread").run(figures=False)
    same(tmp_path / "thread", tmp_path / "dask")


def test_dask_s_dashboard_is_there():
    """What it needs comes with the extra `dask`."""
    address = "127.0.0.1:0"
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=address) as local:
        without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with without_proxy.open(local.dashboard_link, timeout=120) as page:
            assert local.dashboard_link.endswith("/status") and page.status == 200
            assert b"bokeh" in page.read().lower()


def test_dask_hears_nothing_where_nobody_asks():
    """Without a cluster the package does not import Dask."""
    code = "import bentpipe, sys; assert not {'distributed', 'dask', 'pandas', 'matplotlib'} & set(sys.modules)"
    subprocess.run([os.sys.executable, "-c", code], check=True)

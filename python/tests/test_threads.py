"""Other threads go on while the extension module works: a notebook's, Dask's."""

import sys
import threading
import time
from collections.abc import Callable

import pytest

from bentpipe import Campaign, Scenario, _bentpipe


@pytest.fixture
def others_go_on():
    """Whether another thread runs while a function does. Python is told to leave no thread the lock but where it is given up."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    rounds, end = [0], threading.Event()

    def count() -> None:
        while not end.is_set():
            rounds[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()

    def while_it_does(function: Callable[[], object]) -> int:
        begin = rounds[0]
        function()
        return rounds[0] - begin

    yield while_it_does
    end.set()
    sys.setswitchinterval(before)
    thread.join()


def test_while_a_scenario_is_read(others_go_on, small):
    text = str(small.sweep({"link.sat.loss": [number / 1000 for number in range(500)]}))
    assert others_go_on(lambda: _bentpipe.Experiment.parse("x", text, None, [], [])) > 0
    assert others_go_on(lambda: _bentpipe.Experiment.of_parts("x", text, {}, [])) > 0


def test_while_stored_runs_are_looked_at(others_go_on, small, tmp_path):
    campaign = Campaign(small.set("run.duration", "1s"), runs=100, folder=tmp_path).run(progress=False, figures=False)
    plan = _bentpipe.Plan(campaign.scenario.experiment, tmp_path, 1, False)
    assert others_go_on(plan.next) > 0
    assert plan.next() is None and plan.counts() == (200, 200)


def test_while_a_table_is_read(others_go_on, small, tmp_path):
    scenario = small.set("record.interval", "1ms").set("run.duration", "20s")
    table = _bentpipe.Table(Campaign(scenario, runs=1, folder=tmp_path).run(figures=False).folder / "series.parquet")
    assert len(table) > 30_000
    assert others_go_on(table.to_dict) > 0


def test_without_it_they_would_not(others_go_on):
    """What the tests above measure."""
    assert others_go_on(lambda: sum(range(1_000_000))) == 0
    assert Scenario.load("geo-download")

"""Scenarios: read, built, changed, and refused where something is wrong."""

import pickle

import pytest

from bentpipe import Campaign, Scenario, ScenarioError, examples
from conftest import SMALL


def test_every_example_is_a_scenario():
    assert len(examples()) > 20
    for name in examples():
        assert len(Scenario.load(name)) >= 1


def test_a_built_one_is_the_same_as_the_text():
    built = Scenario.build(
        title="A small one",
        run={"duration": "3s"},
        repeat={"runs": 2},
        host={"a": {}, "b": {}},
        link={"sat": {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "20ms", "loss": "1%"}},
        flow={"main": {"from_": "a", "to": "b"}},
        record={"link": ["queue"], "links": ["sat"], "interval": "500ms"},
        sweep={"link.sat.delay": ["20ms", "100ms"]},
    )
    assert built.labels == Scenario(SMALL).labels == ["delay=20ms", "delay=100ms"]
    assert built.title == "A small one"


@pytest.mark.parametrize(
    ("table", "key", "value", "problem"),
    [
        ("link", "rte", "1Mbit/s", "unknown key `rte`"),
        ("link", "rate", "fast", "`fast`"),
        ("run", "duration", 3, "found the number 3"),
    ],
)
def test_an_error_is_at_the_same_place_in_text_and_in_python(table, key, value, problem):
    tables = {
        "run": {"duration": "3s"},
        "host": {"a": {}, "b": {}},
        "link": {"sat": {"between": ["a", "b"], "rate": "1Mbit/s"}},
        "flow": {"main": {"from": "a", "to": "b"}},
    }
    target = tables["link"]["sat"] if table == "link" else tables[table]
    target[key] = value
    with pytest.raises(ScenarioError) as built:
        Scenario.build(**tables)
    import tomli_w

    text = tomli_w.dumps(tables)
    with pytest.raises(ScenarioError) as read:
        Scenario(text)
    assert str(built.value) == str(read.value)
    assert problem in built.value.problem and "\n" not in str(built.value)
    line = text.splitlines()[built.value.line - 1]
    assert line.startswith(key) and built.value.column >= 1
    again = pickle.loads(pickle.dumps(built.value))
    assert (again.line, again.problem) == (built.value.line, built.value.problem)


def test_changes_are_checked_and_leave_the_first_one_alone(small):
    changed = small.set("run.duration", "5s").set("link.sat.queue", "20packets")
    assert 'duration = "5s"' in str(changed) and 'duration = "3s"' in str(small)
    with pytest.raises(ScenarioError, match="rte"):
        small.set("link.sat.rte", 1)
    with pytest.raises(FileNotFoundError, match="no example of this name"):
        Scenario.load("nowhere.toml")


def test_a_grid_is_every_combination():
    numpy = pytest.importorskip("numpy")
    grid = {"link.sat.loss": numpy.array([0.0, 0.01, 0.02]), "host.server.tcp": ("linux", "linux,congestion=standard")}
    campaign = Campaign(Scenario.load("geo-download").set("run.duration", "5s"), grid=grid)
    assert len(campaign.scenario) == 24
    assert {"link.sat.loss", "host.server.tcp"} <= set(campaign.scenario.swept)


def test_it_can_be_sent_to_another_process():
    scenario = Scenario.load("cellular")
    again = pickle.loads(pickle.dumps(scenario))
    assert str(again) == str(scenario) and again.experiment.parts() == scenario.experiment.parts()

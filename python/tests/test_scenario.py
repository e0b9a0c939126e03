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


HAND_WRITTEN = """
title = "By hand"
run.duration = "3s"
[host]
a = {}
b = {}
[link.sat]
between = ["a", "b"]   # both
rate = "1Mbit/s"
rte = 3
[flow.main]
from = "a"
to = "b"
[sweep]
"link.sat.loss" = [0, 0.1]
"""


@pytest.mark.parametrize(
    ("old", "new", "path", "place"),
    [
        ("", "", "link.sat.rte", (10, 1)),
        ("rte = 3", "delay = 3", "link.sat.delay", (10, 9)),
        ('between = ["a", "b"]   # both\nrate = "1Mbit/s"\nrte = 3', "", "link.sat", None),
        ('["a", "b"]   # both\nrate = "1Mbit/s"\nrte = 3', '["a", "c"]', "link.sat.between", None),
        ("rte = 3\n", 'back = { rate = "fast" }\n', "link.sat.back.rate", None),
        ("rte = 3\n", "", "", None),
        ('rte = 3\n[flow.main]\nfrom = "a"', '[flow.main]\nfrom = "d"', "flow.main.from", None),
    ],
)
def test_an_error_says_which_field_is_meant(old, new, path, place):
    text = HAND_WRITTEN.replace(old, new) if old else HAND_WRITTEN
    if not path:
        Scenario(text)
        return
    with pytest.raises(ScenarioError) as error:
        Scenario(text)
    assert error.value.path == path, str(error.value)
    assert place is None or (error.value.line, error.value.column) == place
    again = pickle.loads(pickle.dumps(error.value))
    assert again.path == path


def test_what_the_whole_file_lacks_is_no_field():
    with pytest.raises(ScenarioError, match="the file has no `run`") as error:
        Scenario('host = { a = {} }\n')
    assert error.value.path == ""


def test_an_error_of_a_sweep_says_which_field_is_swept():
    text = HAND_WRITTEN.replace("rte = 3\n", "").replace("link.sat.loss", "link.sat.dely")
    with pytest.raises(ScenarioError, match="dely") as error:
        Scenario(text)
    assert error.value.path == "sweep.link.sat.dely", str(error.value)


def test_so_does_one_of_a_change(small):
    for change, path in (
        (lambda: small.set("link.sat.rte", 1), "link.sat.rte"),
        (lambda: small.sweep({"link.sat.rte": [1, 2]}), "sweep.link.sat.rte"),
        (lambda: small.set("link.sat.rate", "fast"), "link.sat.rate"),
    ):
        with pytest.raises(ScenarioError) as error:
            change()
        assert error.value.path == path, str(error.value)


def test_names_of_one_s_own_stay_as_they_are():
    scenario = Scenario.build(
        run={"duration": "3s"},
        numbers={"so_many": 2},
        host={"ground_station": {}, "the_client": {}},
        link={"up_link": {"between": ["ground_station", "the_client"], "rate": "1Mbit/s", "bit_errors": 1e-9}},
        flow={"main_flow": {"from_": "ground_station", "to": "the_client", "opened_by": "to"}},
        sweep={"link.up_link.delay": ["10ms", "20ms"]},
        figure={"the_figure": {"y": "goodput_mean_bps", "where": {"flow": "main_flow"}}},
    )
    text = str(scenario)
    for name in ("ground_station", "the_client", "up_link", "main_flow", "the_figure", "so_many", "bit-errors", "opened-by"):
        assert name in text, name
    assert scenario.swept == ["link.up_link.delay"]


def test_variants_have_names_and_paths():
    scenario = Scenario.build(
        run={"duration": "3s"},
        host={"ground_station": {}, "b": {}},
        link={"sat": {"between": ["ground_station", "b"], "rate": "1Mbit/s"}},
        flow={"main": {"from_": "ground_station", "to": "b"}},
        variant=[{"name": "as it is"}, {"name": "iw 4", "set": {"host.ground_station.tcp.iw": 4}}],
    )
    assert scenario.swept == ["variant"] and scenario.labels == ["variant=as it is", "variant=iw 4"]
    assert scenario.set("variant", "iw 4").labels == ["variant=iw 4"]
    assert scenario.sweep({"variant": ["iw 4", "as it is"]}).labels == ["variant=iw 4", "variant=as it is"]
    with pytest.raises(ScenarioError, match="there is no `host.b2`") as error:
        Scenario(str(scenario).replace("host.ground_station.tcp", "host.b2.tcp"))
    assert error.value.path == "variant.set.host.b2.tcp.iw"


def test_values_that_toml_does_not_have_are_refused_with_their_paths(small, tmp_path):
    tables = {"run": {"duration": "3s"}, "host": {"a": {"tcp": None}, "b": {}}}
    with pytest.raises(TypeError, match="^host.a.tcp is None .leave out"):
        Scenario.build(**tables)
    with pytest.raises(TypeError, match="^link.sat.loss is None"):
        small.set("link.sat.loss", None)
    with pytest.raises(TypeError, match="^link.sat.loss is None"):
        small.sweep({"link.sat.loss": [0, None]})
    with pytest.raises(TypeError, match="^link.sat.loss is of the type complex"):
        small.set("link.sat.loss", 1j)
    with pytest.raises(TypeError, match="values of link.sat.rate are '1Mbit/s' .expected a list"):
        small.sweep({"link.sat.rate": "1Mbit/s"})
    trace = tmp_path / "trace.csv"
    trace.write_text("time,rate\n0s,1Mbit/s\n")
    assert f'trace = "{trace}"' in str(Scenario(SMALL.replace('loss = "1%"', ""), folder=tmp_path).set("link.sat.trace", trace))


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

"""Congestion controls in Python, in scenarios."""

import functools
import pickle
import sys
import textwrap

import pytest

from bentpipe import Campaign, NoResults, RunsFailed, Scenario, ScenarioError, tcp
from conftest import contents

TEXT = """
[run]
duration = "8s"
[host.a]
tcp = "linux,congestion=TCP"
[host.other]
tcp = "linux"
[host.b]
[router.r]
[link.one]
between = ["a", "r"]
rate = "1Gbit/s"
[link.two]
between = ["other", "r"]
rate = "1Gbit/s"
[link.shared]
between = ["r", "b"]
rate = "20Mbit/s"
delay = "20ms"
queue = "80packets"
loss = "0.1%"
[flow.own]
from = "a"
to = "b"
[flow.cubic]
from = "other"
to = "b"
"""


class Steady(tcp.CongestionControl):
    """A window of so many segments."""

    decides_in_recovery = True

    def __init__(self, segments: int = 20) -> None:
        self.segments = segments

    def on_ack(self, smss):
        return self.segments * smss

    def on_loss(self, smss):
        return self.segments * smss


def scenario(control: str = "steady", **controls) -> Scenario:
    return Scenario(TEXT.replace("TCP", control), controls=controls or {"steady": Steady})


def run(folder, given: Scenario, **options) -> Campaign:
    return Campaign(given, runs=1, folder=folder).run(figures=False, **options)


def goodput(campaign: Campaign, flow: str = "own") -> float:
    results = campaign.results.to_dict()
    return results["goodput_bps"][results["flow"].index(flow)]


def test_a_flow_of_a_scenario_has_the_window_that_the_control_says(tmp_path):
    # Alone: 20 segments of 1448 bytes each round trip, which is the link's and the packet's on it.
    text = TEXT.replace("TCP", "steady").split("[flow.cubic]")[0].replace('loss = "0.1%"', "")
    alone = goodput(run(tmp_path / "20", Scenario(text, controls={"steady": Steady})))
    assert 0.96 < alone / (20 * 1448 * 8 / 0.0407) < 1.0
    forty = text.replace("congestion=steady", "congestion=steady:segments=40")
    # Which would be two windows in 40 ms: of the 20 Mbit/s of the link nothing is left.
    both = goodput(run(tmp_path / "40", Scenario(forty, controls={"steady": Steady})))
    assert both == pytest.approx(2 * alone, rel=0.03)


def test_parameters_are_swept_and_reach_the_class(tmp_path):
    swept = {"host.a.tcp": [f"linux,congestion=steady:segments={count}" for count in (5, 10)]}
    campaign = Campaign(scenario(), grid=swept, runs=1, folder=tmp_path).run(figures=False)
    rows = campaign.summary.to_dict()
    five, ten = (value for value, flow in zip(rows["goodput_mean_bps"], rows["flow"]) if flow == "own")
    assert 1.3 < ten / five < 3


def test_a_gateway_has_one_too(tmp_path):
    text = """
        [run]
        duration = "8s"
        [host.a]
        [host.b]
        [gateway.g]
        lan-links = "lan"
        satellite = { congestion = "steady:segments=30" }
        [link.lan]
        between = ["a", "g"]
        rate = "100Mbit/s"
        [link.sat]
        between = ["g", "b"]
        rate = "100Mbit/s"
        delay = "50ms"
        [flow.own]
        from = "a"
        to = "b"
    """
    campaign = run(tmp_path, Scenario(text, controls={"steady": Steady}))
    assert 0.95 < goodput(campaign) / (30 * 1448 * 8 / 0.1) < 1.01


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(tmp_path):
    for threads in (1, 4):
        given = scenario().repeat(6)
        Campaign(given, folder=tmp_path / str(threads)).run(threads=threads, figures=False)
    assert contents(tmp_path / "1") == contents(tmp_path / "4")


def test_every_part_of_a_sample_is_there(tmp_path):
    seen: dict[str, set] = {}

    class Looks(tcp.CongestionControl):
        decides_in_recovery = True

        def on_ack(self, **sample):
            for name, value in sample.items():
                seen.setdefault(name, set()).add(value)
            return sample["cwnd"] if sample["in_recovery"] else super().on_ack(**sample)

        def on_loss(self, **sample):
            assert set(sample) == {"now", "cwnd", "ssthresh", "smss", "in_flight", "timeout"}
            return max(sample["cwnd"] // 2, 2 * sample["smss"])

    run(tmp_path, scenario("looks", looks=Looks))
    assert seen.keys() == {
        "now", "cwnd", "ssthresh", "smss", "acked", "newly_delivered", "delivered", "lost", "rtt", "srtt", "min_rtt",
        "in_flight", "in_flight_after", "delivery_rate", "app_limited", "round", "in_recovery", "window_limited",
        "prior_delivered",
    }  # fmt: skip
    assert seen["smss"] == {1448} and seen["in_recovery"] == {True, False} and max(seen["lost"]) >= 1448
    assert 0.04 < min(seen["min_rtt"] - {None}) < 0.0412 and 7.5 < max(seen["now"]) < 8
    assert 15e6 < max(seen["delivery_rate"] - {None}) < 25e6
    assert max(seen["round"]) > 50 and max(seen["delivered"]) > 2_000_000
    assert seen["ssthresh"] == {None}, "the window alone is what such a control decides"


def test_a_control_paces(tmp_path):
    class Paced(tcp.CongestionControl):
        pacing_rate = 4e6

        def on_ack(self, smss):
            return 200 * smss

    text = TEXT.split("[flow.cubic]")[0].replace('loss = "0.1%"', "").replace("TCP", "paced")
    # Without it, 200 segments would overflow the queue of 80.
    campaign = run(tmp_path, Scenario(text, controls={"paced": Paced}))
    assert goodput(campaign) == pytest.approx(4e6, rel=0.03)
    assert campaign.results.to_dict()["retransmissions"] == [0]


def test_another_version_of_a_class_is_another_control(tmp_path):
    def made(step: int) -> Scenario:
        class Own(tcp.CongestionControl):
            def on_ack(self, cwnd, smss):
                return cwnd + step

        return scenario("own", own=Own)

    first = goodput(run(tmp_path, made(1)))
    other = Campaign(made(1000), runs=1, folder=tmp_path)
    with pytest.raises(NoResults):
        other.results
    assert goodput(other.run(figures=False)) != first
    stored = contents(tmp_path / "runs").keys()
    # The same class as before, though made again.
    assert goodput(run(tmp_path, made(1))) == first and contents(tmp_path / "runs").keys() == stored


def test_what_distinguishes_two_versions():
    from bentpipe.inspection import digest

    def of(code: str, **more) -> str:
        space = {"tcp": tcp, "__name__": "notebook", **more}
        exec(textwrap.dedent(code), space)
        return digest(space["Own"])

    code = """
        STEP = 10
        def grown(cwnd): return cwnd + STEP
        class Own(tcp.CongestionControl):
            FACTOR = 2
            KINDS = {grown, "fast", ("late", 7)}
            def on_ack(self, cwnd):
                return max(self.FACTOR, grown(cwnd))
            def on_loss(self, cwnd, share=0.5):
                return self.less(cwnd) * share
            def less(self, cwnd, floor=8):
                return max(cwnd - 1, floor)
    """
    same = of(code)
    assert of(code) == of(code.replace("FACTOR = 2", "FACTOR = 2  # why not")) == same
    of_values = (("STEP = 10", "STEP = 11"), ("FACTOR = 2", "FACTOR = 3"), ("0.5", "0.7"), ("=8", "=9"), ("7", "6"))
    for old, new in (*of_values, ("max", "min"), ("cwnd + ", "cwnd - ")):
        assert of(code.replace(old, new)) != same, (old, new)
    assert digest(functools.partial(Steady, 3)) != digest(functools.partial(Steady, 4)) != digest(Steady)
    # Whatever is in memory beside it: a copy in another place, and with other values between, is the same.
    others = [[of(code), (number, object())] for number in range(200)]
    assert {each for each, _ in others} == {same}


class Returns(tcp.CongestionControl):
    answer: object = 1.5

    def on_ack(self, cwnd):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1.5, "Returns.on_ack returned 1.5 (float): bytes as an int from 0 on expected"),
        (None, "Returns.on_ack returned None (NoneType): bytes as an int"),
        ("x", "Returns.on_ack returned 'x' (str): bytes"),
        (-5, "Returns.on_ack returned -5: bytes as an int from 0 on expected"),
    ],
)
def test_an_answer_that_is_no_number_of_bytes_ends_the_run(answer, message, tmp_path, monkeypatch):
    monkeypatch.setattr(Returns, "answer", answer)
    with pytest.raises(RunsFailed) as failed:
        run(tmp_path, scenario("own", own=Returns))
    assert message in str(failed.value)
    path = tcp.Path(control=Returns())
    path.client.write(bytes(10_000))
    with pytest.raises(TypeError) as error:
        list(path.run(until=5))
    assert message in str(error.value)


def test_an_exception_ends_the_run_with_its_traceback(tmp_path):
    class Divides(tcp.CongestionControl):
        def on_loss(self, in_flight):
            return in_flight // 0

    with pytest.raises(RunsFailed) as failed:
        run(tmp_path, scenario("own", own=Divides))
    message = str(failed.value)
    assert "ZeroDivisionError" in message.splitlines()[0]
    assert "in on_loss" in message and "in_flight // 0" in message and "test_controls.py" in message
    # The next one is not concerned.
    run(tmp_path, scenario())


def test_what_cannot_be_a_control_is_refused_at_once():
    class Asks(tcp.CongestionControl):
        def on_ack(self, cwnd, min_rrt):
            return cwnd

    class Paces(Steady):
        pacing_rate = "fast"

    for error, controls, message in [
        (TypeError, {"own": Asks}, "Asks.on_ack asks for `min_rrt` (did you mean `min_rtt`?)"),
        (TypeError, {"own": Steady()}, "'own' is an object of Steady (expected a class"),
        (TypeError, {"own": int}, "there is no method int.on_ack"),
        (ValueError, {"cubic": Steady}, "`cubic` is bentpipe's own congestion control"),
        (ValueError, {"a:b": Steady}, "'a:b' cannot be a name"),
    ]:
        with pytest.raises(error) as refused:
            Scenario(TEXT.replace("TCP", "cubic"), controls=controls)
        assert message in str(refused.value)
    for control, message in [
        ("steedy", "of your own there are steady"),
        ("steady:segment=4", "unexpected keyword argument 'segment'"),
        ("steady:segments", "`segments` is not of the form key=value"),
    ]:
        with pytest.raises(ScenarioError) as refused:
            scenario(control)
        assert message in str(refused.value) and refused.value.path == "host.a.tcp"
    with pytest.raises(TypeError, match=r"Steady is a class \(expected an object: Steady\(\)\)"):
        tcp.Path(control=Steady)


def test_a_scenario_without_its_class_says_where_it_runs():
    text = str(scenario())
    with pytest.raises(ScenarioError) as refused:
        Scenario(text)
    assert 'controls={"steady": Steady}' in str(refused.value)
    assert str(Scenario(text, controls={"steady": Steady}).set("run.duration", "9s")).count("[control.steady]") == 1


def test_it_is_pickled_with_its_classes():
    again = pickle.loads(pickle.dumps(scenario()))
    assert str(again) == str(scenario()) and str(again.set("run.duration", "9s"))


def test_on_a_cluster_it_is_the_same_to_the_byte(tmp_path):
    distributed = pytest.importorskip("distributed")

    class Local(Steady):
        """Of no module that a worker could import."""

        def on_ack(self, smss, round):
            return (10 + round % 3) * smss

    given = scenario("own", own=Local).repeat(4)
    Campaign(given, folder=tmp_path / "thread").run(threads=1, figures=False)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with distributed.Client(local) as client:
            Campaign(given, folder=tmp_path / "dask").run(client, figures=False)
            missing = scenario("own", own=_of_a_module_that_workers_lack())
            with pytest.raises(Exception, match="one of a module has to be there"):
                Campaign(missing, folder=tmp_path / "missing").run(client, figures=False)
    assert contents(tmp_path / "thread") == contents(tmp_path / "dask")


def _of_a_module_that_workers_lack() -> type:
    module = type(sys)("module_of_the_client")
    exec("from bentpipe.tcp import CongestionControl\nclass Own(CongestionControl): pass", module.__dict__)
    sys.modules["module_of_the_client"] = module
    module.__spec__ = sys.__spec__
    return module.Own
